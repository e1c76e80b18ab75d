// A daemon that runs elsewhere: finding it, asking it, following it, replacing an older one.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { contract, type Hello, type Response, type Verb } from '../core/api.ts'
import { BerthError, type ErrorCode } from '../core/errors.ts'
import { type Event } from '../core/event.ts'
import { version } from '../core/version.ts'
import { call, type Wire } from './wire.ts'

/** What answers requests: a daemon elsewhere, a loop in this process, or a look at the store. */
export type Channel = {
  request(verb: Verb, params: object, onEvent?: (event: Event) => void): Promise<unknown>
  /** Leaves. A loop hosted in this process moves to the background if something is still to be done (`moved`). */
  close(): Promise<{ moved: boolean }>
}

/** What the loop writes into its state directory once it listens. */
export type DaemonFile = { socket: string; pid: number; version: string; contract: number; stateId: string }

/** Thrown by a request whose loop went away before it answered. */
export const lost: unique symbol = Symbol('the loop went away')
export const isLost = (error: unknown): error is typeof lost => error === lost

const dialMs = 5_000
const handOverMs = 30_000

/**
 * The daemon of a state directory, or undefined if none answers. An older one is asked to hand over
 * (`upgraded`: it is gone, its runs live on) if `upgrade` is given; a newer one is an error, unless only what
 * never changes is to be asked (`anyContract`).
 */
export async function openRemote(
  dir: string,
  { now, upgrade, anyContract }: { now: () => number; upgrade: boolean; anyContract?: boolean },
): Promise<Channel | 'upgraded' | undefined> {
  const file = readDaemonFile(dir)
  if (!file) return undefined
  const answered = await call(file.socket, { stateId: file.stateId, version, limitMs: dialMs })
  if (!answered) return undefined
  const { wire, hello } = answered
  const channel = channelOf(wire)
  if (anyContract) return channel
  if (hello.contract > contract) {
    wire.close()
    throw newer(hello)
  }
  const older = hello.contract < contract || compareVersions(hello.version, version) < 0
  if (!older || (!upgrade && hello.contract === contract)) return channel
  const until = now() + handOverMs
  await channel.request('handOver', {}).catch((error: unknown) => {
    if (!isLost(error)) throw error
  })
  await gone(wire, until - now())
  return 'upgraded'
}

export function readDaemonFile(dir: string): DaemonFile | undefined {
  try {
    const file = JSON.parse(readFileSync(join(dir, 'daemon.json'), 'utf8')) as DaemonFile
    return typeof file.socket === 'string' && typeof file.stateId === 'string' ? file : undefined
  } catch {
    return undefined
  }
}

/** Negative if `a` is older. */
export function compareVersions(a: string, b: string): number {
  const parts = (text: string): number[] => (text.split('-')[0] ?? '').split('.').map(Number)
  const [one, other] = [parts(a), parts(b)]
  for (let i = 0; i < 3; i++) {
    const difference = (one[i] ?? 0) - (other[i] ?? 0)
    if (difference !== 0) return difference
  }
  return 0
}

type Waiting = {
  resolve: (answer: unknown) => void
  reject: (error: unknown) => void
  onEvent?: ((event: Event) => void) | undefined
}

function channelOf(wire: Wire): Channel {
  const waiting = new Map<number, Waiting>()
  let next = 1
  let closed = false
  wire.onMessage(message => receive(message as Response, waiting))
  wire.onClose(() => {
    closed = true
    for (const each of waiting.values()) each.reject(lost)
    waiting.clear()
  })
  return {
    request: (verb, params, onEvent) =>
      new Promise((resolve, reject) => {
        if (closed) return reject(lost)
        const id = next++
        waiting.set(id, { resolve, reject, onEvent })
        wire.send({ id, verb, params })
      }),
    close: () => {
      wire.close()
      return Promise.resolve({ moved: false })
    },
  }
}

function receive(message: Response, waiting: Map<number, Waiting>): void {
  const request = waiting.get(message.id)
  if (!request) return
  if ('event' in message) return request.onEvent?.(message.event)
  waiting.delete(message.id)
  if ('answer' in message) return request.resolve(message.answer)
  const { code, message: text, hint, details } = message.error
  request.reject(new BerthError(code as ErrorCode, text, hint, details))
}

function gone(wire: Wire, limitMs: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(
      () => reject(new BerthError('daemon-down', 'the older Berth does not end', 'berth daemon stop')),
      limitMs,
    )
    wire.onClose(() => {
      clearTimeout(timer)
      resolve()
    })
  })
}

const newer = ({ version: theirs }: Hello): BerthError =>
  new BerthError('daemon-newer', `a newer Berth (${theirs}) is running`, 'npm install -g berth@latest')
