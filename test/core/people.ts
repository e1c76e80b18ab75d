// What people do to a fleet: through items and verbs, as the daemon would let them.

import { type Item, openItems } from '../../src/core/attention.ts'
import { answerFacts, actionsOf } from '../../src/core/action.ts'
import { type Fact } from '../../src/core/event.ts'
import { liveTasks } from '../../src/core/fleet.ts'
import { statusOf } from '../../src/core/status.ts'
import { type Task, isBare, isGone, liveRun } from '../../src/core/task.ts'
import { plainRemoval } from '../../src/core/workspace.ts'
import { submitted } from './story.ts'
import { type Sim, say } from './simulate.ts'
import { fresh } from './world.ts'

const by = 'person'
const of = (task: Task): { project: string; task: string } => ({ project: task.project, task: task.name })

/** One thing that somebody does at a random moment. */
export function meddle(sim: Sim): void {
  const { random } = sim
  const fleet = sim.loop.fleet()
  const tasks = [...liveTasks(fleet)]
  const task = tasks.length > 0 ? random.pick(tasks) : undefined
  switch (random.below(12)) {
    case 0:
      if (task !== undefined) say(sim, [{ kind: 'task.stopped', by, ...of(task) }])
      return
    case 1:
      if (task !== undefined && liveRun(task) === undefined)
        say(sim, [{ kind: 'task.retried', by, ...of(task) }])
      return
    case 2:
      resumeAll(sim)
      return
    case 3:
      if (task !== undefined) remove(sim, task)
      return
    case 4:
      if (task !== undefined && statusOf(fleet, task, sim.loop.clock()).status === 'ready')
        say(sim, [{ kind: 'task.land-asked', by, ...of(task) }])
      return
    case 5:
      say(sim, [fleet.paused ? { kind: 'fleet.resumed', by } : { kind: 'fleet.paused', by }])
      return
    case 6:
      sim.world.target.push({ merge: fresh(sim.world, 'm'), commit: null })
      return
    case 7:
      sim.wallShift += random.pick([-3_600_000, -40_000, 40_000, 3_600_000, 600_000])
      return
    case 8:
      submitAgain(sim)
      return
    default:
      answer(sim)
  }
}

/** `berth resume`. */
export function resumeAll(sim: Sim): void {
  const fleet = sim.loop.fleet()
  const facts: Fact[] = [{ kind: 'admission.opened', by }]
  if (fleet.paused) facts.push({ kind: 'fleet.resumed', by })
  for (const task of liveTasks(fleet))
    if (task.awaitsResume || task.stopped !== undefined) facts.push({ kind: 'task.resumed', by, ...of(task) })
  say(sim, facts)
}

/** `berth rm`, with whatever flags. */
function remove(sim: Sim, task: Task): void {
  const { random } = sim
  const stop = random.chance(0.5)
  if (liveRun(task) !== undefined && !stop) return
  const mode = {
    ...plainRemoval,
    stop,
    save: random.chance(0.4),
    discard: random.chance(0.2),
    branch: random.chance(0.3),
  }
  say(sim, [
    isBare(task) ? { kind: 'task.dropped', by, ...of(task) } : { kind: 'teardown.asked', mode, ...of(task) },
  ])
}

// The name of a task whose life is over is used again.
function submitAgain(sim: Sim): void {
  const gone = [...sim.loop.fleet().tasks.values()].filter(isGone)
  if (gone.length === 0) return
  const task = sim.random.pick(gone)
  say(sim, [submitted(task.name, task.spec)])
}

/** Answers some open item. */
export function answer(sim: Sim): boolean {
  const open = openItems(sim.loop.fleet(), sim.loop.clock())
  if (open.length === 0) return false
  const item = sim.random.pick(open)
  const keys = actionsOf(item).map(({ key }) => key)
  say(sim, factsOf(item, keys.length > 0 ? sim.random.pick(keys) : null))
  return true
}

function factsOf(item: Item, key: string | null): Fact[] {
  const answered = answerFacts(item, key, by)
  if (answered.is === 'refused')
    throw new Error(`'${item.id}' refuses its own action '${key}': ${answered.reason}`)
  return answered.facts
}

/** Everything that is left is removed, its work saved first. */
export function removeAll(sim: Sim): void {
  const mode = { ...plainRemoval, stop: true, save: true }
  for (const task of liveTasks(sim.loop.fleet())) {
    if (isGone(task)) continue
    say(sim, [
      isBare(task) && liveRun(task) === undefined
        ? { kind: 'task.dropped', by, ...of(task) }
        : { kind: 'teardown.asked', mode, ...of(task) },
    ])
  }
}
