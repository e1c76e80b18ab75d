// What readers are shown of the state: the rows of `ls`, all of one task, saved work. Pure, from the fold and from
// what the reader itself saw of git and the disk.

import { type ItemView, type RunView, type SavedView, type ShowView, type TaskView } from './api.ts'
import { items } from './attention.ts'
import { type Clock } from './clock.ts'
import { wouldGoOn } from './exit.ts'
import { type Fleet } from './fleet.ts'
import { type Usage, noUsage } from './outcome.ts'
import { isAlive, type Moment, type Run } from './run.ts'
import { type StatusView, statusOf } from './status.ts'
import { type GateResult, type Task, isGone, latestRun } from './task.ts'
import { beingRemoved } from './words.ts'
import { groundOf } from './workspace.ts'

/** What a reader knows apart from the facts. */
export type Seen = {
  host: string
  /** Whether a loop is at work on this state. */
  live: boolean
  changes?: TaskView['changes']
  differences?: TaskView['differences']
}

export type SeenMore = Seen & Pick<ShowView, 'brief' | 'merged' | 'target' | 'behind' | 'losses'>

/** ISO 8601 UTC with milliseconds. */
export const isoOf = (wall: number): string => new Date(wall).toISOString()

export function taskView(fleet: Fleet, task: Task, clock: Clock, seen: Seen): TaskView {
  const status = statusOf(fleet, task, clock, seen.live)
  const run = latestRun(task)
  const project = fleet.projects.get(task.project)
  const { spec } = task
  return {
    task: task.name,
    project: task.project,
    repo: project?.root ?? '',
    title: spec.title,
    kind: spec.kind,
    labels: spec.labels,
    priority: spec.priority,
    after: spec.after,
    ...statusFields(status),
    unattended: !seen.live && wouldGoOn(fleet, task, clock),
    engine: run?.engine ?? spec.engine,
    model: run?.model ?? spec.model ?? null,
    account: (run?.account ?? spec.account ?? '') || null,
    attempt: run?.attempt ?? 0,
    ...placeFields(task),
    commit: commitOf(task),
    host: seen.host,
    land: spec.land,
    startedAt: startedAt(task),
    updatedAt: isoOf(task.updatedAt),
    cost: costOf(task),
    changes: seen.changes ?? changesOf(task),
    removal: removalOf(task),
    differences: seen.differences ?? [],
  }
}

function statusFields({
  status,
  reason,
  reasonCode,
  until,
  waitsFor,
}: StatusView): Pick<TaskView, 'status' | 'reason' | 'reasonCode' | 'until' | 'waitsFor'> {
  return { status, reason, reasonCode, until: until === null ? null : isoOf(until), waitsFor }
}

function placeFields({ workspace }: Task): Pick<TaskView, 'branch' | 'base' | 'worktree' | 'ports'> {
  if (workspace === undefined) return { branch: null, base: null, worktree: null, ports: [] }
  const worktree = workspace.phase === 'removed' ? null : workspace.path
  const { base = null } = groundOf(workspace)
  return {
    branch: workspace.branch,
    base,
    worktree,
    ports: workspace.phase === 'ready' ? workspace.ports : [],
  }
}

function startedAt(task: Task): string | null {
  const first = task.runs.find(run => run.began !== undefined)?.began
  return first === undefined ? null : isoOf(first.at)
}

/** The commit that stands for its work: landed, verified, or collected last. */
export function commitOf(task: Task): string | null {
  if (task.landing?.phase === 'landed') return task.landing.commit
  if (task.verification !== undefined) return task.verification.commit
  const state = latestRun(task)?.state
  return state?.phase === 'collected' && state.outcome.is === 'done' ? state.outcome.commit : null
}

/** Summed over its runs. */
export const costOf = (task: Task): Usage => task.runs.reduce((sum, run) => addUsage(sum, run.usage), noUsage)

const addUsage = (a: Usage, b: Usage): Usage => ({
  usd: a.usd + b.usd,
  inputTokens: a.inputTokens + b.inputTokens,
  outputTokens: a.outputTokens + b.outputTokens,
})

function changesOf(task: Task): TaskView['changes'] {
  const state = latestRun(task)?.state
  const outcome = state?.phase === 'collected' && state.outcome.is === 'done' ? state.outcome : undefined
  const changes = task.verification?.is === 'ready' ? task.verification.changes : outcome?.changes
  const { files = 0, insertions = 0, deletions = 0 } = changes ?? {}
  return { files, insertions, deletions, dirty: null }
}

function removalOf({ removal, workspace }: Task): TaskView['removal'] {
  if (removal?.phase === 'stuck')
    return { step: removal.step, reason: removal.reason, holders: removal.holders }
  if (removal?.phase === 'refused' && removal.mode.by === 'landing')
    return { step: 'refuse', reason: removal.reason, holders: removal.holders }
  if (removal?.phase === 'asked') return { step: removal.step ?? 'refuse', reason: beingRemoved, holders: [] }
  if (workspace?.phase === 'stuck')
    return { step: workspace.step, reason: workspace.reason, holders: workspace.holders }
  return null
}

/** What `ls` lists: without `all`, not what is landed or dropped and wholly removed. */
export const isListed = (task: Task, all: boolean): boolean => all || !isGone(task)

export function showView(fleet: Fleet, task: Task, clock: Clock, seen: SeenMore): ShowView {
  const open = items(fleet, clock).filter(item => item.project === task.project && concerns(item, task))
  return {
    ...taskView(fleet, task, clock, seen),
    brief: seen.brief,
    runs: task.runs.map(run => runView(task, run)),
    gates: task.gates.map(gateView),
    questions: task.runs.flatMap(run =>
      run.questions.map(({ id, text, choices, state, answer }) => ({
        id,
        text,
        choices,
        // Of a run that has ended nobody waits for an answer.
        state: state === 'open' && !isAlive(run) ? 'expired' : state,
        answer: answer ?? null,
      })),
    ),
    notes: task.notes,
    saved: savedViews(task),
    items: open,
    landedAs: task.landing?.phase === 'landed' ? task.landing.merge : null,
    merged: seen.merged,
    target: seen.target,
    behind: seen.behind,
    losses: seen.losses,
  }
}

// A gate that ended with 0 may have failed: it left changes, or something of it could not be ended.
const gateView = ({
  gate,
  code,
  reason,
  ms,
  since,
  where,
  tail,
  output,
}: GateResult): ShowView['gates'][number] => ({
  gate,
  passed: code === 0 && reason === undefined,
  reason: reason ?? (code === 0 ? null : `exit code ${code ?? 'unknown'}`),
  code,
  ms,
  at: isoOf(since.at),
  where,
  tail,
  output: output ?? null,
})

const concerns = (item: ItemView, task: Task): boolean =>
  item.task === task.name || item.blocks.includes(task.name)

export const savedViews = (task: Task): SavedView[] =>
  task.saved.map(({ id, since, ref, commit, archive, why, losses }) => ({
    id,
    task: task.name,
    at: isoOf(since.at),
    ref,
    commit,
    archive: archive ?? null,
    why,
    losses,
  }))

/** What people see of a run: `login#1`. */
export const runName = (task: string, attempt: number): string => `${task}#${attempt}`

export function runView(task: Task, run: Run): RunView {
  const { state } = run
  const ended = state.phase === 'over' || state.phase === 'collected' ? state.ended : undefined
  return {
    run: run.id,
    name: runName(task.name, run.attempt),
    engine: run.engine,
    model: run.model ?? null,
    account: run.account || null,
    attempt: run.attempt,
    session: run.session ?? null,
    startedAt: isoOrNull(run.began),
    endedAt: isoOrNull(ended?.since),
    state: state.phase,
    outcome: state.phase === 'collected' ? state.outcome.is : null,
    code: ended?.how === 'exited' ? ended.code : null,
    signal: ended?.how === 'exited' ? ended.signal : null,
    usage: run.usage,
  }
}

const isoOrNull = (moment: Moment | undefined): string | null =>
  moment === undefined ? null : isoOf(moment.at)
