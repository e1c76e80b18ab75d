// One attempt of one engine on a task: its facts folded, and what can be said of it.

import { type EndWhy } from './effect.ts'
import { type Event, type Question, type RunId } from './event.ts'
import { type Outcome, noUsage, type RunEnd, type Usage } from './outcome.ts'

/** When a fact was recorded, by both clocks (ms) and in order. */
export type Moment = { seq: number; at: number; awake: number }

export const momentOf = ({ seq, at, awake }: Moment): Moment => ({ seq, at, awake })

/** Reasons of `run.lost` that are nobody's fault: they use up no attempt. */
export const hostRestarted = 'host-restarted'
export const neverStarted = 'never-started'

export type Ended =
  | { how: 'exited'; since: Moment; code: number | null; signal: string | null; end: RunEnd }
  | { how: 'lost'; since: Moment; reason: string }

export type RunState =
  | { phase: 'claimed' }
  | { phase: 'alive' }
  /** It was asked to end. `started` is false if it never got beyond its claim. */
  | { phase: 'ending'; why: EndWhy; since: Moment; started: boolean }
  /** `taken`: a person takes the work as it is now, however the agent ended. */
  | { phase: 'over'; ended: Ended; why?: EndWhy; taken?: true }
  | { phase: 'collected'; ended: Ended; why?: EndWhy; taken?: true; outcome: Outcome; since: Moment }

export type Asked = Question & {
  /** Counts within the task's life, from 1: the `q1` of an item's id. */
  number: number
  since: Moment
  state: 'open' | 'answered' | 'declined' | 'expired'
  answer?: string
}

export type Run = {
  id: RunId
  attempt: number
  engine: string
  model?: string
  account: string
  /** The session of an earlier run that this one goes on with. */
  resume?: string
  claimed: Moment
  began?: Moment
  /** HEAD of the worktree when it started. */
  base?: string
  pid?: number
  /** Identity of the process (boot, namespace, start). */
  startedAt?: string
  supervisor?: number
  session?: string
  activity: {
    is: 'working' | 'blocked' | 'done' | 'quiet'
    note: string
    from: 'agent' | 'engine' | 'clock'
    since: Moment
  }
  limited?: { until: number | null; text: string; from: 'agent' | 'engine' }
  signedOut?: { text: string; from: 'agent' | 'engine' }
  usage: Usage
  questions: Asked[]
  /** Awake ms that it has waited for answers, and since when it waits now. */
  waitedMs: number
  waitingSince?: number
  state: RunState
}

export const isAlive = (run: Run): boolean =>
  run.state.phase === 'claimed' || run.state.phase === 'alive' || run.state.phase === 'ending'

/** Whether it waits for a person: it holds no slot and its time does not count. */
export const isWaiting = (run: Run): boolean =>
  run.state.phase === 'alive' && (run.activity.is === 'blocked' || openQuestion(run) !== undefined)

export const openQuestion = (run: Run): Asked | undefined =>
  run.questions.find(asked => asked.state === 'open')

/** The id of the item of a question: it stays its name when it is answered. */
export const questionId = (task: string, { number }: Asked): string => `decide:${task}:q${number}`

/** Awake ms that it has worked, waiting for answers not counted. */
export function workedMs(run: Run, awake: number): number {
  if (run.began === undefined) return 0
  const waiting = run.waitingSince === undefined ? 0 : Math.max(0, awake - run.waitingSince)
  return Math.max(0, awake - run.began.awake - run.waitedMs - waiting)
}

type OfRunEvent = Extract<Event, { run: string }>

export function claimedRun(event: Event & { kind: 'run.claimed' }): Run {
  const since = momentOf(event)
  return {
    id: event.run,
    attempt: event.attempt,
    engine: event.engine,
    ...(event.model === undefined ? {} : { model: event.model }),
    account: event.account ?? '',
    ...(event.resume === undefined ? {} : { resume: event.resume }),
    claimed: since,
    activity: { is: 'working', note: '', from: 'clock', since },
    usage: noUsage,
    questions: [],
    waitedMs: 0,
    state: { phase: 'claimed' },
  }
}

/** The run after a fact about it. Facts that come too late (about a run that is over) change nothing. */
export function applyRun(run: Run, event: OfRunEvent, asked: number): Run {
  return timed(run, stepped(run, event, asked), event.awake)
}

function stepped(run: Run, event: OfRunEvent, asked: number): Run {
  switch (event.kind) {
    case 'run.started':
      return started(run, event)
    case 'run.session': {
      const { session: _before, ...rest } = run
      return event.session === '' ? rest : { ...rest, session: event.session }
    }
    case 'run.reported':
      if (!isAlive(run)) return run
      return {
        ...reported(run, event.activity),
        activity: { is: event.activity, note: event.note, from: event.from, since: momentOf(event) },
      }
    case 'run.limited':
      return { ...run, limited: { until: event.until, text: event.text, from: event.from } }
    case 'run.signed-out':
      return { ...run, signedOut: { text: event.text, from: event.from } }
    case 'usage.counted':
      return { ...run, usage: event.usage }
    case 'question.asked':
      return ask(run, event, asked)
    case 'question.answered':
      return answer(
        run,
        event.id,
        event.answer === null ? { state: 'declined' } : { state: 'answered', answer: event.answer },
      )
    case 'question.expired':
      return answer(run, event.id, { state: 'expired' })
    default:
      return ended(run, event)
  }
}

function ended(run: Run, event: OfRunEvent): Run {
  const { state } = run
  switch (event.kind) {
    case 'run.ending':
      if (state.phase !== 'claimed' && state.phase !== 'alive') return run
      return {
        ...run,
        state: { phase: 'ending', why: event.why, since: momentOf(event), started: state.phase === 'alive' },
      }
    case 'run.exited':
      if (!isAlive(run)) return run
      return {
        ...run,
        usage: event.usage,
        state: over(state, {
          how: 'exited',
          since: momentOf(event),
          code: event.code,
          signal: event.signal,
          end: event.end,
        }),
      }
    case 'run.lost':
      if (!isAlive(run)) return run
      return { ...run, state: over(state, { how: 'lost', since: momentOf(event), reason: event.reason }) }
    case 'run.collected':
      if (state.phase !== 'over') return run
      return {
        ...run,
        state: { ...state, phase: 'collected', outcome: event.outcome, since: momentOf(event) },
      }
    default:
      return run
  }
}

function started(run: Run, event: Event & { kind: 'run.started' }): Run {
  const { state } = run
  if (state.phase !== 'claimed' && state.phase !== 'ending') return run
  const next: Run = {
    ...run,
    began: momentOf(event),
    base: event.base,
    pid: event.pid,
    startedAt: event.startedAt,
    supervisor: event.supervisor,
    activity: { ...run.activity, since: momentOf(event) },
    state: state.phase === 'claimed' ? { phase: 'alive' } : { ...state, started: true },
  }
  return event.session === undefined ? next : { ...next, session: event.session }
}

// An agent that goes on working takes back that it was limited or signed out.
function reported(run: Run, activity: Run['activity']['is']): Run {
  if (activity === 'blocked' || activity === 'quiet') return run
  const { limited: _limited, signedOut: _signedOut, ...rest } = run
  return rest
}

function ask(run: Run, event: Event & { kind: 'question.asked' }, asked: number): Run {
  if (!isAlive(run) || run.questions.some(({ id }) => id === event.question.id)) return run
  const question: Asked = { ...event.question, number: asked + 1, since: momentOf(event), state: 'open' }
  return { ...run, questions: [...run.questions, question] }
}

const answer = (run: Run, id: string, as: Pick<Asked, 'state' | 'answer'>): Run => ({
  ...run,
  questions: run.questions.map(asked =>
    asked.id === id && asked.state === 'open' ? { ...asked, ...as } : asked,
  ),
})

function over(state: RunState, end: Ended): RunState {
  return state.phase === 'ending'
    ? { phase: 'over', ended: end, why: state.why }
    : { phase: 'over', ended: end }
}

// Keeps the count of the time that it waited.
function timed(before: Run, run: Run, awake: number): Run {
  const waiting = isWaiting(run)
  if (waiting && run.waitingSince === undefined) return { ...run, waitingSince: awake }
  if (waiting || run.waitingSince === undefined) return run
  const { waitingSince, ...rest } = run
  return { ...rest, waitedMs: before.waitedMs + Math.max(0, awake - waitingSince) }
}
