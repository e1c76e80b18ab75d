// The honest end of a run, the same for every engine: terminal event, exit code and stderr together.

import { type RunEnd } from '../core/outcome.ts'
import { type Ended } from './engine.ts'
import { troubleAmong, troubleIn, type Trouble } from './limits.ts'
import { resetIn } from './resets.ts'

/** The event by which a program says that it has come to its end, well or not. */
export type Terminal =
  | { ok: true; text: string }
  | {
      ok: false
      text: string
      /** It may go well another time, whatever the text and the status say. */
      transient?: boolean
      status?: number
      /** When the limit ends, where the program says so apart. */
      until?: number
    }

/** An API's rate limit counts by the minute; used when a 429 names neither a time nor a quota. */
export const rateWindowMs = 60_000

const evidenceLength = 500

/** Of a program with a stream of events: the exit code alone never makes it a success. */
export function endOfStream(ended: Ended, terminal: Terminal | undefined, denied: string[]): RunEnd {
  if (terminal && !terminal.ok) return endOfError(terminal, ended.now)
  if (terminal && ended.code === 0) return { is: 'ended', text: terminal.text, denied }
  if (ended.code === 0) return { is: 'cut-off', reason: 'the program ended without its final event' }
  return endOfExit(ended)
}

/** Of a program that said itself what went wrong. */
export function endOfError(error: Extract<Terminal, { ok: false }>, now: number): RunEnd {
  const status = error.status ?? statusIn(error.text)
  const evidence = quoted(error.text || `status ${status ?? 'unknown'}`)
  const trouble = troubleOfText(error.text, status, now) ?? troubleOfStatus(status)
  switch (trouble?.is) {
    case 'limited': {
      const until = error.until ?? trouble.until ?? resetIn(error.text, now)
      return {
        is: 'limited',
        until: until ?? (isRate(error.text, status) ? now + rateWindowMs : null),
        evidence,
      }
    }
    case 'signed-out':
      return { is: 'signed-out', evidence }
    case 'overloaded':
    case undefined: {
      const service =
        status === undefined ? 'the engine reported an error' : `the engine's service answered ${status}`
      const reason = `${service}: ${shortened(error.text)}`
      return {
        is: 'failed',
        reason,
        evidence,
        transient: error.transient ?? trouble !== undefined,
        cause: 'engine-error',
      }
    }
  }
}

/** Of a program that says nothing but its exit code and its last lines of stderr. */
export function endOfExit({ code, signal, stderr, now }: Ended): RunEnd {
  if (code === 0) return { is: 'ended', text: '', denied: [] }
  if (signal !== null) return { is: 'cut-off', reason: `ended by ${signal}` }
  if (code === null) return { is: 'cut-off', reason: 'ended without an exit code' }
  const found = troubleAmong(stderr, now)
  const evidence = quoted(found?.line ?? stderr.findLast(line => line.trim() !== '') ?? `exit code ${code}`)
  if (found?.trouble.is === 'limited') return { is: 'limited', until: found.trouble.until, evidence }
  if (found?.trouble.is === 'signed-out') return { is: 'signed-out', evidence }
  if (signalsByCode.has(code) && !found)
    return { is: 'cut-off', reason: `ended by a signal, exit code ${code}` }
  const reason = `ended with exit code ${code}`
  return found
    ? {
        is: 'failed',
        reason: `${reason}: ${shortened(found.line)}`,
        evidence,
        transient: true,
        cause: 'engine-error',
      }
    : { is: 'failed', reason, evidence, transient: false, cause: 'exit' }
}

/** By hang-up, interrupt, kill and termination, as shells pass them on. */
const signalsByCode = new Set([129, 130, 137, 143])

/** A refused request is no limit, whatever it says about tokens and lengths. */
function troubleOfText(text: string, status: number | undefined, now: number): Trouble | undefined {
  const trouble = troubleIn(text, now)
  const refused = status !== undefined && [400, 404, 413, 422].includes(status)
  return trouble?.is === 'limited' && refused ? undefined : trouble
}

function troubleOfStatus(status: number | undefined): Trouble | undefined {
  if (status === undefined) return undefined
  if (status === 429) return { is: 'limited', until: null }
  if (status === 401) return { is: 'signed-out' }
  return status === 408 || status >= 500 ? { is: 'overloaded' } : undefined
}

/** A plan's or a day's quota does not come back within the minute. */
const isRate = (text: string, status: number | undefined): boolean =>
  status === 429 &&
  !/\b(daily|per ?day|perday|quota|plan|billing|credit|usage limit|session limit|weekly)/i.test(
    text.split('\n')[0] ?? '',
  )

/** The HTTP status that an error text names. */
export function statusIn(text: string): number | undefined {
  const found = /\b(?:status(?: code)?|code|error|http)["']?[ :=(]{1,3}([45]\d\d)\b/i.exec(text)?.[1]
  return found === undefined ? undefined : Number(found)
}

const quoted = (text: string): string => text.trim().slice(0, evidenceLength)

function shortened(text: string): string {
  const line = text.trim().split('\n')[0] ?? ''
  return line.length > 200 ? `${line.slice(0, 199)}…` : line
}
