// Who may start: what stands in a task's way, how many slots are taken, and who is next.

import { type ReasonCode, type WaitsFor } from './api.ts'
import { type Clock } from './clock.ts'
import { type Fleet, type Quota, accountKey, liveTasks, policyOf } from './fleet.ts'
import { type Run, isAlive, isWaiting } from './run.ts'
import { type Stage, stageOf } from './stage.ts'
import { list, noted } from './words.ts'
import { type Task, keyOf, latestRun } from './task.ts'

/** What stands in the way of a start. `until`: wall ms. `awake`: not before, awake ms. */
export type Obstacle = {
  code: ReasonCode
  waitsFor: WaitsFor | null
  sentence: string
  until?: number
  awake?: number
  /** The tasks that it waits behind. */
  behind?: Task[]
}

/** After a limit's time is over, one run goes first for this long (awake ms): one call shows whether it is lifted. */
export const probeMs = 30_000

/** What keeps a task from starting, apart from slots; the weightiest first. */
export function obstacleOf(fleet: Fleet, task: Task, stage: Stage, clock: Clock): Obstacle | undefined {
  return (
    shut(fleet, task) ??
    unready(fleet, task) ??
    (stage.is === 'queued' && task.runs.length === 0 ? dependencyObstacle(fleet, task) : undefined) ??
    accountObstacle(fleet, task, clock) ??
    (stage.is === 'again' ? backoff(stage, clock) : undefined)
  )
}

/** What keeps anything new from being begun for a task, its gates and landing included. */
export function shut(fleet: Fleet, task: Task): Obstacle | undefined {
  if (task.awaitsResume) {
    return person('host-restarted', 'the machine was restarted; it goes on with `berth resume`')
  }
  if (fleet.admission === 'closed') {
    if (fleet.closedBy === 'disk')
      return person('disk', 'the disk was full; nothing is started until `berth resume`')
    return person('closed', 'nothing is started until `berth resume`')
  }
  return undefined
}

function unready(fleet: Fleet, task: Task): Obstacle | undefined {
  if (fleet.paused) return person('paused', 'the fleet is paused; it goes on with `berth resume`')
  const project = fleet.projects.get(task.project)
  if (project?.refused !== undefined) return person('config', project.refused.reason)
  if (project?.policy === undefined) return person('config', 'its repository has not been configured')
  if (project.hash !== '' && !project.consented.includes(project.hash)) {
    return person(
      'consent',
      `'${project.source ?? 'berth.toml'}' makes Berth run commands that nobody has approved`,
    )
  }
  return undefined
}

const person = (code: ReasonCode, sentence: string): Obstacle => ({ code, sentence, waitsFor: 'person' })

function accountObstacle(fleet: Fleet, task: Task, clock: Clock): Obstacle | undefined {
  const key = accountKey(task.spec.engine, task.spec.account ?? '')
  const out = fleet.signedOut.get(key)
  if (out !== undefined) return person('signed-out', noted(`'${out.engine}' is signed out`, out.evidence))
  const quota = fleet.quotas.get(key)
  if (quota === undefined) return undefined
  const sentence = noted(`'${quota.engine}' reached a usage limit`, quota.evidence)
  if (clock.wall < quota.until) return { code: 'quota', waitsFor: 'quota', sentence, until: quota.until }
  const probe = probeOf(fleet, quota)
  if (probe === undefined || clock.awake >= probe.claimed.awake + probeMs) return undefined
  return {
    code: 'quota',
    waitsFor: 'quota',
    sentence: `${sentence}; '${probe.engine}' is being tried again`,
    awake: probe.claimed.awake + probeMs,
  }
}

// The run that went first after the limit.
function probeOf(fleet: Fleet, quota: Quota): Run | undefined {
  for (const task of liveTasks(fleet)) {
    const run = latestRun(task)
    if (run === undefined || run.claimed.seq < quota.since.seq || !isAlive(run)) continue
    if (run.engine === quota.engine && run.account === quota.account) return run
  }
  return undefined
}

/** The tasks of `after` that have not done what it waits for (docs/decisions/0023). */
export function unmet(fleet: Fleet, task: Task): { missing: string[]; tasks: Task[] } {
  const missing: string[] = []
  const tasks: Task[] = []
  for (const name of task.spec.after) {
    const other = fleet.tasks.get(keyOf({ project: task.project, task: name }))
    if (other === undefined) missing.push(name)
    else if (!isMet(other)) tasks.push(other)
  }
  return { missing, tasks }
}

/** Landed; or, where nothing is to land, ready. */
export const isMet = (task: Task): boolean =>
  task.landing?.phase === 'landed' ||
  (task.spec.land === 'never' && task.verification?.is === 'ready' && !task.verification.red)

function dependencyObstacle(fleet: Fleet, task: Task): Obstacle | undefined {
  const { missing, tasks } = unmet(fleet, task)
  if (missing.length > 0)
    return { ...person('dependency', `waits behind ${list(missing)}, which is not there`), behind: tasks }
  if (tasks.length === 0) return undefined
  const sentence = `waits behind ${list(tasks.map(({ name }) => name))}`
  return { code: 'dependency', waitsFor: 'dependency', sentence, behind: tasks }
}

function backoff(stage: Stage & { is: 'again' }, clock: Clock): Obstacle | undefined {
  if (clock.awake >= stage.at) return undefined
  const until = clock.wall + (stage.at - clock.awake)
  return { code: 'backoff', waitsFor: null, sentence: stage.sentence, until, awake: stage.at }
}

export type Load = { busy: number; alive: number; perEngine: Map<string, number> }

/** What is under way: `busy` holds slots; a run that waits for a person holds none. */
export function loadOf(fleet: Fleet, stages: ReadonlyMap<Task, Stage>): Load {
  const load: Load = { busy: 0, alive: 0, perEngine: new Map() }
  for (const [task, stage] of stages) {
    if (!holdsSlot(fleet, task, stage)) {
      if (stage.is === 'alive') load.alive += 1
      continue
    }
    add(load, task)
  }
  return load
}

function add(load: Load, task: Task): void {
  load.busy += 1
  load.alive += 1
  load.perEngine.set(task.spec.engine, (load.perEngine.get(task.spec.engine) ?? 0) + 1)
}

function holdsSlot(fleet: Fleet, task: Task, stage: Stage): boolean {
  switch (stage.is) {
    case 'collecting':
      return true
    case 'preparing':
    case 'verifying':
      return shut(fleet, task) === undefined
    case 'alive':
      return !isWaiting(stage.run)
    default:
      return false
  }
}

export type Startable = { task: Task; stage: Stage & { is: 'queued' | 'again' } }

/** Those without an obstacle that get a slot now: first those with a workspace, by priority, then the oldest. */
export function startable(fleet: Fleet, stages: ReadonlyMap<Task, Stage>, clock: Clock): Startable[] {
  const { jobs, maxAlive, perEngine } = fleet.limits
  const load = loadOf(fleet, stages)
  const chosen: Startable[] = []
  for (const one of candidates(fleet, stages, clock)) {
    if (load.busy >= jobs || load.alive >= maxAlive) break
    const limit = perEngine[one.task.spec.engine] ?? Infinity
    if ((load.perEngine.get(one.task.spec.engine) ?? 0) >= limit) continue
    if (isProbeTaken(fleet, one.task, clock, chosen)) continue
    add(load, one.task)
    chosen.push(one)
  }
  return chosen
}

function candidates(fleet: Fleet, stages: ReadonlyMap<Task, Stage>, clock: Clock): Startable[] {
  const all: Startable[] = []
  for (const [task, stage] of stages) {
    if (stage.is !== 'queued' && stage.is !== 'again') continue
    if (obstacleOf(fleet, task, stage, clock) === undefined) all.push({ task, stage })
  }
  return all.sort(
    (a, b) =>
      begun(b) - begun(a) ||
      b.task.spec.priority - a.task.spec.priority ||
      a.task.submitted.seq - b.task.submitted.seq,
  )
}

// A workspace that was just made is used before another one is begun.
const begun = ({ stage }: Startable): number => (stage.is === 'queued' && stage.wants === 'run' ? 1 : 0)

// While a limit may still hold, only one of its engine and account starts; the others see how it fares.
function isProbeTaken(fleet: Fleet, task: Task, clock: Clock, chosen: Startable[]): boolean {
  const key = accountKey(task.spec.engine, task.spec.account ?? '')
  const quota = fleet.quotas.get(key)
  if (quota === undefined) return false
  const probe = probeOf(fleet, quota)
  if (probe !== undefined && clock.awake >= probe.claimed.awake + probeMs) return false
  return chosen.some(({ task: other }) => accountKey(other.spec.engine, other.spec.account ?? '') === key)
}

/** Ready tasks of a project that may land, the next one first: by priority, then since when they are ready. */
export function landingQueue(fleet: Fleet, stages: ReadonlyMap<Task, Stage>): Map<string, Task[]> {
  const queues = new Map<string, Task[]>()
  for (const [task, stage] of stages) {
    if (stage.is !== 'ready' || !stage.wanted || stage.block !== undefined) continue
    if (shut(fleet, task) !== undefined || fleet.paused || policyOf(fleet, task) === undefined) continue
    const queue = queues.get(task.project) ?? []
    queue.push(task)
    queues.set(task.project, queue)
  }
  for (const queue of queues.values()) {
    queue.sort(landingOrder)
  }
  return queues
}

/** Whether nothing else of its project lands while it is so. */
export const holdsQueue = (stage: Stage): boolean =>
  stage.is === 'landing' ||
  (stage.is === 'ready' &&
    stage.wanted &&
    (stage.block?.code === 'target-red' || stage.block?.code === 'target'))

/**
 * Whether a task lands although `holder` holds the queue: what passed on the very commit that is red there makes the
 * target green again.
 */
export function mends({ workspace, verification }: Task, { landing }: Task): boolean {
  if (landing?.phase !== 'failed' || landing.failure.is !== 'target-red') return false
  const { gate, tip } = landing.failure
  const passed = verification?.is === 'ready' && verification.gates.includes(gate)
  return passed && workspace?.phase === 'ready' && workspace.base === tip
}

/** Which of two tasks lands first. */
export const landingOrder = (a: Task, b: Task): number =>
  b.spec.priority - a.spec.priority || readySeq(a) - readySeq(b)

const readySeq = (task: Task): number => task.verification?.since.seq ?? 0

/** The stage of every task whose life is not over. */
export function stagesOf(fleet: Fleet): Map<Task, Stage> {
  const stages = new Map<Task, Stage>()
  for (const task of liveTasks(fleet)) stages.set(task, stageOf(fleet, task))
  return stages
}
