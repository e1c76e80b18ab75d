// Watches live runs: the link to each supervisor, its output to facts, its end to `run.exited`. Nothing is polled.

import { type Fact } from '../core/event.ts'
import { type RunEnd, type Usage } from '../core/outcome.ts'
import { type Engine } from '../engines/engine.ts'
import { connect, type SupervisorLink } from '../process/link.ts'
import { lastLines, readOutput } from '../process/output.ts'
import { type ExitRecord, readExit, readSpawn } from '../process/record.ts'
import { platform } from '../platform/platform.ts'
import { openQuiet, type Quiet } from './quiet.ts'
import { openReading, type Reading } from './reading.ts'
import { markerOf, type OfRun, type Clock } from './shell.ts'

export type Watched = OfRun & {
  engine: Engine
  session?: string
  /** Counted by the earlier runs of the session that it continues. */
  earlier: Usage
  quietMs: number
  terminal: boolean
  /** Offset up to which the output's facts are recorded. */
  mark: number
  /** Whether its output tells anything while it runs; if not, only its last words are read, at the end. */
  speaks: boolean
}

export type Watch = {
  /** Attaches to a run that was started; resolves when it is attached, or its end has been recorded. */
  follow(run: Watched): Promise<void>
  /** Asks a run to end and resolves once its end is recorded; false if it is not watched. */
  stop(run: string, how: { graceMs: number; force: boolean }): Promise<boolean>
  input(run: string, text: string): Promise<boolean>
  /** It was recorded that a run is at work: its silence counts from now. */
  atWork(run: string): void
  watches(run: string): boolean
  /** Lets go of all; the runs go on. */
  close(): void
}

export type WatchInput = {
  stateId: string
  runDir: (run: string) => string
  clock: Clock
  record: (facts: readonly Fact[]) => void
  /** Awake ms when the host last came back from sleep. */
  wokeAt: () => number | undefined
  /** It waits for an answer, or is being ended. */
  waits: (run: OfRun) => boolean
}

type Attached = {
  run: Watched
  dir: string
  reading: Reading
  link: SupervisorLink | undefined
  next: number
  /** Resolved when it is attached. */
  begun: Promise<void>
  /** Resolved when its end has been recorded. */
  over: Promise<void>
  end: () => void
  ended: boolean
  quiet: Quiet
}

const readBytes = 1024 * 1024
const connectMs = 5_000
const lastLinesCount = 20
const lastWordsBytes = 256 * 1024
const wordsMax = 300
const screenLines = 12
const screenMax = 2_000
const hunt = { graceMs: 2_000, limitMs: 20_000 }

export function openWatch(input: WatchInput): Watch {
  const runs = new Map<string, Attached>()
  return {
    follow: async run => {
      if (runs.has(run.run)) return
      const attached = attach(run, input)
      runs.set(run.run, attached)
      void attached.over.then(() => runs.delete(run.run))
      attached.begun = begin(attached, input)
      await attached.begun
    },
    stop: async (run, how) => {
      const attached = runs.get(run)
      if (!attached) return false
      await attached.begun
      await attached.link?.stop(how).catch(() => undefined)
      await attached.over
      return true
    },
    input: async (run, text) =>
      (await runs
        .get(run)
        ?.link?.input(text)
        .catch(() => false)) ?? false,
    atWork: run => runs.get(run)?.quiet.reset(),
    watches: run => runs.has(run),
    close: () => {
      for (const attached of runs.values()) {
        attached.ended = true
        attached.quiet.close()
        attached.link?.close()
      }
      runs.clear()
    },
  }
}

function attach(run: Watched, input: WatchInput): Attached {
  let end = (): void => {}
  const over = new Promise<void>(resolve => (end = resolve))
  const { project, task, run: id } = run
  const of = { project, task, run: id }
  const dir = input.runDir(id)
  const attached: Attached = {
    run,
    dir,
    reading: openReading({
      engine: run.engine,
      of,
      mark: run.mark,
      earlier: run.earlier,
      ...(run.session === undefined ? {} : { session: run.session }),
    }),
    link: undefined,
    next: 0,
    begun: Promise.resolve(),
    over,
    end,
    ended: false,
    quiet: openQuiet({
      of,
      quietMs: run.quietMs,
      clock: input.clock,
      record: input.record,
      wokeAt: input.wokeAt,
      waits: () => input.waits(of),
      cpuMs: async () => (await attached.link?.status().catch(() => undefined))?.cpuMs,
      terminal: run.terminal,
      lastWords: () =>
        run.terminal
          ? lastLines(dir, 'pty', screenLines).join('\n').slice(0, screenMax)
          : lastLines(dir, undefined, 3).join(' / ').slice(0, wordsMax),
    }),
  }
  return attached
}

async function begin(attached: Attached, input: WatchInput): Promise<void> {
  const exit = readExit(attached.dir)
  if (exit) return finish(attached, exit, input)
  const link = await connect(attached.dir, {
    stateId: input.stateId,
    run: attached.run.run,
    timeoutMs: connectMs,
  }).catch(() => undefined)
  if (attached.ended) return link?.close()
  if (!link) return lose(attached, input)
  attached.link = link
  link.onExit(record => finish(attached, record, input))
  link.onLost(() => void lose(attached, input))
  link.onOutput(() => {
    attached.quiet.heard()
    drain(attached, input)
  })
  drain(attached, input)
}

/** Reads what has come since; the facts and the mark behind them are one record. */
function drain(attached: Attached, { record }: WatchInput): void {
  if (attached.ended || !attached.run.speaks) return
  for (;;) {
    const facts = readOn(attached)
    if (facts === undefined) return
    if (facts.length > 0) record([...facts, markOf(attached)])
  }
}

function readOn(attached: Attached): Fact[] | undefined {
  const { chunks, next, dropped } = readOutput(attached.dir, attached.next, readBytes)
  if (next <= attached.next) return undefined
  const facts = attached.reading.push(chunks)
  attached.next = next
  if (dropped === 0) return facts
  return [...facts, { kind: 'output.dropped', ...ofRun(attached), bytes: dropped }]
}

function finish(attached: Attached, exit: ExitRecord, { record, clock }: WatchInput): void {
  if (attached.ended) return
  attached.ended = true
  attached.quiet.close()
  const facts: Fact[] = []
  if (!attached.run.speaks) attached.next = Math.max(0, exit.bytes - lastWordsBytes)
  for (let more = readOn(attached); more !== undefined; more = readOn(attached)) facts.push(...more)
  facts.push(...attached.reading.end())
  if (exit.dropped > 0) facts.push({ kind: 'output.dropped', ...ofRun(attached), bytes: exit.dropped })
  if (exit.logEnded !== null)
    facts.push({
      kind: 'notice.given',
      ...ofRun(attached),
      text: `the output of the agent could not be kept to its end: ${exit.logEnded}`,
    })
  const end = attached.run.engine.conclude({
    code: exit.code,
    signal: exit.signal,
    stderr: lastLines(attached.dir, 'err', lastLinesCount),
    state: attached.reading.state(),
    now: clock.wall(),
  })
  record([...facts, exited(attached, exit, end)])
  attached.link?.close()
  attached.end()
}

const exited = (attached: Attached, { code, signal }: ExitRecord, end: RunEnd): Fact => ({
  kind: 'run.exited',
  ...ofRun(attached),
  code,
  signal,
  usage: attached.reading.usage(),
  end,
})

/** The supervisor is gone without an exit: what it left is ended, and the attempt is closed. */
async function lose(attached: Attached, input: WatchInput): Promise<void> {
  if (attached.ended) return
  const exit = readExit(attached.dir)
  if (exit) return finish(attached, exit, input)
  attached.ended = true
  attached.quiet.close()
  attached.link?.close()
  const spawned = readSpawn(attached.dir)
  const left = await platform.endTree(
    {
      marker: markerOf(input, attached.run.run),
      ...(spawned.is === 'spawned' ? { leaders: [{ pid: spawned.pid, start: spawned.start }] } : {}),
    },
    hunt,
  )
  const after = readExit(attached.dir)
  if (after) {
    attached.ended = false
    return finish(attached, after, input)
  }
  const reason = left.left.length > 0 ? 'its supervisor died, and parts of it live on' : 'its supervisor died'
  input.record([{ kind: 'run.lost', ...ofRun(attached), reason }])
  attached.end()
}

const markOf = (attached: Attached): Fact => ({
  kind: 'output.marked',
  ...ofRun(attached),
  offset: attached.next,
})

const ofRun = ({ run: { project, task, run } }: Attached): OfRun => ({ project, task, run })
