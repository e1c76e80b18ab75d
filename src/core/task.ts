// A task: what a person asked for and what became of it, facts folded. Its status is derived (stage.ts).

import {
  type Approval,
  type ChangeCount,
  type Event,
  type ProjectId,
  type TaskName,
  type TaskSpec,
} from './event.ts'
import { type LandingState, applyLanding } from './landing.ts'
import { type RedTarget } from './outcome.ts'
import { type Moment, type Run, applyRun, claimedRun, isAlive, momentOf } from './run.ts'
import { type Removal, type Workspace, applyRemoval, applyWorkspace, madeAgain, putOff } from './workspace.ts'

/** `${project}/${task}`: how the fold knows a task. */
export type TaskKey = string

export const keyOf = (of: { project: ProjectId; task: TaskName }): TaskKey => `${of.project}/${of.task}`

export type Verification =
  | {
      is: 'ready'
      commit: string
      gates: string[]
      changes: ChangeCount
      uncommitted: boolean
      /** A gate that fails without its work, too: only on the merge with the target it can be judged. */
      red?: RedTarget
      since: Moment
    }
  | {
      is: 'red'
      commit: string
      gate: string
      reason: string
      unknown: boolean
      tail: string[]
      since: Moment
    }

export type GateResult = {
  gate: string
  commit: string
  where: 'workspace' | 'integration' | 'target'
  code: number | null
  ms: number
  timedOut: boolean
  reason?: string
  tail: string[]
  /** The file with all of its output. */
  output?: string
  since: Moment
}

/** What went wrong with earlier attempts in ways that the next one is told of. */
export type Setback =
  | {
      is: 'gate'
      attempt: number
      gate: string
      where: 'workspace' | 'integration'
      reason: string
      tail: string[]
    }
  | { is: 'conflict'; attempt: number; paths: string[]; onto?: string }

export type Saved = {
  id: string
  ref: string
  commit: string
  archive?: string
  why: string
  since: Moment
  losses: (Event & { kind: 'work.saved' })['losses']
}

export type Task = {
  key: TaskKey
  project: ProjectId
  name: TaskName
  spec: TaskSpec
  brief: { file: string; bytes: number; sha256: string }
  call: string
  digest: string
  passed?: { path: string; names: string[] }
  submitted: Moment
  /** Wall, ms: the latest fact about it. */
  updatedAt: number
  workspace?: Workspace
  /** In order of their attempts. */
  runs: Run[]
  /** Questions asked in its life: numbers their items. */
  asked: number
  verification?: Verification
  landing?: LandingState
  removal?: Removal
  gates: GateResult[]
  gate?: { name: string; where: GateResult['where']; since: Moment }
  setbacks: Setback[]
  /** The latest of them, while no work was ready since. */
  unmended?: Setback
  saved: Saved[]
  notes: string[]
  stopped?: { by: string; since: Moment }
  dropped?: { by: string; since: Moment }
  held?: { reason: 'consent' | 'diverged' | 'target' | 'disk' | 'config'; detail: string; since: Moment }
  /** An order to land its work as it was then: a red gate, a conflict or another attempt ends it. */
  landAsked?: Moment
  approved: { commit: string; what: Approval }[]
  /** A person asked for another attempt: the count of attempts starts anew. */
  retried?: Moment
  again: boolean
  /** How often work that was ready or being verified changed after its run, since a person last looked. */
  withdrawn: number
  /** The host restarted under it: a person says when it goes on (docs/decisions/0025). */
  awaitsResume: boolean
}

export const latestRun = (task: Task): Run | undefined => task.runs.at(-1)

export const liveRun = (task: Task): Run | undefined => {
  const run = latestRun(task)
  return run !== undefined && isAlive(run) ? run : undefined
}

/** Whether its work changed so often after its run that a person should say which state of it counts. */
export const keepsChanging = (task: Task): boolean => task.withdrawn > maxWithdrawn

const maxWithdrawn = 5

/** Whether nothing of it is on disk. */
export const isBare = (task: Task): boolean => {
  const phase = task.workspace?.phase
  return phase === undefined || phase === 'removed'
}

/** Whether its life is over: landed or dropped, and all of it removed. Its name may be used again. */
export function isGone(task: Task): boolean {
  if (liveRun(task) !== undefined || task.removal?.phase === 'asked' || task.removal?.phase === 'stuck')
    return false
  // Once removed it stays so, whatever is asked of its branch afterwards.
  if (task.workspace?.phase === 'removed' || task.removal?.phase === 'done') return isBare(task)
  return (task.landing?.phase === 'landed' || task.dropped !== undefined) && isBare(task)
}

/** Whether a person let exactly this commit pass in spite of `what`. */
export const isApproved = (task: Task, commit: string, what: Approval): boolean =>
  task.approved.some(approval => approval.commit === commit && approval.what === what)

export function submittedTask(event: Event & { kind: 'task.submitted' }): Task {
  return {
    key: keyOf(event),
    project: event.project,
    name: event.task,
    spec: event.spec,
    brief: event.brief,
    call: event.call,
    digest: event.digest,
    ...(event.passed === undefined ? {} : { passed: event.passed }),
    submitted: momentOf(event),
    updatedAt: event.at,
    runs: [],
    asked: 0,
    gates: [],
    setbacks: [],
    saved: [],
    notes: [],
    approved: [],
    again: false,
    withdrawn: 0,
    awaitsResume: false,
  }
}

/** The task after a fact about it. */
export function applyTask(task: Task, event: Event, loop: number): Task {
  const next: Task = { ...task, updatedAt: event.at }
  put(next, 'workspace', applyWorkspace(task.workspace, event, loop))
  put(next, 'removal', applyRemoval(task.removal, event))
  put(next, 'landing', applyLanding(task.landing, event))
  if ('run' in event && event.run !== undefined) next.runs = runsAfter(task, event)
  if (event.kind === 'question.asked')
    next.asked = next.runs.reduce((sum, run) => sum + run.questions.length, 0)
  asked(next, event)
  proved(next, event)
  return next
}

function runsAfter(task: Task, event: Event): Run[] {
  if (event.kind === 'run.claimed') return [...task.runs, claimedRun(event)]
  return task.runs.map(run =>
    'run' in event && run.id === event.run ? applyRun(run, event as never, task.asked) : run,
  )
}

// What people ask of it.
function asked(task: Task, event: Event): void {
  switch (event.kind) {
    case 'task.stopped':
      task.stopped = { by: event.by, since: momentOf(event) }
      return
    case 'task.dropped':
      task.dropped = { by: event.by, since: momentOf(event) }
      return
    case 'task.retried':
      retry(task, momentOf(event))
      return
    case 'task.resumed':
      goOn(task)
      return
    case 'task.held':
      task.held = { reason: event.reason, detail: event.detail, since: momentOf(event) }
      put(task, 'workspace', putOff(task.workspace, event.detail))
      return
    case 'task.released':
      drop(task, 'held')
      return
    case 'task.land-asked':
      askLanding(task, momentOf(event))
      return
    case 'task.approved':
      task.approved = [...task.approved, { commit: event.commit, what: event.what }]
      return
    case 'teardown.refused':
      drop(task, 'dropped')
      return
    case 'task.noted':
      task.notes = [...task.notes, event.text]
      return
    default:
  }
}

function retry(task: Task, since: Moment): void {
  goOn(task)
  task.retried = since
  task.withdrawn = 0
  if (task.landing?.phase === 'landed' || liveRun(task) !== undefined || task.runs.length === 0) return
  task.again = true
  drop(task, 'verification')
  if (task.landing?.phase === 'failed') drop(task, 'landing')
}

function goOn(task: Task): void {
  drop(task, 'stopped')
  drop(task, 'held')
  task.awaitsResume = false
  put(task, 'workspace', madeAgain(task.workspace))
}

// Asking again forgives what stood in the way, and shows that a person knows of it.
function askLanding(task: Task, since: Moment): void {
  task.landAsked = since
  drop(task, 'stopped')
  task.awaitsResume = false
  if (task.verification?.is !== 'ready') return
  const { commit } = task.verification
  const seen: Approval[] = ['uncommitted-work']
  if (task.landing?.phase === 'failed') {
    if (task.landing.failure.is === 'protected') seen.push('protected')
    drop(task, 'landing')
  }
  task.approved = [...task.approved, ...seen.map(what => ({ commit, what }))]
}

// What was found out about its work.
function proved(task: Task, event: Event): void {
  const attempt = latestRun(task)?.attempt ?? 0
  switch (event.kind) {
    case 'run.claimed':
      task.again = false
      task.withdrawn = 0
      drop(task, 'landAsked')
      drop(task, 'verification')
      if (task.landing?.phase === 'failed') drop(task, 'landing')
      return
    case 'gate.started':
      task.gate = { name: event.gate, where: event.where, since: momentOf(event) }
      return
    case 'gate.exited':
      drop(task, 'gate')
      task.gates = [...task.gates, resultOf(event)].slice(-20)
      return
    case 'task.ready':
      drop(task, 'gate')
      drop(task, 'unmended')
      task.verification = readyBy(event)
      return
    case 'task.red': {
      const { commit, gate, reason, unknown = false } = event
      const tail = task.gates.findLast(result => result.gate === gate && result.commit === commit)?.tail ?? []
      drop(task, 'gate')
      task.verification = { is: 'red', commit, gate, reason, unknown, tail, since: momentOf(event) }
      if (!unknown) setBack(task, { is: 'gate', attempt, gate, where: 'workspace', reason, tail })
      return
    }
    case 'task.withdrawn':
      withdraw(task, event.by !== undefined)
      return
    case 'landing.failed': {
      const { failure } = event
      drop(task, 'gate')
      if (failure.is === 'conflict') {
        const { paths, onto } = failure
        setBack(task, { is: 'conflict', attempt, paths, ...(onto === undefined ? {} : { onto }) })
      }
      if (failure.is === 'gate')
        setBack(task, {
          is: 'gate',
          attempt,
          gate: failure.gate,
          where: 'integration',
          reason: failure.reason,
          tail: failure.tail,
        })
      return
    }
    case 'work.saved':
      task.saved = [...task.saved, savedOf(event)]
      return
    case 'saved.removed':
      task.saved = task.saved.filter(saved => saved.id !== event.id)
      return
    default:
  }
}

function readyBy(event: Event & { kind: 'task.ready' }): Verification {
  const { commit, gates, changes, uncommitted, red } = event
  const before = red === undefined ? {} : { red }
  return { is: 'ready', commit, gates, changes, uncommitted, ...before, since: momentOf(event) }
}

// Its worktree is looked at once more; what is found there is verified anew.
function withdraw(task: Task, byPerson: boolean): void {
  task.withdrawn = byPerson ? 0 : task.withdrawn + 1
  drop(task, 'verification')
  if (task.landing?.phase === 'failed') drop(task, 'landing')
  const run = latestRun(task)
  if (run?.state.phase !== 'collected') return
  const { outcome: _outcome, since: _since, ...over } = run.state
  const state: Run['state'] = { ...over, phase: 'over', ...(byPerson ? { taken: true } : {}) }
  task.runs = [...task.runs.slice(0, -1), { ...run, state }]
}

function setBack(task: Task, setback: Setback): void {
  task.unmended = setback
  drop(task, 'landAsked')
  task.setbacks = [...task.setbacks, setback].slice(-5)
}

function savedOf(event: Event & { kind: 'work.saved' }): Saved {
  const { id, ref, commit, archive, why, losses } = event
  const beside = archive === undefined ? {} : { archive }
  return { id, ref, commit, why, losses, since: momentOf(event), ...beside }
}

function resultOf(event: Event & { kind: 'gate.exited' }): GateResult {
  const { gate, commit, where, code, ms, timedOut, reason, tail, output } = event
  return {
    gate,
    commit,
    where,
    code,
    ms,
    timedOut,
    tail,
    since: momentOf(event),
    ...(reason === undefined ? {} : { reason }),
    ...(output === undefined ? {} : { output }),
  }
}

function put<K extends keyof Task>(task: Task, name: K, value: Task[K] | undefined): void {
  if (value === undefined) drop(task, name)
  else task[name] = value
}

// Deleting what is not there would still cost the object its shape, and the fold its speed.
function drop(task: Task, name: keyof Task): void {
  if (name in task) delete task[name]
}
