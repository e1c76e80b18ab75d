// Drives the real loop over a simulated world and clock: crashes it, restarts it, lets people meddle, and lets the host
// sleep, restart and jump in time. Everything follows from the seed.

import { type Decision, type Makes, decide } from '../../src/core/decide.ts'
import { type Effect } from '../../src/core/effect.ts'
import { type Event, type Fact } from '../../src/core/event.ts'
import { type Fleet, accountKey, apply, emptyFleet, replay } from '../../src/core/fleet.ts'
import { keyOf, latestRun } from '../../src/core/task.ts'
import { type HostClock, type Log, type Loop, startLoop } from '../../src/daemon/loop.ts'
import { type Act, actOf } from './acts.ts'
import { type Random, randomOf } from './random.ts'
import { type Process, type World, die, emptyWorld, exitFact, must, reboot, work } from './world.ts'

/** How far the effects that were to come next got when the crash came. */
export type Ahead = 'none' | 'half' | 'done' | 'random'

export type Sim = {
  seed: number
  random: Random
  world: World
  events: Event[]
  /** A second fold, that is never restarted. */
  shadow: Fleet
  /** The host's awake time, ms; what the wall clock is ahead of it; when and as which it was booted. */
  now: number
  wallShift: number
  bootedAt: number
  boot: string
  queue: { at: number; order: number; life?: number; run: () => void }[]
  order: number
  /** Each start of the loop is another life: what belongs to an earlier one is never heard of again. */
  life: number
  loop: Loop
  flights: Map<string, { effect: Effect; act: Act }>
  crashAt: number
  ahead: Ahead
  crashed: boolean
  crashes: number
  /** How many crashes are still to come. */
  crashesLeft: number
  /** Chance of a restart of the host at a crash. */
  reboots: number
  bugs: unknown[]
  ids: number
  scheduled: Set<string>
  overcommitted: boolean
}

const crash = new Error('crash')

export function simulate(seed: number, facts: readonly Fact[]): Sim {
  const random = randomOf(seed)
  const sim = {
    seed,
    random,
    world: emptyWorld(random),
    events: [],
    shadow: emptyFleet(),
    now: 1_000,
    wallShift: 1_700_000_000_000,
    bootedAt: 0,
    boot: 'boot1',
    queue: [],
    order: 0,
    life: 0,
    flights: new Map(),
    crashAt: Infinity,
    ahead: 'random',
    crashed: false,
    crashes: 0,
    crashesLeft: 0,
    reboots: 0.2,
    bugs: [],
    ids: 0,
    scheduled: new Set(),
    overcommitted: false,
  } as unknown as Sim
  sim.loop = live(sim, 'open')
  sim.loop.record(facts)
  return sim
}

export const makesOf = (sim: { ids: number }): Makes => ({
  runId: () => `r${++sim.ids}`,
  place: (_project, task) => ({
    path: `/w/${task.key}`,
    branch: `berth/${task.name}`,
    home: `/h/${task.key}`,
  }),
})

const hostOf = (sim: Sim): HostClock => ({
  wall: sim.now + sim.wallShift,
  monotonic: sim.now - sim.bootedAt,
  boot: sim.boot,
})

export function at(sim: Sim, ms: number, run: () => void, life?: number): void {
  sim.queue.push({ at: sim.now + ms, order: ++sim.order, run, ...(life === undefined ? {} : { life }) })
}

function live(sim: Sim, admission: 'open' | 'closed'): Loop {
  const life = ++sim.life
  const isOver = (): boolean => sim.life !== life || sim.crashed
  const log: Log = {
    state: () => JSON.parse(JSON.stringify(sim.events)) as Event[],
    append: (facts, stamp) => {
      if (isOver()) throw crash
      return facts.map(fact => append(sim, fact, stamp))
    },
  }
  const loop = startLoop({
    log,
    makes: makesOf(sim),
    host: () => hostOf(sim),
    timers: {
      set: (run, ms) => {
        const entry = { at: sim.now + ms, order: ++sim.order, life, run }
        sim.queue.push(entry)
        return entry
      },
      clear: timer => {
        sim.queue = sim.queue.filter(entry => entry !== timer)
      },
    },
    version: '1',
    pid: life,
    admission,
    onBug: error => {
      if (!isOver()) sim.bugs.push(error)
    },
    perform: (effect, context) => perform(sim, life, effect, context),
  })
  loop.onEvent(event => {
    if (event.kind === 'run.started' || event.kind === 'question.answered')
      at(sim, 1, () => observe(sim, event.run), life)
  })
  for (const task of loop.fleet().tasks.values()) {
    const run = latestRun(task)
    if (run !== undefined) at(sim, 1 + sim.random.below(50), () => observe(sim, run.id), life)
  }
  return loop
}

function append(sim: Sim, fact: Fact & { because?: number }, stamp: { at: number; awake: number }): Event {
  if (sim.crashed) throw crash
  const event: Event = { ...fact, seq: sim.events.length + 1, host: 'h', ...stamp }
  must(stamp.awake >= (sim.events.at(-1)?.awake ?? 0), 'the awake clock goes back')
  check(sim, event)
  sim.events.push(event)
  apply(sim.shadow, JSON.parse(JSON.stringify(event)) as Event)
  if (event.kind === 'question.answered' || event.kind === 'task.withdrawn' || event.kind === 'run.reported')
    sim.overcommitted = true
  if (sim.events.length >= sim.crashAt) {
    sim.crashed = true
    throw crash
  }
  return event
}

// What must hold at the moment of a start, whatever was decided.
function check(sim: Sim, event: Event): void {
  if (event.kind !== 'run.claimed') return
  const account = accountKey(event.engine, event.account ?? '')
  const quota = sim.shadow.quotas.get(account)
  must(quota === undefined || quota.until <= event.at, `a run starts while its engine is held: ${event.task}`)
  must(!sim.shadow.signedOut.has(account), `a run starts while its engine is signed out: ${event.task}`)
  const task = sim.shadow.tasks.get(keyOf(event))
  must(
    task?.again === true || task?.verification?.is !== 'ready',
    `an attempt that nobody asked for follows on ready work: ${event.task}`,
  )
  const alive = [...sim.world.processes.values()].filter(process => process.alive)
  const busy = alive.filter(process => !process.waiting).length
  must(sim.overcommitted || busy < sim.shadow.limits.jobs, `more runs than slots: ${event.task}`)
  must(alive.length < sim.shadow.limits.maxAlive, `more runs alive than may be: ${event.task}`)
}

async function perform(
  sim: Sim,
  life: number,
  effect: Effect,
  { fleet, record, signal }: Parameters<Parameters<typeof startLoop>[0]['perform']>[1],
): Promise<Fact[]> {
  if (sim.life !== life || sim.crashed) return new Promise(() => {})
  const act = refusing(sim, () =>
    actOf(sim.world, fleet, effect, () => ({ wall: hostOf(sim).wall, awake: sim.now })),
  )
  sim.flights.set(effect.key, { effect, act })
  for (;;) {
    await new Promise<void>(resolve => at(sim, 1 + sim.random.below(400), resolve, life))
    const step = proceed(sim, act)
    if (step.done === true) {
      sim.flights.delete(effect.key)
      return step.value
    }
    record(step.value)
    if (signal.aborted) {
      sim.flights.delete(effect.key)
      return []
    }
  }
}

// The loop takes an effect that throws for a failure of its task; here it is what the world refuses, and ends the story.
function refusing<T>(sim: Sim, act: () => T): T {
  try {
    return act()
  } catch (error) {
    sim.bugs.push(error)
    throw error
  }
}

function proceed(sim: Sim, act: Act): IteratorResult<Fact[], Fact[]> {
  const step = refusing(sim, () => act.next())
  for (const process of sim.world.processes.values()) {
    if (sim.scheduled.has(process.run)) continue
    sim.scheduled.add(process.run)
    at(sim, process.attempt.ms / 2, () => halfWay(sim, process))
  }
  return step
}

function halfWay(sim: Sim, process: Process): void {
  if (!process.alive) return
  work(sim.world, process)
  if (process.attempt.asks && process.attempt.ends !== 'limited') {
    process.waiting = true
    process.asked = true
  } else {
    at(sim, process.attempt.ms / 2, () => ends(sim, process))
  }
  at(sim, 1, () => observe(sim, process.run))
}

function ends(sim: Sim, process: Process): void {
  if (!process.alive) return
  const { ends: how } = process.attempt
  die(process, how === 'vanishes' ? undefined : { code: how === 'well' ? 0 : 1, signal: null, killed: false })
  at(sim, 1, () => observe(sim, process.run))
}

// The daemon's eyes: what it sees of a run, it records once.
function observe(sim: Sim, id: string): void {
  const process = sim.world.processes.get(id)
  const task = sim.loop.fleet().tasks.get(sim.loop.fleet().runs.get(id)?.key ?? '')
  const run = task?.runs.find(one => one.id === id)
  if (
    task === undefined ||
    run === undefined ||
    (run.state.phase !== 'alive' && run.state.phase !== 'ending')
  )
    return
  const of = { project: task.project, task: task.name, run: id }
  if (process === undefined || !process.alive) {
    say(sim, [
      process?.exit === undefined
        ? { kind: 'run.lost', reason: 'no exit record', ...of }
        : exitFact(process, of, hostOf(sim)),
    ])
    return
  }
  if (!process.asked) return
  const question = run.questions[0]
  if (question === undefined)
    say(sim, [{ kind: 'question.asked', question: { id: 'q', text: 'which?', choices: ['a', 'b'] }, ...of }])
  else if (question.state !== 'open' && process.waiting) {
    process.waiting = false
    at(sim, process.attempt.ms / 2, () => ends(sim, process))
  }
}

/** Records as someone from outside would; nobody hears it if the loop has just died. */
export function say(sim: Sim, facts: readonly Fact[]): void {
  try {
    sim.loop.record(facts)
  } catch (error) {
    if (error !== crash) throw error
  }
}

/** Lets time pass until nothing is left to happen, or `limitMs` later. Restarts the loop where it crashed. */
export async function pass(sim: Sim, limitMs = Infinity): Promise<void> {
  const until = sim.now + limitMs
  for (let steps = 0; ; steps++) {
    must(steps < 20_000, 'it never comes to rest')
    await new Promise(resolve => setImmediate(resolve))
    if (sim.bugs.length > 0) throw sim.bugs[0]
    if (sim.crashed) {
      restart(sim)
      continue
    }
    const next = sim.queue.reduce<Sim['queue'][number] | undefined>(
      (first, entry) =>
        first === undefined || entry.at < first.at || (entry.at === first.at && entry.order < first.order)
          ? entry
          : first,
      undefined,
    )
    if (next === undefined || next.at > until) break
    sim.queue = sim.queue.filter(entry => entry !== next)
    sim.now = Math.max(sim.now, next.at)
    next.run()
  }
  if (limitMs !== Infinity) sim.now = until
}

// The loop is dead. What it had begun got some way or other; then it is started again, perhaps on a restarted host.
function restart(sim: Sim): void {
  const { random } = sim
  sim.crashes += 1
  crashLater(sim)
  sim.queue = sim.queue.filter(entry => entry.life === undefined)
  const flights = [...sim.flights.values()]
  sim.flights.clear()
  for (const { act } of flights) runOn(sim, act)
  const begun = new Set(flights.map(({ effect }) => effect.key))
  const fleet = replay(JSON.parse(JSON.stringify(sim.events)) as Event[])
  for (const effect of nextOf(sim, fleet).effects) {
    if (effect.claim !== undefined || begun.has(effect.key)) continue
    runOn(
      sim,
      actOf(sim.world, fleet, effect, () => ({ wall: hostOf(sim).wall, awake: sim.now })),
    )
  }
  if (random.chance(sim.reboots)) {
    reboot(sim.world)
    sim.boot = `boot${sim.life + 1}`
    sim.bootedAt = sim.now
    sim.now += 10
  }
  sim.crashed = false
  try {
    sim.loop = live(sim, random.chance(0.15) ? 'closed' : 'open')
  } catch (error) {
    if (error !== crash) throw error
  }
}

/** Sets the next crash, if there is to be one, at some fact to come. */
export function crashLater(sim: Sim): void {
  sim.crashAt = sim.crashesLeft > 0 ? sim.events.length + 1 + sim.random.below(50) : Infinity
  sim.crashesLeft -= 1
}

const nextOf = (sim: Sim, fleet: Fleet): Decision =>
  decide(
    fleet,
    {
      wall: hostOf(sim).wall,
      awake: Math.max(fleet.last?.awake ?? 0, sim.now - sim.bootedAt + fleet.offset),
    },
    makesOf({ ids: 1e9 }),
  )

function runOn(sim: Sim, act: Act): void {
  const steps = { none: 0, half: 1, done: 20, random: sim.random.below(6) }[sim.ahead]
  for (let i = 0; i < steps; i++) if (proceed(sim, act).done === true) return
}
