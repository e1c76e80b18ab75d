// Where exactly a task is: the one derivation that decisions, status and attention are made from.

import { type ReasonCode } from './api.ts'
import { type EndWhy } from './effect.ts'
import { type Fleet, policyOf } from './fleet.ts'
import { type LandingState } from './landing.ts'
import { type Ready, readyStage } from './ready.ts'
import { type Failing, type Next, nextOf } from './recover.ts'
import { type Run, isAlive } from './run.ts'
import { type Task, isBare, isGone, latestRun } from './task.ts'
import { type Removal, type Workspace, landingRemoval, plainRemoval } from './workspace.ts'
import { type Evidence, failedWhile } from './words.ts'

export type Stage =
  | { is: 'gone'; as: 'landed' | 'dropped' }
  /** Its workspace is to be removed now; `claim` if that is not recorded yet. */
  | { is: 'removing'; mode: Removal['mode']; claim: boolean }
  /** A removal that stopped half way, or the clean-up after a landing that would lose work. */
  | { is: 'left'; removal: Removal & { phase: 'stuck' | 'refused' } }
  | { is: 'landing'; landing: LandingState & { phase: 'claimed' | 'tested' } }
  | { is: 'alive'; run: Run; end?: EndWhy }
  | { is: 'collecting'; run: Run }
  | { is: 'stopped' }
  | { is: 'preparing'; workspace: Workspace & { phase: 'claimed' } }
  | (Failing & { hint?: string })
  | { is: 'held' }
  /** It wants a slot: for its workspace, or for a run in it. `at`: not before, awake ms. */
  | { is: 'queued'; wants: 'workspace' | 'run' }
  | { is: 'again'; code: ReasonCode; at: number; sentence: string }
  | { is: 'verifying'; commit: string }
  | (Next & { is: 'decide' })
  | Ready

export function stageOf(fleet: Fleet, task: Task): Stage {
  const run = latestRun(task)
  if (isGone(task)) return { is: 'gone', as: task.landing?.phase === 'landed' ? 'landed' : 'dropped' }
  const removing = removalStage(task, run)
  if (removing !== undefined) return removing
  const { landing } = task
  if (landing?.phase === 'claimed' || landing?.phase === 'tested') return { is: 'landing', landing }
  if (run !== undefined && isAlive(run)) return aliveStage(task, run)
  if (run?.state.phase === 'over') return { is: 'collecting', run }
  if (task.stopped !== undefined) return { is: 'stopped' }
  return workspaceStage(fleet, task)
}

function removalStage(task: Task, run: Run | undefined): Stage | undefined {
  const { removal } = task
  const alive = run !== undefined && isAlive(run)
  if (removal?.phase === 'stuck') return { is: 'left', removal }
  if (removal?.phase === 'asked') {
    if (alive && removal.mode.stop) return { is: 'alive', run, end: endWhy(run) ?? 'removal' }
    return { is: 'removing', mode: removal.mode, claim: false }
  }
  if (task.landing?.phase === 'landed') {
    if (removal?.phase === 'refused') return { is: 'left', removal }
    return { is: 'removing', mode: landingRemoval, claim: true }
  }
  if (task.dropped === undefined || isBare(task) || removal !== undefined) return undefined
  if (alive) return { is: 'alive', run, end: endWhy(run) ?? 'removal' }
  return { is: 'removing', mode: plainRemoval, claim: true }
}

function aliveStage(task: Task, run: Run): Stage {
  const end = endWhy(run) ?? stopWhy(task)
  return end === undefined ? { is: 'alive', run } : { is: 'alive', run, end }
}

function stopWhy(task: Task): EndWhy | undefined {
  if (task.stopped === undefined) return undefined
  return interruptionOf(task) === undefined ? 'stopped' : 'interrupted'
}

const endWhy = (run: Run): EndWhy | undefined => (run.state.phase === 'ending' ? run.state.why : undefined)

/** `by` of a `task.stopped` that ends what works for now: it goes on with the next `berth run`. */
export const interruptions = {
  interrupt: 'the call that started it was interrupted',
  'no-detach': 'its agent waited for a person, and its call was not to go on in the background',
  'daemon-stop': '`berth daemon stop --stop-runs` stopped it',
} as const

export type Interruption = keyof typeof interruptions

/** Why it was interrupted; undefined where a person stopped that very task, or nobody did. */
export const interruptionOf = ({ stopped }: Task): string | undefined =>
  stopped !== undefined && Object.hasOwn(interruptions, stopped.by)
    ? interruptions[stopped.by as Interruption]
    : undefined

function workspaceStage(fleet: Fleet, task: Task): Stage {
  const { workspace } = task
  if (workspace?.phase === 'claimed') return { is: 'preparing', workspace }
  if (workspace?.phase === 'stuck' && !workspace.retry) {
    return {
      is: 'failed',
      code: 'create-failed',
      sentence: failedWhile(workspace),
      evidence: holdersOf(workspace),
    }
  }
  if (workspace?.phase === 'failed' && !workspace.retry) return failedWorkspace(workspace)
  if (task.held !== undefined) return { is: 'held' }
  if (workspace?.phase !== 'ready') return { is: 'queued', wants: 'workspace' }
  return runStage(fleet, task)
}

function failedWorkspace(workspace: Workspace & { phase: 'failed' }): Stage {
  const code = workspace.step.startsWith('setup') ? 'setup-failed' : 'create-failed'
  const evidence = workspace.tail.slice(-20).map(text => ({ kind: 'output', text }))
  const hint = workspace.hint === undefined ? {} : { hint: workspace.hint }
  return { is: 'failed', code, sentence: failedWhile(workspace), evidence, ...hint }
}

const holdersOf = (workspace: Workspace & { phase: 'stuck' }): Evidence[] =>
  workspace.holders.map(({ pid, command, what }) => ({
    kind: 'process',
    text: `${pid} ${command} (${what})`,
  }))

function runStage(fleet: Fleet, task: Task): Stage {
  if (task.verification?.is === 'ready' && !task.again) return readyStage(fleet, task, task.verification)
  const policy = policyOf(fleet, task)
  const next = policy === undefined ? undefined : nextOf(task, policy)
  if (next === undefined) return { is: 'queued', wants: 'run' }
  return next.is === 'verify' ? { is: 'verifying', commit: next.commit } : next
}
