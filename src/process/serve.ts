// The supervisor's end of its socket.

import { type Server, type Socket, createServer } from 'node:net'
import { rmSync } from 'node:fs'
import { type ExitRecord } from './record.ts'
import { type Ask, type Hello, isHello, onLines, say, wireContract } from './wire.ts'

export type Handlers = {
  status(): unknown
  /** Comes back when the tree is ended. */
  stop(ask: { graceMs: number; force: boolean }): Promise<unknown>
  input(text: string): boolean
  resize(size: { cols: number; rows: number }): void
  read(from: number, maxBytes: number): unknown
}

export type Service = {
  /** Tells everyone where the output ends now; several calls within a moment are one. */
  output(next: number): void
  /** Tells everyone, and ends when they have it. */
  exit(record: ExitRecord): Promise<void>
  /** Nothing was started. */
  close(): Promise<void>
}

const helloMs = 5_000
const gatherMs = 15
/** A client that does not read is told no more until it does. */
const unreadBytes = 262_144
const goodbyeMs = 500

/** Listens before anything is spawned: whoever cannot be reached must not start. Rejects with the system's error. */
export function serve(
  path: string,
  who: { stateId: string; run: string },
  handlers: Handlers,
): Promise<Service> {
  const clients = new Set<Socket>()
  const server = createServer(socket => greet(socket, who, handlers, clients))
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(path, () => {
      server.off('error', reject)
      server.on('error', () => undefined)
      resolve(makeService(server, path, clients))
    })
  })
}

function makeService(server: Server, path: string, clients: Set<Socket>): Service {
  let timer: NodeJS.Timeout | undefined
  let latest = 0
  const tell = () => {
    timer = undefined
    for (const client of clients) if (client.writableLength < unreadBytes) say(client, { output: latest })
  }
  const finish = async (farewell: object | undefined) => {
    clearTimeout(timer)
    if (farewell) tell()
    server.close()
    const gone = [...clients].map(client => goodbye(client, farewell))
    await Promise.race([Promise.all(gone), new Promise(resolve => setTimeout(resolve, goodbyeMs).unref())])
    if (!path.startsWith('\\\\')) rmSync(path, { force: true })
  }
  return {
    output(next) {
      latest = next
      if (clients.size > 0) timer ??= setTimeout(tell, gatherMs)
    },
    exit: exit => finish({ exit }),
    close: () => finish(undefined),
  }
}

function goodbye(client: Socket, farewell: object | undefined): Promise<void> {
  if (farewell) say(client, farewell)
  return new Promise(resolve => {
    client.once('close', () => resolve())
    client.end(() => resolve())
  })
}

function greet(
  socket: Socket,
  who: { stateId: string; run: string },
  handlers: Handlers,
  clients: Set<Socket>,
) {
  let known = false
  const hello: Hello = { berth: 'hello', ...who, contract: wireContract }
  const timer = setTimeout(() => socket.destroy(), helloMs)
  socket.on('error', () => socket.destroy())
  socket.on('close', () => {
    clearTimeout(timer)
    clients.delete(socket)
  })
  say(socket, hello)
  onLines(socket, message => {
    if (known) return void answer(socket, message as Ask, handlers)
    if (!isHello(message) || message.stateId !== who.stateId || message.run !== who.run)
      return socket.destroy()
    known = true
    clearTimeout(timer)
    clients.add(socket)
  })
}

async function answer(socket: Socket, ask: Ask, handlers: Handlers) {
  try {
    say(socket, { id: ask.id, ok: (await answerTo(ask, handlers)) ?? null })
  } catch (error) {
    say(socket, { id: ask.id, error: (error as Error).message })
  }
}

function answerTo(ask: Ask, handlers: Handlers): unknown {
  switch (ask.do) {
    case 'status':
      return handlers.status()
    case 'stop':
      return handlers.stop({ graceMs: Number(ask.graceMs) || 0, force: ask.force === true })
    case 'input':
      return handlers.input(String(ask.text))
    case 'resize':
      return handlers.resize({ cols: ask.cols, rows: ask.rows })
    case 'read':
      return handlers.read(ask.from, Math.min(ask.maxBytes, 1_000_000))
    default:
      throw new Error('this supervisor does not know that')
  }
}
