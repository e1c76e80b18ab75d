// The daemon's end of a supervisor's socket.

import { type Socket, connect as connectTo } from 'node:net'
import { BerthError } from '../core/errors.ts'
import { type ExitRecord, readSocket } from './record.ts'
import { type Ask, type Reply, isHello, onLines, say, wireContract } from './wire.ts'

export type RunStatus = {
  pid: number
  start: string
  state: 'running' | 'ending' | 'ended'
  /** Where the output ends now. */
  bytes: number
  /** CPU time of all its processes, ms; undefined where the system does not say. */
  cpuMs: number | undefined
  processes: number
  /** When the last byte of output came, ms since 1970. */
  outputAt: number | null
}

export type SupervisorLink = {
  status(): Promise<RunStatus>
  /** Comes back when the tree is ended. `force` kills at once. Rejects if something could not be ended. */
  stop(options: { graceMs: number; force: boolean }): Promise<ExitRecord>
  /** To the terminal; false if there is none. */
  input(text: string): Promise<boolean>
  resize(size: { cols: number; rows: number }): Promise<void>
  onOutput(listener: (next: number) => void): void
  /** Told once; a listener that comes late is told at once. */
  onExit(listener: (exit: ExitRecord) => void): void
  /** The supervisor is gone without an exit: look at its records. A late listener is told at once. */
  onLost(listener: () => void): void
  close(): void
}

const answerMs = 5_000
/** Ending a tree may take its grace and then some. */
const stopMs = 30_000

/** Undefined if nobody listens; throws BerthError `not-ours` if it is another run's supervisor. */
export async function connect(
  runDir: string,
  who: { stateId: string; run: string; timeoutMs?: number },
): Promise<SupervisorLink | undefined> {
  const path = readSocket(runDir)
  if (path === undefined) return undefined
  const socket = await opened(path)
  if (!socket) return undefined
  return greet(socket, who)
}

function opened(path: string): Promise<Socket | undefined> {
  return new Promise(resolve => {
    const socket = connectTo(path)
    socket.once('error', () => resolve(undefined))
    socket.once('connect', () => resolve(socket))
  })
}

function greet(
  socket: Socket,
  who: { stateId: string; run: string; timeoutMs?: number },
): Promise<SupervisorLink | undefined> {
  return new Promise((resolve, reject) => {
    const state: LinkState = {
      socket,
      known: false,
      waiting: new Map(),
      next: 1,
      output: [],
      exit: [],
      lost: [],
    }
    const timer = setTimeout(() => socket.destroy(), who.timeoutMs ?? answerMs)
    socket.on('error', () => socket.destroy())
    socket.on('close', () => {
      clearTimeout(timer)
      resolve(undefined)
      hangUp(state)
    })
    onLines(socket, message => {
      if (state.known) return take(state, message as Reply)
      clearTimeout(timer)
      if (!isHello(message) || message.stateId !== who.stateId || message.run !== who.run) {
        socket.destroy()
        return reject(new BerthError('not-ours', `the socket of run '${who.run}' belongs to somebody else`))
      }
      state.known = true
      resolve(makeLink(state))
    })
    say(socket, { berth: 'hello', stateId: who.stateId, run: who.run, contract: wireContract })
  })
}

type Waiting = {
  what: Ask['do']
  resolve(value: unknown): void
  reject(error: Error): void
  timer: NodeJS.Timeout
}

type LinkState = {
  socket: Socket
  known: boolean
  waiting: Map<number, Waiting>
  next: number
  output: ((next: number) => void)[]
  exit: ((exit: ExitRecord) => void)[]
  lost: (() => void)[]
  exited?: ExitRecord
  gone?: boolean
  closed?: boolean
}

function makeLink(state: LinkState): SupervisorLink {
  const ask = (request: Without<Ask>, limitMs = answerMs) => send(state, request, limitMs)
  return {
    status: () => ask({ do: 'status' }) as Promise<RunStatus>,
    stop: options => ask({ do: 'stop', ...options }, options.graceMs + stopMs) as Promise<ExitRecord>,
    input: text => ask({ do: 'input', text }) as Promise<boolean>,
    resize: size => ask({ do: 'resize', ...size }) as Promise<void>,
    onOutput: listener => void state.output.push(listener),
    onExit(listener) {
      if (state.exited) listener(state.exited)
      else state.exit.push(listener)
    },
    onLost(listener) {
      if (state.gone && !state.exited) listener()
      else state.lost.push(listener)
    },
    close() {
      state.closed = true
      state.socket.destroy()
    },
  }
}

type Without<T> = T extends { id: number } ? Omit<T, 'id'> : never

function send(state: LinkState, request: Without<Ask>, limitMs: number): Promise<unknown> {
  const id = state.next++
  return new Promise((resolve, reject) => {
    if (state.gone && state.exited && request.do === 'stop') return resolve(state.exited)
    if (state.gone) return reject(state.exited ? ended() : lost())
    const timer = setTimeout(() => {
      state.waiting.delete(id)
      reject(new BerthError('timeout', `the supervisor did not answer '${request.do}' within ${limitMs} ms`))
    }, limitMs)
    state.waiting.set(id, { what: request.do, resolve, reject, timer })
    say(state.socket, { id, ...request })
  })
}

function take(state: LinkState, message: Reply) {
  if ('output' in message) for (const listener of state.output) listener(message.output)
  else if ('exit' in message) exit(state, message.exit as ExitRecord)
  else {
    const waiting = state.waiting.get(message.id)
    if (!waiting) return
    state.waiting.delete(message.id)
    clearTimeout(waiting.timer)
    if ('ok' in message) waiting.resolve(message.ok)
    else waiting.reject(new BerthError('failed', message.error))
  }
}

function exit(state: LinkState, record: ExitRecord) {
  if (state.exited) return
  state.exited = record
  // The exit is the answer to whoever asked for it: the connection ends with it.
  for (const [id, waiting] of state.waiting) {
    if (waiting.what !== 'stop') continue
    state.waiting.delete(id)
    clearTimeout(waiting.timer)
    waiting.resolve(record)
  }
  for (const listener of state.exit) listener(record)
}

function hangUp(state: LinkState) {
  state.gone = true
  for (const { reject, timer } of state.waiting.values()) {
    clearTimeout(timer)
    reject(state.exited ? ended() : lost())
  }
  state.waiting.clear()
  if (state.known && !state.exited && !state.closed) for (const listener of state.lost) listener()
}

const lost = () => new BerthError('failed', 'the supervisor is gone')
const ended = () => new BerthError('failed', 'the run has ended')
