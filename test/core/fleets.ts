// One whole story from a seed: a random fleet, people and accidents, crashes, and then that all of it comes to rest.

import { isDeepStrictEqual } from 'node:util'
import { type Event, type Fact } from '../../src/core/event.ts'
import { openItems } from '../../src/core/attention.ts'
import { type Fleet, liveTasks, replay, tasksOf } from '../../src/core/fleet.ts'
import { restsFor } from '../../src/core/exit.ts'
import { statusOf } from '../../src/core/status.ts'
import { stageOf } from '../../src/core/stage.ts'
import { answer, meddle, removeAll, resumeAll } from './people.ts'
import { randomOf } from './random.ts'
import { configured, project, scriptOf, specOf, submitted } from './story.ts'
import { type Ahead, type Sim, at, crashLater, pass, simulate } from './simulate.ts'
import { lostEdits, must } from './world.ts'

/** Plays the story of a seed to its end; throws, naming the seed, where something is not as it must be. */
export async function play(seed: number): Promise<Sim> {
  const random = randomOf(seed ^ 0x5eed)
  const sim = begin(seed)
  try {
    sim.crashesLeft = random.below(6)
    crashLater(sim)
    for (let deeds = random.below(10); deeds > 0; deeds--) at(sim, random.below(200_000), () => meddle(sim))
    await pass(sim)
    rested(sim)
    await settle(sim)
    ended(sim)
    return sim
  } catch (error) {
    throw told(sim, error)
  }
}

/** Plays the quiet story of a seed (no meddling) once per fact, with a crash after it; gives the number of crashes. */
export async function playEveryCrash(seed: number, ahead: Ahead): Promise<number> {
  for (let fact = 1; ; fact++) {
    const sim = begin(seed)
    sim.ahead = ahead
    sim.crashAt = sim.events.length + fact
    try {
      await pass(sim)
      rested(sim)
      if (sim.crashes === 0) return fact - 1
      await settle(sim)
      ended(sim)
    } catch (error) {
      throw told(sim, error, ` crashed after fact ${sim.events.length} with the next effect '${ahead}'`)
    }
  }
}

function told(sim: Sim, error: unknown, where = ''): Error {
  const last = sim.events
    .slice(-25)
    .map(
      event => `${event.seq} ${event.awake} ${JSON.stringify({ ...event, at: undefined, host: undefined })}`,
    )
  const what = error instanceof Error ? error.stack : String(error)
  return new Error(
    `seed ${sim.seed}${where}, ${sim.events.length} facts: ${what}\n${last.join('\n').slice(0, 6_000)}`,
    { cause: error },
  )
}

export function begin(seed: number): Sim {
  const random = randomOf(seed)
  const jobs = 1 + random.below(3)
  const facts: Fact[] = [
    ...configured,
    { kind: 'limits.set', limits: { jobs, maxAlive: jobs * 3, perEngine: {} } },
  ]
  const sim = simulate(seed, facts)
  const names = ['one', 'two', 'three', 'four', 'five'].slice(0, 1 + random.below(5))
  for (const [index, name] of names.entries()) {
    const spec = specOf(random, names.slice(0, index))
    sim.world.scripts.set(`${project}/${name}`, scriptOf(random, spec))
    sim.loop.record([submitted(name, spec)])
  }
  return sim
}

/** Nothing is left to happen: then every task waits for a person, or is done, and says so. */
export function rested(sim: Sim): void {
  const fleet = sim.loop.fleet()
  const clock = sim.loop.clock()
  for (const task of liveTasks(fleet)) {
    const status = statusOf(fleet, task, clock)
    must(
      status.status !== 'landed' || stageOf(fleet, task).is === 'left',
      `'${task.name}' is landed and not cleaned up`,
    )
    must(
      restsFor(fleet, [task], clock),
      `'${task.name}' stands still: ${JSON.stringify(status)} ${stageOf(fleet, task).is}`,
    )
  }
  agrees(sim)
}

function agrees(sim: Sim): void {
  const live = plain(sim.loop.fleet())
  must(
    isDeepStrictEqual(live, plain(replay(JSON.parse(JSON.stringify(sim.events)) as Event[]))),
    'a replay of the log differs from the live state',
  )
  must(isDeepStrictEqual(live, plain(sim.shadow)), 'the state differs from one that was never restarted')
  must(
    sim.events.every((event, index) => event.seq === index + 1),
    'seq has gaps',
  )
}

const plain = (fleet: Fleet): unknown =>
  JSON.parse(
    JSON.stringify(fleet, (_key, value: unknown) =>
      value instanceof Map || value instanceof Set ? [...value] : value,
    ),
  )

/** The accidents are over; people go on until nothing is open, and clear up what is left. */
export async function settle(sim: Sim): Promise<void> {
  sim.world.rough = false
  for (let round = 0; round < 60; round++) {
    resumeAll(sim)
    await pass(sim)
    if (!answer(sim)) break
    await pass(sim)
  }
  rested(sim)
  const fleet = sim.loop.fleet()
  must(
    openItems(fleet, sim.loop.clock()).length === 0,
    `items stay open: ${openItems(fleet, sim.loop.clock())
      .map(({ id }) => id)
      .join(', ')}`,
  )
  for (let round = 0; round < 10 && sim.loop.fleet().live.size > 0; round++) {
    removeAll(sim)
    await pass(sim)
    resumeAll(sim)
    await pass(sim)
  }
}

/** Nothing is left behind, nothing was done twice, nothing is lost. */
export function ended(sim: Sim): void {
  const { world } = sim
  const fleet = sim.loop.fleet()
  agrees(sim)
  for (const task of tasksOf(fleet, {}))
    must(
      !fleet.live.has(task.key),
      `'${task.name}' is left: ${statusOf(fleet, task, sim.loop.clock()).reason}`,
    )
  must(world.trees.size === 0, `worktrees are left: ${[...world.trees.keys()].join(', ')}`)
  const alive = [...world.processes.values()].filter(process => process.alive)
  must(alive.length === 0, `runs are left alive: ${alive.map(({ run }) => run).join(', ')}`)
  const landed = world.target.flatMap(({ commit }) =>
    commit === null || !world.commits.has(commit) ? [] : [commit],
  )
  must(new Set(landed).size === landed.length, 'a commit is on the target twice')
  const lost = lostEdits(world)
  must(lost.length === 0, `work is lost: ${lost.join(', ')}`)
}
