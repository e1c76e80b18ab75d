// Effect `verify`: the gates of a task, on exactly one commit, in its own workspace.

import { type Effect } from '../../core/effect.ts'
import { type Fact } from '../../core/event.ts'
import { liveTasks } from '../../core/fleet.ts'
import { latestRun } from '../../core/task.ts'
import { verify } from '../../workspace/verify.ts'
import { type Voice } from '../../workspace/site.ts'
import { fleetOf, type Shell } from '../shell.ts'
import { gatesOf, placeOf, portsTaken, siteOf } from './site.ts'

export async function performVerify(
  shell: Shell,
  effect: Effect & { do: 'verify' },
  voice: Voice,
): Promise<Fact[]> {
  const { record, at: _at, ...site } = await siteOf(shell, effect)
  const run = latestRun(record)
  const outcome = run?.state.phase === 'collected' ? run.state.outcome : undefined
  const done = outcome?.is === 'done' ? outcome : undefined
  return verify(
    {
      ...site,
      place: placeOf(site, record),
      task: effect.task,
      commit: effect.commit,
      gates: gatesOf(site.policy, record, liveTasks(fleetOf(shell))),
      portsTaken: portsTaken(shell, record),
      uncommitted: done?.uncommitted ?? false,
      withheld: (done?.withheld ?? []).map(({ path }) => path),
    },
    voice,
  )
}
