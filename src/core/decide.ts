// What should happen next, from the whole state alone, and when to ask again. It does not look at what woke it:
// a missed or a repeated wake-up changes nothing.

import { type Clock } from './clock.ts'
import { type Deadline, type Effect, type EndWhy } from './effect.ts'
import { type Fact, type RunId } from './event.ts'
import { type Fleet, type Project, policyOf } from './fleet.ts'
import { targetOf } from './ready.ts'
import { type Run, isWaiting, workedMs } from './run.ts'
import {
  type Startable,
  holdsQueue,
  landingQueue,
  mends,
  obstacleOf,
  shut,
  stagesOf,
  startable,
} from './schedule.ts'
import { type Stage } from './stage.ts'
import { type Task, latestRun } from './task.ts'

/** What only the caller can make up: random ids, and where a workspace is to be. */
export type Makes = {
  runId(): RunId
  place(project: Project, task: Task): { path: string; branch: string; home: string }
}

export type Decision = { effects: Effect[]; deadline: Deadline }

export function decide(fleet: Fleet, clock: Clock, makes: Makes): Decision {
  const stages = stagesOf(fleet)
  const effects: Effect[] = []
  for (const [task, stage] of stages) {
    const effect = proceed(fleet, task, stage, clock)
    if (effect !== undefined) effects.push(effect)
  }
  for (const chosen of startable(fleet, stages, clock)) effects.push(begin(fleet, chosen, makes))
  effects.push(...land(fleet, stages, clock))
  return { effects, deadline: deadlineOf(fleet, stages, clock) }
}

/** Whether an effect that is under way is no longer wanted, so that it is cancelled. */
export function isUnwanted(fleet: Fleet, effect: Effect): boolean {
  if (effect.do !== 'prepare' && effect.do !== 'verify') return false
  const task = fleet.tasks.get(`${effect.project}/${effect.task}`)
  return (
    task === undefined ||
    task.stopped !== undefined ||
    task.dropped !== undefined ||
    task.removal?.phase === 'asked'
  )
}

// The next step of a task that needs no slot, or has one.
function proceed(fleet: Fleet, task: Task, stage: Stage, clock: Clock): Effect | undefined {
  const of = { project: task.project, task: task.name }
  switch (stage.is) {
    case 'removing': {
      const effect: Effect = { key: `teardown:${task.key}`, do: 'teardown', mode: stage.mode, ...of }
      return stage.claim ? { ...effect, claim: { kind: 'teardown.asked', mode: stage.mode, ...of } } : effect
    }
    case 'landing':
      return landingStep(task, stage)
    case 'alive':
      return withRun(fleet, task, stage, clock)
    case 'collecting':
      return { key: `collect:${task.key}`, do: 'collect', run: stage.run.id, ...of }
    case 'preparing':
      return shut(fleet, task) === undefined
        ? { key: `prepare:${task.key}`, do: 'prepare', ...of }
        : undefined
    case 'verifying':
      if (shut(fleet, task) !== undefined) return undefined
      return { key: `verify:${task.key}`, do: 'verify', commit: stage.commit, ...of }
    default:
      return undefined
  }
}

function withRun(fleet: Fleet, task: Task, stage: Stage & { is: 'alive' }, clock: Clock): Effect | undefined {
  const { run } = stage
  const of = { project: task.project, task: task.name, run: run.id }
  const why = stage.end ?? overLimit(fleet, task, run, clock)
  if (why !== undefined) {
    const effect: Effect = { key: `end:${task.key}`, do: 'end', why, ...of }
    return run.state.phase === 'ending' ? effect : { ...effect, claim: { kind: 'run.ending', why, ...of } }
  }
  if (run.state.phase !== 'claimed') return undefined
  return { key: `start:${task.key}`, do: 'start', adopt: shut(fleet, task) !== undefined, ...of }
}

function overLimit(fleet: Fleet, task: Task, run: Run, clock: Clock): EndWhy | undefined {
  if (run.state.phase !== 'alive') return undefined
  if (isOverBudget(task)) return 'budget'
  const limit = timeoutOf(fleet, task)
  return limit !== undefined && workedMs(run, clock.awake) >= limit ? 'timeout' : undefined
}

function isOverBudget(task: Task): boolean {
  const { budget } = task.spec
  if (budget === undefined) return false
  const since = task.retried?.seq ?? 0
  let usd = 0
  let tokens = 0
  for (const { usage, claimed } of task.runs) {
    if (claimed.seq < since) continue
    usd += usage.usd
    tokens += usage.inputTokens + usage.outputTokens
  }
  return (
    (budget.usd !== undefined && usd >= budget.usd) ||
    (budget.tokens !== undefined && tokens >= budget.tokens)
  )
}

const timeoutOf = (fleet: Fleet, task: Task): number | undefined =>
  task.spec.timeoutMs ?? policyOf(fleet, task)?.timeoutMs

function begin(fleet: Fleet, { task, stage }: Startable, makes: Makes): Effect {
  const of = { project: task.project, task: task.name }
  if (stage.is === 'queued' && stage.wants === 'workspace') {
    const place = makes.place(fleet.projects.get(task.project) as Project, task)
    const claim = { kind: 'workspace.claimed', ...place, ...of } as const
    return { key: `prepare:${task.key}`, do: 'prepare', claim, ...of }
  }
  const run = makes.runId()
  return { key: `start:${task.key}`, do: 'start', run, adopt: false, claim: claimOf(task, run), ...of }
}

function claimOf(task: Task, run: RunId): Fact {
  const { engine, model, account } = task.spec
  const before = latestRun(task)
  return {
    kind: 'run.claimed',
    project: task.project,
    task: task.name,
    run,
    engine,
    attempt: (before?.attempt ?? 0) + 1,
    ...(model === undefined ? {} : { model }),
    ...(account === undefined ? {} : { account }),
    ...(before?.session === undefined ? {} : { resume: before.session }),
  }
}

function landingStep(task: Task, { landing }: Stage & { is: 'landing' }): Effect {
  const of = { project: task.project, task: task.name, commit: landing.commit }
  if (landing.phase === 'tested') {
    return { key: `land:${task.key}`, do: 'land', tip: landing.tip, merge: landing.merge, ...of }
  }
  return {
    key: `integrate:${task.key}`,
    do: 'integrate',
    approved: isProtectedApproved(task, landing.commit),
    ...of,
  }
}

const isProtectedApproved = (task: Task, commit: string): boolean =>
  task.approved.some(approval => approval.commit === commit && approval.what === 'protected')

// One task of a project lands at a time, so that what was tested is what lands. A target that is itself red, or was
// rewritten, holds the queue, apart from what mends it: nobody is blamed for it.
function land(fleet: Fleet, stages: ReadonlyMap<Task, Stage>, clock: Clock): Effect[] {
  const holders = [...stages].flatMap(([task, stage]) => (holdsQueue(stage) ? [task] : []))
  const effects: Effect[] = []
  for (const [project, queue] of landingQueue(fleet, stages)) {
    const held = holders.filter(holder => holder.project === project)
    const free = queue.filter(ready => held.every(holder => mends(ready, holder)))
    const task = free.find(ready => isDue(stages.get(ready), clock))
    const stage = task && stages.get(task)
    if (task === undefined || stage?.is !== 'ready') continue
    const { commit } = stage.verification
    const of = { project: task.project, task: task.name, commit }
    const target = targetOf(fleet, task)
    const approved = isProtectedApproved(task, commit)
    effects.push({
      key: `integrate:${task.key}`,
      do: 'integrate',
      approved,
      claim: { kind: 'landing.claimed', target, ...of },
      ...of,
    })
  }
  return effects
}

const isDue = (stage: Stage | undefined, clock: Clock): boolean =>
  stage?.is === 'ready' && stage.at <= clock.awake

function deadlineOf(fleet: Fleet, stages: ReadonlyMap<Task, Stage>, clock: Clock): Deadline {
  const walls: number[] = []
  const awakes: number[] = []
  for (const [task, stage] of stages) {
    if (stage.is === 'queued' || stage.is === 'again') {
      const obstacle = obstacleOf(fleet, task, stage, clock)
      if (obstacle?.awake !== undefined) awakes.push(obstacle.awake)
      else if (obstacle?.until !== undefined) walls.push(obstacle.until)
    } else if (stage.is === 'ready' && stage.at > clock.awake) {
      awakes.push(stage.at)
    } else if (
      stage.is === 'alive' &&
      stage.end === undefined &&
      stage.run.state.phase === 'alive' &&
      !isWaiting(stage.run)
    ) {
      const limit = timeoutOf(fleet, task)
      if (limit !== undefined)
        awakes.push(clock.awake + Math.max(0, limit - workedMs(stage.run, clock.awake)))
    }
  }
  return {
    ...(walls.length > 0 ? { wall: Math.min(...walls) } : {}),
    ...(awakes.length > 0 ? { awake: Math.min(...awakes) } : {}),
  }
}
