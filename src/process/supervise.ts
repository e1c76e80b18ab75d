// One run from its first instruction to its exit record: what a supervisor does once the agent lives.

import { redactText } from '../core/redact.ts'
import {
  type Containment,
  type Identity,
  type ProcessInfo,
  type TreeQuery,
  platform,
} from '../platform/platform.ts'
import { type Handlers, type Service } from './serve.ts'
import { type ExitRecord, writeExit } from './record.ts'
import { type Recorder } from './recorder.ts'
import { readOutput } from './output.ts'
import { type RunSpec } from './spec.ts'
import { type OutputWriter, type Stream } from './segments.ts'

export type Exit = { code: number | null; signal: string | null }

/** The agent as a supervisor needs it, with pipes or with a terminal. */
export type Agent = {
  pid: number
  /** False if it has no terminal. */
  input(text: string): boolean
  resize(size: { cols: number; rows: number }): void
  /** Once, when the process has ended; its output may still come. */
  onExit(listener: (exit: Exit) => void): void
  /** Once, when nobody can write to it any more. */
  onDrained(listener: () => void): void
  onData(listener: (stream: Stream, bytes: Uint8Array) => void): void
  /** Lets go of its pipes, whoever holds the other end. */
  drop(): void
}

export type Supervised = {
  spawned: Identity & { at: number }
  exited: Promise<ExitRecord>
  stop(ask: { graceMs: number; force: boolean }): Promise<ExitRecord>
  handlers: Handlers
}

export type SuperviseInput = {
  spec: RunSpec
  self: Identity
  agent: Agent
  containment: Containment
  recorder: Recorder
  writer: OutputWriter
  service(): Service
  job: string
  now: () => number
  complain: (error: unknown) => void
}

/** A program that ended before it could be looked at. */
const gone = 'gone'
const drainMs = 1_000
const limitMs = 15_000
const reapMs = 50

export function supervise(input: SuperviseInput): Supervised {
  const { spec, self, agent, recorder, now } = input
  const leader = { pid: agent.pid, start: platform.identity(agent.pid) ?? gone }
  const query: TreeQuery = { marker: `${spec.stateId}:${spec.run}`, leaders: [leader], under: [self] }
  if (platform.name === 'windows') query.job = input.job
  const hurry = new AbortController()
  const life: Life = {
    input,
    query,
    hurry: hurry.signal,
    spawned: { ...leader, at: now() },
    state: 'running',
    asked: null,
    stopping: undefined,
    ended: 0,
  }
  agent.onData(recorder.take)
  bury(life)
  const exited = new Promise<ExitRecord>(resolve => agent.onExit(exit => resolve(finish(life, exit))))

  async function stop(ask: { graceMs: number; force: boolean }): Promise<ExitRecord> {
    life.asked = ask.force ? 'force' : (life.asked ?? 'stop')
    if (ask.force) hurry.abort()
    const graceMs = ask.force ? 0 : ask.graceMs
    // Where no signal can ask (Windows), the terminal can.
    if (platform.name === 'windows') agent.input('\x03')
    life.stopping ??= end(life, graceMs)
    const left = await life.stopping
    if (left.length === 0 || life.state === 'ended') return exited
    throw new Error(
      `these could not be ended: ${left.map(({ pid, command }) => `${pid} ${command}`).join(', ')}`,
    )
  }
  return { spawned: life.spawned, exited, stop, handlers: handlersOf(life, stop) }
}

type Life = {
  input: SuperviseInput
  query: TreeQuery
  hurry: AbortSignal
  spawned: Identity & { at: number }
  state: 'running' | 'ending' | 'ended'
  asked: ExitRecord['asked']
  stopping: Promise<ProcessInfo[]> | undefined
  ended: number
}

function handlersOf(life: Life, stop: Supervised['stop']): Handlers {
  const { agent, recorder, writer, spec } = life.input
  return {
    status() {
      // Without the marker, which would cost a look into every process's environment.
      const { marker: _, ...query } = life.query
      const processes = platform.processesOf(query)
      const times = processes.map(({ pid }) => platform.cpuMs(pid)).filter(ms => ms !== undefined)
      return {
        pid: life.spawned.pid,
        start: life.spawned.start,
        state: life.state,
        bytes: writer.bytes(),
        cpuMs: times.length > 0 ? times.reduce((sum, ms) => sum + ms, 0) : undefined,
        processes: processes.length,
        outputAt: recorder.outputAt(),
      }
    },
    stop,
    input: agent.input,
    resize: agent.resize,
    read(from, maxBytes) {
      const { chunks, next, dropped } = readOutput(spec.runDir, from, maxBytes)
      const base64 = (bytes: Uint8Array) => Buffer.from(bytes).toString('base64')
      return {
        chunks: chunks.map(({ bytes, ...chunk }) => ({ ...chunk, base64: base64(bytes) })),
        next,
        dropped,
      }
    },
  }
}

/** The code first, durable; then the tree; then what is left of it (decisions 38; safety.md, law 7). */
async function finish(life: Life, exit: Exit): Promise<ExitRecord> {
  const { spec, recorder, service, now } = life.input
  life.state = 'ending'
  const endedAt = now()
  keep(life, recordOf(life, exit, { endedAt, tree: 'ending', left: [] }))
  await life.stopping?.catch(() => undefined)
  const left = await end(life, spec.graceMs).catch(error => {
    life.input.complain(error)
    return []
  })
  await drained(life)
  recorder.end()
  const record = recordOf(life, exit, { endedAt, tree: 'ended', left })
  keep(life, record)
  life.state = 'ended'
  await service().exit(record)
  return record
}

async function end(life: Life, graceMs: number): Promise<ProcessInfo[]> {
  const { left, ended } = await platform.endTree(life.query, {
    graceMs,
    limitMs: graceMs + limitMs,
    signal: life.hurry,
  })
  life.ended += ended
  return left
}

/** Until the pipes are closed; a process that could not be ended may hold them for ever. */
function drained({ input: { agent } }: Life): Promise<void> {
  return new Promise(resolve => {
    const timer = setTimeout(done, drainMs)
    agent.onDrained(done)
    function done() {
      clearTimeout(timer)
      agent.drop()
      resolve()
    }
  })
}

function recordOf(
  { input, spawned, ended, asked }: Life,
  exit: Exit,
  rest: Pick<ExitRecord, 'endedAt' | 'tree' | 'left'>,
): ExitRecord {
  const { writer, spec } = input
  const left = rest.left.map(info => ({ ...info, command: redactText(info.command, spec.secrets) }))
  const output = { dropped: writer.dropped(), bytes: writer.bytes(), logEnded: writer.ended() }
  return { ...exit, endedAt: rest.endedAt, spawned, tree: rest.tree, left, ended, asked, ...output }
}

function keep({ input }: Life, record: ExitRecord) {
  try {
    writeExit(input.spec.runDir, record)
  } catch (error) {
    input.complain(error)
  }
}

/** Adopted orphans that have died are waited for, a moment after the system says that some child has. */
function bury(life: Life) {
  const { containment, agent } = life.input
  if (containment.is !== 'subreaper') return
  let timer: NodeJS.Timeout | undefined
  process.on('SIGCHLD', () => {
    timer ??= setTimeout(() => {
      timer = undefined
      containment.reap(life.state === 'running' ? [agent.pid] : [])
    }, reapMs)
  })
}
