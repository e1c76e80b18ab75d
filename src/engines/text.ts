// How the output of any program is read (docs/decisions/0029): words on stdout are never a signal. A line of stdout
// that is wholly one JSON object of type `result` or `error` is a structured result, and so are the exit codes.

import { type RunEnd } from '../core/outcome.ts'
import { endOfError, endOfExit, type Terminal } from './end.ts'
import { type Ended, type Engine, type ReadState } from './engine.ts'
import { asObject, number, object, objectIn, text, type Json } from './json.ts'

/** Try again later; a person must sign in. */
export const exitCodes = { limited: 75, signedOut: 77 } as const

const keptLength = 2000

type TextState = { last?: string; structured?: Terminal; /** Nothing came after it. */ final?: boolean }

export const readText: Engine['read'] = (state, line, stream) => {
  if (stream === 'err' || line.trim() === '') return { state, reports: [] }
  const structured = structuredIn(line)
  const next: TextState = structured
    ? { last: structured.text.slice(0, keptLength), structured, final: true }
    : { ...(state as TextState), last: line.trim().slice(0, keptLength), final: false }
  return { state: next as ReadState, reports: [] }
}

/** A structured error counts after exit 0 only as the last word: whoever goes on after an error got over it. */
export function concludeText(ended: Ended): RunEnd {
  const { last = '', structured, final = false } = ended.state as TextState
  const error = structured?.ok === false && (final || ended.code !== 0) ? structured : undefined
  if (error) return endOfError(error, ended.now)
  const end = endOfExit(ended)
  if (end.is === 'ended') return { ...end, text: last }
  return withWords(byExitCode(ended, end) ?? end, `exit code ${ended.code}`, last)
}

/** A program that failed without a word on stderr is quoted by its last one on stdout, which means nothing more. */
const withWords = (end: RunEnd, bare: string, last: string): RunEnd =>
  'evidence' in end && end.evidence === bare && last !== '' ? { ...end, evidence: last } : end

function byExitCode({ code, stderr }: Ended, end: RunEnd): RunEnd | undefined {
  const evidence = stderr.findLast(line => line.trim() !== '')?.trim() ?? `exit code ${code}`
  if (code === exitCodes.limited && end.is !== 'limited') return { is: 'limited', until: null, evidence }
  if (code === exitCodes.signedOut) return { is: 'signed-out', evidence }
  return undefined
}

/** `{"type":"result","is_error":…}`, `{"type":"error","status":529,"message":…}` and what else CLIs print so. */
function structuredIn(line: string): Terminal | undefined {
  const event = objectIn(line)
  const type = event && text(event, 'type')
  if (!event || (type !== 'result' && type !== 'error')) return undefined
  const fails = type === 'error' || event['is_error'] === true || event['status'] === 'error'
  const says = ['is_error', 'status', 'error', 'message'].some(name => event[name] !== undefined)
  if (!says) return undefined
  if (!fails && !asObject(event['error'])) return { ok: true, text: text(event, 'result') ?? '' }
  return { ok: false, ...errorOf(event) }
}

/** Text and HTTP status of an error event, wherever a program puts them. */
export function errorOf(event: Json): { text: string; status?: number } {
  const error = object(event, 'error')
  const data = object(error, 'data')
  const words = [
    text(event, 'result') ?? text(event, 'message') ?? text(event, 'error'),
    text(data, 'message') ?? text(error, 'message'),
    text(error, 'type') === 'unknown' ? undefined : text(error, 'type'),
  ]
  const status =
    number(event, 'api_error_status') ??
    number(event, 'status') ??
    number(data, 'statusCode') ??
    number(error, 'status') ??
    number(error, 'code')
  const joined = words.filter(word => word !== undefined && word !== '').join(' ')
  return { text: joined, ...(status === undefined ? {} : { status }) }
}
