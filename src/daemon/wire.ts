// The wire: newline-delimited JSON over a socket, and the hello that each side says first.
// Both ends use it; it imports next to nothing, since every `berth` call loads it.

import { connect, type Socket } from 'node:net'
import { contract, type Hello } from '../core/api.ts'
import { BerthError } from '../core/errors.ts'

/** A line longer than this closes the connection: nobody can fill the other side's memory. */
export const lineBytesMax = 64 * 1024 * 1024

export type Wire = {
  /** False when the connection is gone: what was sent is lost. */
  send(message: object): boolean
  /** Called for every message; while nobody listens, messages wait. */
  onMessage(listener: ((message: unknown) => void) | undefined): void
  /** Called once; at once if it is closed already. */
  onClose(listener: () => void): void
  /** Ends the connection after what was sent has gone out. */
  close(): void
  /** Bytes that were sent and not yet taken by the system. */
  waiting(): number
}

/** Reads whole lines of JSON from a socket. A line that is not JSON, or is too long, closes it. */
export function wireOf(socket: Socket): Wire {
  let parts: Buffer[] = []
  let held = 0
  let closed = false
  const queue: unknown[] = []
  let listener: ((message: unknown) => void) | undefined
  const closing: (() => void)[] = []
  const give = (line: Buffer): void => {
    if (line.length === 0) return
    const message: unknown = parse(line, socket)
    if (message === undefined) return
    if (listener) listener(message)
    else queue.push(message)
  }
  socket.on('data', (bytes: Buffer) => {
    let from = 0
    for (let end = bytes.indexOf(10); end >= 0; end = bytes.indexOf(10, from)) {
      parts.push(bytes.subarray(from, end))
      give(parts.length === 1 ? parts[0]! : Buffer.concat(parts))
      parts = []
      held = 0
      from = end + 1
    }
    if (from === bytes.length) return
    parts.push(bytes.subarray(from))
    held += bytes.length - from
    if (held > lineBytesMax) socket.destroy()
  })
  socket.on('error', () => socket.destroy())
  socket.on('close', () => {
    closed = true
    for (const listen of closing.splice(0)) listen()
  })
  return {
    send: message => !closed && socket.writable && (socket.write(JSON.stringify(message) + '\n'), true),
    onMessage: listen => {
      listener = listen
      // A listener may leave its place to another one.
      for (let given = listener; given && queue.length > 0; given = listener) given(queue.shift())
    },
    onClose: listen => void (closed ? listen() : closing.push(listen)),
    close: () => void socket.end(),
    waiting: () => socket.writableLength,
  }
}

/** The first message of the other side, or undefined if it is none, or none came in time. */
export function helloOf(wire: Wire, socket: Socket, limitMs: number): Promise<Hello | undefined> {
  return new Promise(resolve => {
    const timer = setTimeout(() => settle(undefined), limitMs)
    const settle = (hello: Hello | undefined): void => {
      clearTimeout(timer)
      resolve(hello)
    }
    wire.onClose(() => settle(undefined))
    wire.onMessage(message => {
      wire.onMessage(undefined)
      if (isHello(message)) return settle(message)
      settle(undefined)
      socket.destroy()
    })
  })
}

/** What answers at `path`: undefined if nobody does. Throws `daemon-down` if somebody else answers there. */
export async function call(
  path: string,
  { stateId, version, limitMs }: { stateId: string; version: string; limitMs: number },
): Promise<{ wire: Wire; hello: Hello } | undefined> {
  const socket = await dial(path, limitMs)
  if (!socket) return undefined
  const wire = wireOf(socket)
  wire.send({ berth: 1, contract, stateId, version, role: 'client' } satisfies Hello)
  const hello = await helloOf(wire, socket, limitMs)
  if (!hello) {
    socket.destroy()
    return undefined
  }
  if (hello.stateId !== stateId || hello.role !== 'daemon') {
    socket.destroy()
    throw new BerthError('daemon-down', `'${path}' belongs to another state directory`)
  }
  return { wire, hello }
}

function dial(path: string, limitMs: number): Promise<Socket | undefined> {
  return new Promise(resolve => {
    const socket = connect(path)
    const timer = setTimeout(() => socket.destroy(), limitMs)
    socket.once('connect', () => {
      clearTimeout(timer)
      resolve(socket)
    })
    socket.once('close', () => {
      clearTimeout(timer)
      resolve(undefined)
    })
    socket.once('error', () => {})
  })
}

export const isHello = (message: unknown): message is Hello =>
  typeof message === 'object' &&
  message !== null &&
  (message as Hello).berth === 1 &&
  typeof (message as Hello).contract === 'number' &&
  typeof (message as Hello).stateId === 'string'

function parse(line: Buffer, socket: Socket): unknown {
  try {
    return JSON.parse(line.toString('utf8'))
  } catch {
    socket.destroy()
    return undefined
  }
}
