// The quiet clock of one run: silent for long while nobody is asked is a fact, and so is its first word after.

import { lenientMs, timerMaxMs } from '../core/clock.ts'
import { type Fact } from '../core/event.ts'
import { type Clock, type OfRun } from './shell.ts'

export type Quiet = {
  /** The run said something. */
  heard(): void
  /** Somebody let it go on: its silence counts from now. */
  reset(): void
  close(): void
}

export type QuietInput = {
  of: OfRun
  quietMs: number
  clock: Clock
  record: (facts: readonly Fact[]) => void
  /** Awake ms when the host last came back from sleep. */
  wokeAt: () => number | undefined
  /** It waits for an answer, or is being ended: then silence says nothing. */
  waits: () => boolean
  /** CPU time of all its processes, ms: a silent build is at work. */
  cpuMs: () => Promise<number | undefined>
  /** What it said last, as a person would see it. */
  lastWords: () => string
  /** It has a terminal: silent and idle there, it waits for what a person would type (docs/decisions/0029). */
  terminal: boolean
}

/** Busy: it used this share of the quiet time or more. */
const busyShare = 0.02

/**
 * One timer, set anew only when it has fired: output costs nothing. Time counts awake.
 */
export function openQuiet(input: QuietInput): Quiet {
  let last = input.clock.awake()
  let cpu: number | undefined
  let told = false
  let closed = false
  let timer: NodeJS.Timeout | undefined
  const report = (activity: 'quiet' | 'blocked' | 'working', note: string): void =>
    input.record([{ kind: 'run.reported', ...input.of, activity, note, from: 'clock' }])
  const arm = (ms: number): void => {
    clearTimeout(timer)
    timer = setTimeout(() => void look(), Math.min(ms, timerMaxMs))
    timer.unref()
  }
  const look = async (): Promise<void> => {
    const now = input.clock.awake()
    const woke = input.wokeAt()
    const due = Math.max(last + input.quietMs, woke === undefined ? 0 : woke + lenientMs)
    if (now < due) return arm(due - now)
    const used = await input.cpuMs()
    if (closed || told) return
    const busy = used !== undefined && used - (cpu ?? 0) >= input.quietMs * busyShare
    cpu = used
    if (busy || input.waits()) {
      last = now
      return arm(input.quietMs)
    }
    told = true
    const words = input.lastWords()
    if (input.terminal) return report('blocked', words)
    report(
      'quiet',
      `nothing was heard for ${Math.round((now - last) / 1_000)} s${words && `; last: ${words}`}`,
    )
  }
  arm(input.quietMs)
  return {
    heard: () => {
      last = input.clock.awake()
      if (told) report('working', '')
    },
    reset: () => {
      last = input.clock.awake()
      if (!told || closed) return
      told = false
      arm(input.quietMs)
    },
    close: () => {
      closed = true
      clearTimeout(timer)
    },
  }
}
