// The whole state, as a fold over the log. Only `apply` changes it; everyone else reads.

import { type Limits, type ProjectPolicy } from './config.ts'
import {
  type Event,
  type ItemKind,
  type ProjectId,
  type RunId,
  type TaskName,
  isObservation,
} from './event.ts'
import { type RunEnd } from './outcome.ts'
import { type Moment, type Run, momentOf } from './run.ts'
import { type Verdict, verdictOf } from './recover.ts'
import { type Task, type TaskKey, applyTask, isGone, keyOf, latestRun, submittedTask } from './task.ts'
import { applyRemoval, goesOnAtStart } from './workspace.ts'

export type Project = {
  id: ProjectId
  name: string
  root: string
  commonDir: string
  policy?: ProjectPolicy
  source?: string
  /** Digest of all that the repository makes Berth run; empty if that is nothing. */
  hash: string
  consented: string[]
  /** The target's tip as Berth last saw it. */
  tip?: { target: string; commit: string; seq: number }
  refused?: { reason: string; hint?: string; since: Moment }
}

/** The engine of one account may not be asked before a time. */
export type Quota = {
  engine: string
  account: string
  until: number
  evidence: string
  since: Moment
  key: TaskKey
}

export type SignedOut = { engine: string; account: string; evidence: string; since: Moment; key: TaskKey }

/** What the timeline says of a run, also of one of an earlier life of its task. */
export type RunIndex = {
  key: TaskKey
  task: TaskName
  attempt: number
  engine: string
  worktree: string | null
}

export type Fleet = {
  /** Last fact folded. */
  seq: number
  last?: Moment
  boot?: string
  /** Added to the host's own awake clock, so that ours never goes back (loop.started). */
  offset: number
  loops: number
  running: boolean
  admission: 'open' | 'closed'
  /** Who closed it; `disk` if there was no room left. */
  closedBy?: string
  closedAt?: Moment
  paused: boolean
  limits: Limits
  /** Awake ms at which the host last came back from sleep. */
  wokeAt?: number
  projects: Map<ProjectId, Project>
  /** The latest life of each name. */
  tasks: Map<TaskKey, Task>
  /** Those whose life is not over: `decide` looks at no others. */
  live: Set<TaskKey>
  runs: Map<RunId, RunIndex>
  quotas: Map<string, Quota>
  signedOut: Map<string, SignedOut>
  damaged?: { what: string; kept: string; missing: string; since: Moment }
  /** Attention items as last recorded. */
  raised: Map<string, Raised>
}

export type Raised = { item: string; what: ItemKind; project: ProjectId; task?: TaskName; since: Moment }

export const emptyFleet = (): Fleet => ({
  seq: 0,
  offset: 0,
  loops: 0,
  running: false,
  admission: 'closed',
  paused: false,
  limits: { jobs: 1, maxAlive: 3, perEngine: {} },
  projects: new Map(),
  tasks: new Map(),
  live: new Set(),
  runs: new Map(),
  quotas: new Map(),
  signedOut: new Map(),
  raised: new Map(),
})

/** Folds facts into a fleet; observations only move its clock. */
export function replay(events: Iterable<Event>, fleet: Fleet = emptyFleet()): Fleet {
  for (const event of events) apply(fleet, event)
  return fleet
}

export function apply(fleet: Fleet, event: Event): void {
  fleet.seq = event.seq
  fleet.last = momentOf(event)
  if (isObservation(event)) return
  applyHost(fleet, event)
  applyFleet(fleet, event)
  applyProject(fleet, event)
  applyAccounts(fleet, event)
  if ('task' in event && event.task !== undefined)
    touch(fleet, event as Event & { project: ProjectId; task: TaskName })
}

export const accountKey = (engine: string, account: string): string => `${engine}/${account}`

export const policyOf = (fleet: Fleet, task: Task): ProjectPolicy | undefined =>
  fleet.projects.get(task.project)?.policy

export function* liveTasks(fleet: Fleet): Generator<Task> {
  for (const key of fleet.live) {
    const task = fleet.tasks.get(key)
    if (task !== undefined) yield task
  }
}

/** Tasks of a call, a project, or by name, in order of submission; without a filter, all. */
export function tasksOf(
  fleet: Fleet,
  of: { call?: string; project?: ProjectId; tasks?: readonly TaskName[] },
): Task[] {
  return [...fleet.tasks.values()].filter(
    task =>
      (of.project === undefined || task.project === of.project) &&
      (of.call === undefined || task.call === of.call) &&
      (of.tasks === undefined || of.tasks.includes(task.name)),
  )
}

function touch(fleet: Fleet, event: Event & { project: ProjectId; task: TaskName }): void {
  const key = keyOf(event)
  const task = fleet.tasks.get(key)
  if (event.kind === 'task.submitted') {
    if (task !== undefined && !isGone(task)) return
    fleet.tasks.delete(key)
    fleet.tasks.set(key, submittedTask(event))
    fleet.live.add(key)
    return
  }
  if (task === undefined) return
  const next = applyTask(task, event, fleet.loops)
  fleet.tasks.set(key, next)
  if (event.kind === 'run.claimed') {
    const { engine, attempt } = event
    fleet.runs.set(event.run, {
      key,
      task: task.name,
      attempt,
      engine,
      worktree: next.workspace?.path ?? null,
    })
  }
  if (event.kind === 'task.retried') forgive(fleet, next, true)
  if (event.kind === 'task.resumed') forgive(fleet, next, false)
  if (event.kind === 'run.exited' || event.kind === 'run.collected') learn(fleet, next, event)
  if (isGone(next)) fleet.live.delete(key)
  else fleet.live.add(key)
}

function applyHost(fleet: Fleet, event: Event): void {
  switch (event.kind) {
    case 'loop.started':
      fleet.boot = event.boot
      fleet.offset = event.offset
      fleet.loops += 1
      fleet.running = true
      fleet.admission = event.admission
      delete fleet.closedBy
      delete fleet.closedAt
      for (const task of liveTasks(fleet)) again(fleet, task, event)
      return
    case 'loop.stopped':
      fleet.running = false
      return
    case 'host.slept':
      fleet.wokeAt = event.awake
      return
    case 'host.restarted':
      for (const task of liveTasks(fleet)) fleet.tasks.set(task.key, { ...task, awaitsResume: true })
      return
    case 'store.damaged': {
      const { what, kept, missing } = event
      fleet.damaged = { what, kept, missing, since: momentOf(event) }
      return
    }
    default:
  }
}

// A removal that is past its point of no return is gone on with at each start.
function again(fleet: Fleet, task: Task, event: Event): void {
  const { removal } = task
  if (removal === undefined || !goesOnAtStart(removal)) return
  const asked = applyRemoval(removal, {
    ...event,
    kind: 'teardown.asked',
    mode: removal.mode,
    project: task.project,
    task: task.name,
  } as Event)
  if (asked !== undefined) fleet.tasks.set(task.key, { ...task, removal: asked })
}

function applyFleet(fleet: Fleet, event: Event): void {
  switch (event.kind) {
    case 'admission.opened':
      fleet.admission = 'open'
      delete fleet.closedBy
      delete fleet.closedAt
      return
    case 'admission.closed':
      fleet.admission = 'closed'
      fleet.closedBy = event.by
      fleet.closedAt = momentOf(event)
      return
    case 'fleet.paused':
      fleet.paused = true
      return
    case 'fleet.resumed':
      fleet.paused = false
      return
    case 'limits.set':
      fleet.limits = event.limits
      return
    case 'attention.raised':
      fleet.raised.set(itemKey(event), raisedBy(event))
      return
    case 'attention.cleared':
      fleet.raised.delete(itemKey(event))
      return
    case 'attention.answered':
      if (event.item === 'damaged') delete fleet.damaged
      return
    default:
  }
}

function raisedBy(event: Event & { kind: 'attention.raised' }): Raised {
  const { item, what, project, task } = event
  return { item, what, project, since: momentOf(event), ...(task === undefined ? {} : { task }) }
}

/** How an item is known among all projects. */
export const itemKey = ({ project, item }: { project: ProjectId; item: string }): string =>
  `${project}/${item}`

function applyProject(fleet: Fleet, event: Event): void {
  switch (event.kind) {
    case 'project.seen': {
      const { project: id, name, root, commonDir } = event
      const before = fleet.projects.get(id) ?? { hash: '', consented: [] }
      fleet.projects.set(id, { ...before, id, name, root, commonDir })
      return
    }
    case 'project.configured': {
      const { refused: _refused, ...before } = projectOf(fleet, event.project)
      fleet.projects.set(event.project, {
        ...before,
        policy: event.policy,
        source: event.source,
        hash: event.hash,
      })
      return
    }
    case 'project.refused': {
      const hint = event.hint === undefined ? {} : { hint: event.hint }
      const refused = { reason: event.reason, since: momentOf(event), ...hint }
      fleet.projects.set(event.project, { ...projectOf(fleet, event.project), refused })
      return
    }
    case 'landing.tested':
      saw(fleet, event, { target: event.target, commit: event.tip })
      return
    case 'landing.landed':
      saw(fleet, event, { target: event.target, commit: event.merge })
      return
    case 'landing.failed': {
      const target = fleet.tasks.get(keyOf(event))?.landing?.target
      if (event.failure.is === 'target-red' && target !== undefined)
        saw(fleet, event, { target, commit: event.failure.tip })
      return
    }
    case 'consent.given': {
      const before = projectOf(fleet, event.project)
      fleet.projects.set(event.project, { ...before, consented: [...before.consented, event.hash] })
      for (const task of liveTasks(fleet)) {
        if (task.project !== event.project || task.held?.reason !== 'consent') continue
        const { held: _held, ...released } = task
        fleet.tasks.set(task.key, released)
      }
      return
    }
    default:
  }
}

type Tip = { target: string; commit: string }

function saw(fleet: Fleet, { project, seq }: { project: ProjectId; seq: number }, tip: Tip): void {
  fleet.projects.set(project, { ...projectOf(fleet, project), tip: { ...tip, seq } })
}

const projectOf = (fleet: Fleet, id: ProjectId): Project =>
  fleet.projects.get(id) ?? { id, name: id, root: '', commonDir: '', hash: '', consented: [] }

function applyAccounts(fleet: Fleet, event: Event): void {
  switch (event.kind) {
    case 'account.signed-out': {
      const { engine, account, evidence } = event
      fleet.signedOut.set(accountKey(engine, account), {
        engine,
        account,
        evidence,
        key: keyOf(event),
        since: momentOf(event),
      })
      return
    }
    case 'account.signed-in':
      fleet.signedOut.delete(accountKey(event.engine, event.account))
      return
    default:
  }
}

function hold(
  fleet: Fleet,
  engine: string,
  account: string,
  of: Omit<Quota, 'engine' | 'account' | 'until'> & { until: number | null },
): void {
  const task = fleet.tasks.get(of.key)
  const unknown = of.since.at + ((task && policyOf(fleet, task)?.quotaMs) ?? 30 * 60_000)
  fleet.quotas.set(accountKey(engine, account), { ...of, engine, account, until: of.until ?? unknown })
}

// What the end of a run says about its engine and account: as soon as it has exited, for others wait to start.
function learn(fleet: Fleet, task: Task, event: Event & { kind: 'run.exited' | 'run.collected' }): void {
  const run = latestRun(task)
  if (run === undefined || run.id !== event.run) return
  const since = momentOf(event)
  const verdict = saidBy(run, task)
  if (verdict === undefined) return
  const key = accountKey(run.engine, run.account)
  if (verdict.is === 'limited') {
    hold(fleet, run.engine, run.account, {
      until: verdict.until,
      evidence: verdict.evidence,
      since,
      key: task.key,
    })
  } else if (verdict.is === 'signed-out') {
    fleet.signedOut.set(key, {
      engine: run.engine,
      account: run.account,
      evidence: verdict.evidence,
      since,
      key: task.key,
    })
  } else if (verdict.is === 'done' || verdict.is === 'no-work') {
    const quota = fleet.quotas.get(key)
    if (quota !== undefined && run.claimed.seq > quota.since.seq) fleet.quotas.delete(key)
  }
}

function saidBy(run: Run, task: Task): RunEnd | Verdict | undefined {
  const { state } = run
  if (state.phase === 'collected') return verdictOf(run, task)
  if (state.phase !== 'over' || state.why !== undefined || state.ended.how === 'lost') return undefined
  return state.ended.end
}

// A person who asks for it again says that it can go on: what held its engine is tried once more.
function forgive(fleet: Fleet, task: Task, quotaToo: boolean): void {
  const key = accountKey(task.spec.engine, task.spec.account ?? '')
  fleet.signedOut.delete(key)
  if (quotaToo) fleet.quotas.delete(key)
}
