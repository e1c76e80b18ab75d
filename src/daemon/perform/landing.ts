// Effects `integrate` and `land`: the merge is tested to the side, then the target moves.

import { type Effect } from '../../core/effect.ts'
import { type Fact } from '../../core/event.ts'
import { liveTasks } from '../../core/fleet.ts'
import { latestRun, type Task } from '../../core/task.ts'
import { integrate, land, type LandingInput } from '../../workspace/integration.ts'
import { type Voice } from '../../workspace/site.ts'
import { fleetOf, type OfTask, type Shell } from '../shell.ts'
import { gatesOf, passNames, portsTaken, secretsOf, siteOf } from './site.ts'

export async function performIntegrate(
  shell: Shell,
  effect: Effect & { do: 'integrate' },
  voice: Voice,
): Promise<Fact[]> {
  const input = await landingInput(shell, effect, effect.commit)
  return integrate({ ...input, approved: effect.approved }, voice)
}

export async function performLand(
  shell: Shell,
  effect: Effect & { do: 'land' },
  voice: Voice,
): Promise<Fact[]> {
  const { tip, merge } = effect
  return land({ ...(await landingInput(shell, effect, effect.commit)), tip, merge }, voice)
}

async function landingInput(shell: Shell, of: OfTask, commit: string): Promise<LandingInput> {
  const { record, at: _at, ...site } = await siteOf(shell, of)
  const run = latestRun(record)
  const target = record.landing?.target ?? ''
  const lastTip = lastTipOf(shell, record, target)
  return {
    ...site,
    task: record.name,
    title: record.spec.title,
    ...(run === undefined ? {} : { run: run.id }),
    commit,
    branch: record.workspace?.branch ?? '',
    target,
    ...(lastTip === undefined ? {} : { lastTip }),
    gates: gatesOf(site.policy, record, liveTasks(fleetOf(shell))),
    secrets: secretsOf(site, record),
    pass: passNames(record, site.policy),
    portsTaken: portsTaken(shell, record),
  }
}

/** Where the target was when Berth last moved it, or started a task from it; whichever was later. */
function lastTipOf(shell: Shell, record: Task, target: string): string | undefined {
  let latest: { seq: number; commit: string } | undefined
  const consider = (seq: number, commit: string): void => {
    if (latest === undefined || seq > latest.seq) latest = { seq, commit }
  }
  for (const { project, landing } of fleetOf(shell).tasks.values())
    if (project === record.project && landing?.phase === 'landed' && landing.target === target)
      consider(landing.since.seq, landing.merge)
  const { workspace } = record
  const ofTarget = record.spec.base === undefined && record.spec.after.length === 0
  if (workspace?.phase === 'ready' && ofTarget) consider(workspace.since.seq, workspace.base)
  return latest?.commit
}
