// When a call is over and how it exits: judged over its tasks (docs/decisions/0024, 0027).

import { items } from './attention.ts'
import { type Clock } from './clock.ts'
import { type Fleet } from './fleet.ts'
import { isWaiting } from './run.ts'
import { isMet, loadOf, obstacleOf, shut, stagesOf, startable, unmet } from './schedule.ts'
import { stageOf } from './stage.ts'
import { statusOf } from './status.ts'
import { type Task } from './task.ts'

/** Whether none of these tasks can go on without a person. */
export function restsFor(fleet: Fleet, tasks: readonly Task[], clock: Clock): boolean {
  return tasks.every(task => rests(fleet, task, clock))
}

/** Whether a task cannot go on without a person, or has nowhere to go on to. */
export function rests(
  fleet: Fleet,
  task: Task,
  clock: Clock,
  seen: ReadonlySet<string> = new Set(),
): boolean {
  const stage = stageOf(fleet, task)
  switch (stage.is) {
    case 'gone':
    case 'left':
    case 'stopped':
    case 'failed':
    case 'held':
    case 'decide':
      return true
    case 'removing':
    case 'landing':
    case 'collecting':
      return false
    case 'alive':
      return stage.end === undefined && isWaiting(stage.run)
    case 'preparing':
    case 'verifying':
      return shut(fleet, task) !== undefined
    case 'ready': {
      const { waitsFor } = statusOf(fleet, task, clock)
      return waitsFor !== 'landing'
    }
    case 'queued':
    case 'again': {
      const obstacle = obstacleOf(fleet, task, stage, clock)
      if (obstacle === undefined) return isStarved(fleet, clock)
      if (obstacle.waitsFor === 'person') return true
      return obstacle.waitsFor === 'dependency' && restsBehind(fleet, task, clock, seen)
    }
  }
}

/** Whether a task would go on by itself if a loop ran that starts what may start. */
export function wouldGoOn(fleet: Fleet, task: Task, clock: Clock): boolean {
  const open: Fleet = { ...fleet, admission: 'open' }
  const stage = stageOf(open, task)
  if (stage.is !== 'queued' && stage.is !== 'again') return !rests(open, task, clock)
  const obstacle = obstacleOf(open, task, stage, clock)
  return obstacle === undefined || (obstacle.waitsFor !== 'person' && !rests(open, task, clock))
}

function restsBehind(fleet: Fleet, task: Task, clock: Clock, seen: ReadonlySet<string>): boolean {
  if (seen.has(task.key)) return true
  const next = new Set(seen).add(task.key)
  return unmet(fleet, task).tasks.some(other => !isMet(other) && rests(fleet, other, clock, next))
}

// All that is alive waits for a person, and no more may be: no slot comes free by itself.
function isStarved(fleet: Fleet, clock: Clock): boolean {
  const stages = stagesOf(fleet)
  return loadOf(fleet, stages).busy === 0 && startable(fleet, stages, clock).length === 0
}

/** Exit code of `run` over its tasks: 1 one failed, 3 something of theirs needs a person, 0 all well. */
export function exitOf(fleet: Fleet, tasks: readonly Task[], clock: Clock): 0 | 1 | 3 {
  if (tasks.some(task => statusOf(fleet, task, clock).status === 'failed')) return 1
  const open = items(fleet, clock)
  const isOf = (task: Task): boolean =>
    open.some(
      item =>
        // An item of the whole fleet, like a full disk, is of no project.
        (item.project === task.project || item.project === '') &&
        (item.task === task.name || item.blocks.includes(task.name)),
    )
  return tasks.some(isOf) ? 3 : 0
}
