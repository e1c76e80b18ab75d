// Observe, record, apply, decide, perform: the only writer of the log. One batch at a time.

import { items } from '../core/attention.ts'
import { type Clock, offsetOf, sleepMs, timerMs } from '../core/clock.ts'
import { type Makes, decide, isUnwanted } from '../core/decide.ts'
import { type Deadline, type Effect } from '../core/effect.ts'
import { BerthError } from '../core/errors.ts'
import { type Event, type Fact } from '../core/event.ts'
import { type Fleet, apply, itemKey, replay } from '../core/fleet.ts'
import { restartedFacts } from '../core/restart.ts'
import { type Task } from '../core/task.ts'
import { failureOf } from './failure.ts'

/** What an effect may use. `record` is durable when it returns; facts of an effect under way go through it. */
export type PerformContext = { fleet: Fleet; signal: AbortSignal; record(facts: readonly Fact[]): Event[] }

/**
 * Does one effect and returns the facts that end it. It never throws for what the world does to it. Cancelled by
 * its signal it returns what is so by then, or nothing: it is asked again if it is still wanted.
 */
export type Perform = (effect: Effect, context: PerformContext) => Promise<Fact[]>

/** The part of the store that the loop needs. */
export type Log = {
  append(facts: readonly (Fact & { because?: number })[], stamp: { at: number; awake: number }): Event[]
  state(): Iterable<Event>
  reserveUsed?(): boolean
}

export type Timers = { set(run: () => void, ms: number): unknown; clear(timer: unknown): void }

/** `monotonic`: the host's own awake clock, ms; `boot`: which boot it counts from. */
export type HostClock = { wall: number; monotonic: number; boot: string }

export type LoopOptions = {
  log: Log
  perform: Perform
  makes: Makes
  host(): HostClock
  timers: Timers
  version: string
  pid: number
  admission: 'open' | 'closed'
  /** Told of what should not happen: a listener that threw, a batch that failed. The loop goes on. */
  onBug(error: unknown): void
}

export type Loop = {
  fleet(): Fleet
  clock(): Clock
  /** Durable when it returns, if there is a state fact among them. Throws BerthError `disk-full`: none was recorded. */
  record(facts: readonly Fact[], because?: number): Event[]
  /** Called after the fact is applied, in order. Returns how to stop listening. */
  onEvent(listener: (event: Event) => void): () => void
  /** The effects under way. */
  inFlight(): Effect[]
  /** Until no effect is under way and none is about to be; it does not wait for deadlines. */
  idle(): Promise<void>
  /** Begins nothing more, cancels what is under way and waits for it, at most `limitMs`. Nothing is recorded after. */
  stop(options: { reason: string; limitMs: number }): Promise<void>
}

type Flight = { effect: Effect; abort: AbortController; done: Promise<void> }

/** An effect that came back without having changed anything: not asked again before `at` (awake ms). */
type Resting = { key: string; tries: number; task: Task | undefined; at: number }

type State = {
  options: LoopOptions
  fleet: Fleet
  flights: Map<string, Flight>
  resting: Map<string, Resting>
  listeners: Set<(event: Event) => void>
  unheard: Event[]
  drift?: number
  timer?: unknown
  woken: boolean
  stopping: boolean
  stopped: boolean
}

/** Facts that could not be recorded for want of space are tried again after this long. */
const fullRetryMs = 5_000

export function startLoop(options: LoopOptions): Loop {
  const fleet = replay(options.log.state())
  const state: State = {
    options,
    fleet,
    flights: new Map(),
    resting: new Map(),
    listeners: new Set(),
    unheard: [],
    woken: false,
    stopping: false,
    stopped: false,
  }
  begin(state)
  wake(state)
  return {
    fleet: () => fleet,
    clock: () => clockNow(state),
    record: (facts, because) => {
      const events = note(state, facts, because)
      wake(state)
      return events
    },
    onEvent: listener => {
      state.listeners.add(listener)
      return () => state.listeners.delete(listener)
    },
    inFlight: () => [...state.flights.values()].map(({ effect }) => effect),
    idle: () => idle(state),
    stop: how => stop(state, how),
  }
}

// The first facts of a loop. After a restart of the host, attempts that were alive are closed first, so that a crash
// in between finds the old boot again (docs/decisions/0025).
function begin(state: State): void {
  const { fleet, options } = state
  const { boot, monotonic } = options.host()
  const offset = offsetOf(fleet, { boot, monotonic })
  const facts = restartedFacts(fleet, boot)
  const { version, pid, admission } = options
  facts.push({ kind: 'loop.started', boot, offset, version, pid, admission })
  fleet.offset = offset
  note(state, facts)
}

function clockNow({ fleet, options }: State): Clock {
  const { wall, monotonic } = options.host()
  return { wall, awake: Math.max(fleet.last?.awake ?? 0, monotonic + fleet.offset) }
}

function note(state: State, facts: readonly Fact[], because?: number): Event[] {
  if (facts.length === 0 || state.stopped) return []
  const { wall, awake } = clockNow(state)
  const caused = because === undefined ? facts : facts.map(fact => ({ ...fact, because }))
  const events = state.options.log.append(caused, { at: wall, awake })
  for (const event of events) apply(state.fleet, event)
  tell(state, events)
  return events
}

// Listeners hear every fact in order, also those that a listener itself makes come about.
function tell(state: State, events: readonly Event[]): void {
  const telling = state.unheard.length > 0
  state.unheard.push(...events)
  if (telling) return
  for (let event = state.unheard[0]; event !== undefined; event = state.unheard[0]) {
    for (const listener of state.listeners) {
      try {
        listener(event)
      } catch (error) {
        state.options.onBug(error)
      }
    }
    state.unheard.shift()
  }
}

function wake(state: State): void {
  if (state.woken || state.stopping) return
  state.woken = true
  queueMicrotask(() => {
    state.woken = false
    if (!state.stopping) settle(state)
  })
}

// One batch: what follows from all that has been recorded.
function settle(state: State): void {
  const { fleet, options } = state
  try {
    watch(state)
    for (const { effect, abort } of state.flights.values()) if (isUnwanted(fleet, effect)) abort.abort()
    const clock = clockNow(state)
    const { effects, deadline } = decide(fleet, clock, options.makes)
    const due = effects.filter(
      effect => !state.flights.has(taskOf(effect)) && !isResting(state, effect, clock),
    )
    launch(state, due)
    attend(state, clock)
    setTimer(state, deadline, clock)
  } catch (error) {
    if (!isFull(error)) state.options.onBug(error)
    setTimer(state, { awake: clockNow(state).awake + fullRetryMs }, clockNow(state))
  }
}

// Notes a sleep of the host, and a disk so full that the reserve was given up.
function watch(state: State): void {
  const { wall, awake } = clockNow(state)
  const drift = wall - awake
  const slept = state.drift === undefined ? 0 : drift - state.drift
  state.drift = drift
  if (slept > sleepMs) note(state, [{ kind: 'host.slept', ms: Math.round(slept) }])
  if (state.options.log.reserveUsed?.() === true && state.fleet.admission === 'open') {
    note(state, [{ kind: 'admission.closed', by: 'disk' }])
  }
}

const taskOf = (effect: Effect): string => `${effect.project}/${effect.task}`

function launch(state: State, effects: readonly Effect[]): void {
  const claims = effects.flatMap(({ claim }) => (claim === undefined ? [] : [claim]))
  const claimed = note(state, claims)
  let next = 0
  for (const effect of effects) {
    const claim = effect.claim === undefined ? undefined : claimed[next++]
    const abort = new AbortController()
    const flight: Flight = { effect, abort, done: Promise.resolve() }
    state.flights.set(taskOf(effect), flight)
    flight.done = fly(state, flight, claim?.seq)
  }
}

async function fly(state: State, { effect, abort }: Flight, because: number | undefined): Promise<void> {
  const { fleet, options } = state
  const before = fleet.tasks.get(taskOf(effect))
  const record = (facts: readonly Fact[]): Event[] => {
    const events = note(state, facts, because)
    wake(state)
    return events
  }
  let facts: Fact[]
  try {
    facts = await options.perform(effect, { fleet, signal: abort.signal, record })
  } catch (error) {
    facts = failureOf(effect, error)
  }
  await land(state, effect, facts, because)
  state.flights.delete(taskOf(effect))
  rest(state, effect, before)
  wake(state)
}

// What an effect found is never dropped for want of space: it is recorded as soon as there is some.
async function land(
  state: State,
  effect: Effect,
  facts: readonly Fact[],
  because: number | undefined,
): Promise<void> {
  for (;;) {
    try {
      note(state, facts, because)
      return
    } catch (error) {
      if (!isFull(error)) state.options.onBug(error)
      if (!isFull(error) || state.stopping) return
      await new Promise<void>(resolve => state.options.timers.set(resolve, fullRetryMs))
    }
  }
}

const isFull = (error: unknown): boolean => error instanceof BerthError && error.code === 'disk-full'

// An effect that came to nothing is asked again, but each time later.
function rest(state: State, effect: Effect, before: Task | undefined): void {
  const key = taskOf(effect)
  if (!state.fleet.live.has(key)) {
    state.resting.delete(key)
    return
  }
  const task = state.fleet.tasks.get(key)
  const last = state.resting.get(key)
  const tries = last?.key === effect.key ? last.tries + 1 : 1
  const isVain = task === before || tries > 8
  const pause = isVain ? Math.min(60_000, 250 * 2 ** Math.min(20, tries)) : 0
  state.resting.set(key, { key: effect.key, tries, task, at: clockNow(state).awake + pause })
}

function isResting(state: State, effect: Effect, clock: Clock): boolean {
  const resting = state.resting.get(taskOf(effect))
  if (resting === undefined || resting.key !== effect.key) return false
  return resting.task === state.fleet.tasks.get(taskOf(effect)) && clock.awake < resting.at
}

// Records what has come to need a person, and what no longer does.
function attend(state: State, clock: Clock): void {
  const { fleet } = state
  const open = items(fleet, clock)
  const facts: Fact[] = []
  const ids = new Set<string>()
  for (const { id, kind, task, project, reason } of open) {
    const key = itemKey({ project, item: id })
    ids.add(key)
    if (fleet.raised.has(key)) continue
    facts.push({
      kind: 'attention.raised',
      item: id,
      what: kind,
      reason,
      project,
      ...(task === null ? {} : { task }),
    })
  }
  for (const [key, { item, what, project, task }] of fleet.raised) {
    if (ids.has(key)) continue
    facts.push({
      kind: 'attention.cleared',
      item,
      what,
      by: 'state',
      project,
      ...(task === undefined ? {} : { task }),
    })
  }
  note(state, facts)
}

function setTimer(state: State, deadline: Deadline, clock: Clock): void {
  const { timers } = state.options
  if (state.timer !== undefined) timers.clear(state.timer)
  delete state.timer
  const waits = [...state.resting.values()].filter(({ at }) => at > clock.awake).map(({ at }) => at)
  const awake = Math.min(deadline.awake ?? Infinity, ...waits)
  const ms = timerMs({ ...deadline, ...(awake === Infinity ? {} : { awake }) }, clock)
  if (ms !== undefined) state.timer = timers.set(() => wake(state), ms)
}

async function idle(state: State): Promise<void> {
  while (state.woken || state.flights.size > 0) {
    await Promise.all([...state.flights.values()].map(({ done }) => done))
    await Promise.resolve()
  }
}

async function stop(state: State, { reason, limitMs }: { reason: string; limitMs: number }): Promise<void> {
  if (state.stopping) return
  state.stopping = true
  const { timers } = state.options
  if (state.timer !== undefined) timers.clear(state.timer)
  for (const { abort } of state.flights.values()) abort.abort()
  let limit: unknown
  const over = new Promise<void>(resolve => {
    limit = timers.set(resolve, limitMs)
  })
  await Promise.race([Promise.allSettled([...state.flights.values()].map(({ done }) => done)), over])
  timers.clear(limit)
  try {
    note(state, [{ kind: 'loop.stopped', reason }])
  } catch (error) {
    if (!isFull(error)) state.options.onBug(error)
  }
  state.stopped = true
}
