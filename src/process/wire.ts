// What goes over a supervisor's socket: lines of JSON, the first one both ways a hello (decisions 4).
// Hello, status, stop and read never change: a newer client must always be able to end what an older one began.

import { type Socket } from 'node:net'

export const wireContract = 1

export type Hello = { berth: 'hello'; stateId: string; run: string; contract: number }

export type Ask =
  | { id: number; do: 'status' }
  | { id: number; do: 'stop'; graceMs: number; force: boolean }
  | { id: number; do: 'input'; text: string }
  | { id: number; do: 'resize'; cols: number; rows: number }
  | { id: number; do: 'read'; from: number; maxBytes: number }

export type Reply =
  | { id: number; ok: unknown }
  | { id: number; error: string }
  | { output: number }
  | { exit: unknown }

/** Longer lines are nothing that either side says. */
const lineChars = 8_000_000

/** Calls back for each line of JSON; anything else ends the connection. */
export function onLines(socket: Socket, listener: (message: unknown) => void): void {
  let held = ''
  socket.setEncoding('utf8')
  socket.on('data', (text: string) => {
    held += text
    if (held.length > lineChars) return void socket.destroy()
    for (let end = held.indexOf('\n'); end >= 0; end = held.indexOf('\n')) {
      const line = held.slice(0, end)
      held = held.slice(end + 1)
      const message = parsed(line)
      if (message === undefined) return void socket.destroy()
      listener(message)
    }
  })
}

export const say = (socket: Socket, message: object): void => {
  if (!socket.destroyed && socket.writable) socket.write(`${JSON.stringify(message)}\n`)
}

export function isHello(message: unknown): message is Hello {
  const hello = message as Partial<Hello> | null
  return hello?.berth === 'hello' && typeof hello.stateId === 'string' && typeof hello.run === 'string'
}

function parsed(line: string): unknown {
  try {
    return JSON.parse(line) as unknown
  } catch {
    return undefined
  }
}
