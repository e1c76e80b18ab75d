// The socket the loop listens on: who may speak, in which order, and how an answer or an error goes back.

import { chmodSync, rmSync } from 'node:fs'
import { createServer, type Socket } from 'node:net'
import { contract, type Hello, type Request, type Response, type Verb } from '../core/api.ts'
import { BerthError } from '../core/errors.ts'
import { type Event } from '../core/event.ts'
import { helloOf, type Wire, wireOf } from './wire.ts'

/** Who asks: a connection, or the process that hosts the loop. */
export type Caller = {
  /** True once the asking side is gone: nobody reads an answer any more. */
  gone(): boolean
  /** Called once, at once if it is gone already. */
  onGone(listener: () => void): void
}

/** Answers one request; a BerthError reaches the caller as it is, anything else is a bug and named so. */
export type Handle = (
  verb: Verb,
  params: never,
  caller: Caller,
  stream: (event: Event) => void,
) => Promise<unknown>

export type Server = { path: string; close(): Promise<void>; connections(): number }

/** With another contract version only these are served (docs/decisions/0004, 0039). */
const eternal: readonly Verb[] = ['handOver', 'status', 'stopDaemon']

const helloLimitMs = 5_000
/** A reader further behind than this is disconnected; it comes back and reads on from where it was. */
const behindBytesMax = 16 * 1024 * 1024

/**
 * Listens on `path`, readable by its owner only. What lies there already is a leftover: the caller holds the
 * loop's lock.
 */
export async function listen(input: {
  path: string
  stateId: string
  version: string
  handle: Handle
}): Promise<Server> {
  const sockets = new Set<Socket>()
  rmSync(input.path, { force: true })
  const server = createServer(socket => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
    void serve(socket, input)
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(input.path, () => resolve())
  })
  if (!input.path.startsWith('\\\\')) chmodSync(input.path, 0o600)
  server.on('error', () => {})
  return {
    path: input.path,
    connections: () => sockets.size,
    close: () =>
      new Promise(resolve => {
        server.close(() => resolve())
        // What the end decided for those who wait is told first: only then nobody takes it for a crash.
        setImmediate(() => {
          for (const socket of sockets) socket.end(() => socket.destroy())
        })
      }),
  }
}

async function serve(
  socket: Socket,
  { stateId, version, handle }: { stateId: string; version: string; handle: Handle },
): Promise<void> {
  const wire = wireOf(socket)
  wire.send({ berth: 1, contract, stateId, version, role: 'daemon' } satisfies Hello)
  const hello = await helloOf(wire, socket, helloLimitMs)
  if (!hello || hello.stateId !== stateId) return void socket.destroy()
  const caller = callerOf(wire)
  wire.onMessage(message => {
    if (!isRequest(message)) return void socket.destroy()
    if (hello.contract !== contract && !eternal.includes(message.verb))
      return void wire.send(refusal(message.id, otherContract(hello.contract)))
    void answer(message, { wire, socket, caller, handle })
  })
}

async function answer(
  { id, verb, params }: Request,
  { wire, socket, caller, handle }: { wire: Wire; socket: Socket; caller: Caller; handle: Handle },
): Promise<void> {
  const stream = (event: Event): void => {
    if (wire.waiting() > behindBytesMax) socket.destroy()
    else wire.send({ id, event } satisfies Response)
  }
  try {
    wire.send({ id, answer: await handle(verb, params as never, caller, stream) } satisfies Response)
  } catch (error) {
    wire.send(refusal(id, error))
  }
}

function callerOf(wire: Wire): Caller {
  let gone = false
  wire.onClose(() => (gone = true))
  return { gone: () => gone, onGone: listener => wire.onClose(listener) }
}

function refusal(id: number, error: unknown): Response {
  if (error instanceof BerthError) {
    const { code, message, hint, details } = error
    return { id, error: { code, message, ...(hint ? { hint } : {}), ...(details ? { details } : {}) } }
  }
  return { id, error: { code: 'failed', message: bugText(error) } }
}

const bugText = (error: unknown): string =>
  error instanceof Error ? (error.stack ?? error.message) : String(error)

const otherContract = (theirs: number): BerthError =>
  theirs > contract
    ? new BerthError('daemon-down', 'an older Berth is running', 'berth daemon stop')
    : new BerthError('daemon-newer', 'a newer Berth is running', 'npm install -g berth@latest')

const isRequest = (message: unknown): message is Request =>
  typeof message === 'object' &&
  message !== null &&
  typeof (message as Request).id === 'number' &&
  typeof (message as Request).verb === 'string'
