// Effect `end`: a run is asked to end, then made to; its supervisor ends all that it started.

import { type Effect } from '../../core/effect.ts'
import { type Fact } from '../../core/event.ts'
import { neverStarted } from '../../core/run.ts'
import { platform } from '../../platform/platform.ts'
import { readSpawn } from '../../process/record.ts'
import { markerOf, type Shell } from '../shell.ts'
import { runOf, siteOf } from './site.ts'
import { watch } from './start.ts'

const huntLimits = { graceMs: 2_000, limitMs: 20_000 }

export async function performEnd(shell: Shell, effect: Effect & { do: 'end' }): Promise<Fact[]> {
  const { record, at: _at, ...site } = await siteOf(shell, effect)
  const { project, task, run: id } = effect
  const of = { project, task, run: id }
  const run = runOf(record, id)
  if (!run) return [{ kind: 'run.lost', ...of, reason: neverStarted }]
  const how = { graceMs: site.policy.graceMs, force: shell.forced.has(id) }
  // Its end is recorded by whoever watches it.
  if (await shell.watch.stop(id, how)) return []
  const spawn = readSpawn(shell.paths.run(id))
  if (spawn.is === 'none') return [{ kind: 'run.lost', ...of, reason: neverStarted }]
  if (spawn.is === 'spawned' || spawn.is === 'failed') {
    await watch(shell, { of, record, site, mark: markOf(shell, id) })
    if (await shell.watch.stop(id, how)) return []
    if (runOf(shell.loop.fleet().tasks.get(record.key) ?? record, id)?.state.phase === 'over') return []
  }
  await platform.endTree({ marker: markerOf(shell, id) }, huntLimits)
  return [{ kind: 'run.lost', ...of, reason: 'it was being started when it was ended' }]
}

/** Offset up to which facts of a run's output are recorded. */
export function markOf(shell: Pick<Shell, 'store'>, run: string): number {
  for (const event of shell.store.read({ run, kinds: ['output.marked'], newestFirst: true, limit: 1 }))
    if (event.kind === 'output.marked') return event.offset
  return 0
}
