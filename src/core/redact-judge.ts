// Whether what a redactor came upon is a secret, and how far it goes.

import { type Candidate, type Closer, type Interval, type State, byteBefore } from './redact-state.ts'
import { type Rule } from './secret-rules.ts'
import { bearerBody, isWordByte, judgedBytes } from './secret-shapes.ts'
import { judgedAhead } from './secret-values.ts'
import { latin1, utf8 } from './utf8.ts'

const marker = '[redacted]'
const markerBytes = utf8(marker)

/** Nothing is waited for any longer than this: colour codes without end, a secret of megabytes. */
const keptBytes = 131_072

/** Decides about every candidate that can be decided by now. `whole`: the stream is over. */
export function judge(state: State, whole: boolean) {
  for (const interval of state.intervals) if (interval.closer) grow(state, interval, whole)
  const waiting: Candidate[] = []
  for (const candidate of state.candidates) {
    const verdict = judgeOne(state, candidate, whole)
    if (verdict === 'no') continue
    if (verdict !== 'wait') found(state, verdict, whole)
    else if (state.seen - candidate.body < keptBytes) waiting.push(candidate)
  }
  state.candidates = waiting
}

function found(state: State, interval: Interval, whole: boolean) {
  state.found = true
  if (interval.closer) grow(state, interval, whole)
  interval.start = Math.max(interval.start, state.shown)
  if (interval.end > interval.start) state.intervals.push(interval)
}

function judgeOne(state: State, candidate: Candidate, whole: boolean): Interval | 'no' | 'wait' {
  const { rule } = candidate
  switch (rule.is) {
    case 'known':
      return judgeKnown(state, candidate, rule, whole)
    case 'token':
      return judgeToken(state, candidate, rule, whole)
    case 'before':
      return judgeBefore(state, candidate, rule, whole)
  }
}

/** What stands behind a telling word. */
function judgeBefore(state: State, candidate: Candidate, rule: Rule & { is: 'before' }, whole: boolean) {
  const { body, start: lead } = candidate
  const next =
    body < state.seen && state.escapes.skip(body) === body ? state.buffer[body - state.origin] : undefined
  if (next !== undefined && rule.next && rule.next[next] !== 1) return 'no'
  const view = viewFrom(state, body, judgedAhead)
  const verdict = rule.judge(view.text, whole)
  if (verdict.is === 'no') return 'no'
  if (verdict.is === 'wait') {
    if (verdict.hold !== undefined) candidate.hold = rule.hold ? lead : view.offset(verdict.hold)
    return 'wait'
  }
  const start = rule.hold ? lead : view.offset(verdict.from)
  const end = verdict.to > verdict.from ? view.offset(verdict.to - 1) + 1 : body
  if (verdict.is === 'open') {
    const closer = verdict.closer === 'pem' ? pemCloser() : classCloser(bearerBody)
    return { start, end, marker: markerBytes, order: rule.order, closer }
  }
  const shown = verdict.marker === undefined ? markerBytes : utf8(verdict.marker)
  return { start, end, marker: shown, order: rule.order, closer: undefined }
}

/** The whole form, byte for byte. At the end of the stream, its longer beginnings too. */
function judgeKnown(state: State, { start, body }: Candidate, rule: Rule & { is: 'known' }, whole: boolean) {
  const rest = rule.form.length - rule.literal.length
  const view = viewFrom(state, body, rest + 1)
  const same = Math.min(rest, view.text.length)
  for (let at = 0; at < same; at++) {
    if (view.text.charCodeAt(at) !== rule.form[rule.literal.length + at]) return 'no'
  }
  if (view.text.length < rest && !whole) return 'wait'
  if (rule.alone && view.text.length <= rest && !whole) return 'wait'
  if (rule.alone && isWordByte(view.text.charCodeAt(rest))) return 'no'
  const end = same === 0 ? body : view.offset(same - 1) + 1
  // A bare number in JSON must leave JSON behind.
  const inJson = rule.alone && /[:,[]/.test(String.fromCharCode(byteBefore(state, start)))
  const shown = inJson ? utf8(`"${marker}"`) : markerBytes
  return { start, end, marker: shown, order: rule.order, closer: undefined }
}

function judgeToken(state: State, { start, body }: Candidate, rule: Rule & { is: 'token' }, whole: boolean) {
  const { shape } = rule
  const look = Math.max(judgedBytes, (shape.most ?? 0) + 1)
  const view = viewFrom(state, body, look)
  let size = 0
  while (size < view.text.length && shape.body[view.text.charCodeAt(size)] === 1) size++
  const ended = size < view.text.length || whole || size >= look
  if (!ended && (size < shape.least || shape.most !== undefined || shape.test)) return 'wait'
  if (size < shape.least || size > (shape.most ?? Infinity)) return 'no'
  if (shape.test && !shape.test.test(view.text.slice(0, size))) return 'no'
  const end = size === 0 ? body : view.offset(size - 1) + 1
  const closer = size < view.text.length ? undefined : classCloser(shape.body)
  return { start, end, marker: markerBytes, order: rule.order, closer }
}

/** Visible bytes from an offset on, one character each, and where in the stream each stands. */
function viewFrom(state: State, from: number, most: number): { text: string; offset(index: number): number } {
  const { buffer, origin, escapes, seen } = state
  if (!escapes.between(from, seen)) {
    const begin = Math.max(from - origin, 0)
    const text = latin1(buffer.subarray(begin, Math.min(begin + most, seen - origin)))
    return { text, offset: index => origin + begin + index }
  }
  const offsets: number[] = []
  const bytes: number[] = []
  for (let at = from; at < seen && bytes.length < most;) {
    const after = escapes.skip(at)
    if (after !== at) {
      at = after
      continue
    }
    offsets.push(at)
    bytes.push(buffer[at - origin] ?? 0)
    at++
  }
  return { text: latin1(Uint8Array.from(bytes)), offset: index => offsets[index] ?? seen }
}

const classCloser = (body: Uint8Array): Closer => ({ takes: byte => body[byte] === 1, done: () => false })

const pemBytes = 16_384
/** Printable ASCII without quotes, and white space. */
const inKeyFile = Uint8Array.from({ length: 256 }, (_, byte) =>
  (byte > 0x1f && byte < 0x7f && byte !== 0x22 && byte !== 0x27) || [9, 10, 13].includes(byte) ? 1 : 0,
)

/** To the end of the last line of a key file, or to a byte that has no place in one, or far enough. */
function pemCloser(): Closer {
  let tail = ''
  let size = 0
  let done = false
  return {
    takes(byte) {
      if (inKeyFile[byte] !== 1) return false
      tail = (tail + String.fromCharCode(byte)).slice(-60)
      done = /-----END [A-Z0-9 ]{0,40}-----$/.test(tail)
      return ++size < pemBytes
    },
    done: () => done,
  }
}

function grow(state: State, interval: Interval, whole: boolean) {
  const { closer } = interval
  if (!closer) return
  let at = interval.end
  while (at < state.seen) {
    const after = state.escapes.skip(at)
    if (after !== at) {
      at = after
      continue
    }
    if (!closer.takes(state.buffer[at - state.origin] ?? 0)) {
      interval.closer = undefined
      return
    }
    at++
    interval.end = at
    if (closer.done()) break
  }
  if (closer.done() || whole) interval.closer = undefined
}
