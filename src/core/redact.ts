// Secrets out of bytes: streaming, pure, and the same answer however the bytes were cut.
//
// One table look-up per byte tells where something may begin (secret-search.ts); only there does anything else run.
// Whatever is found is an interval over the stream; what is shown is the stream without the union of the intervals.
// Colour codes are invisible to the search, so a secret with one inside is found, and they are shown all the same.

import { type Escapes, makeEscapes } from './escapes.ts'
import { byLines } from './redact-lines.ts'
import { type Compiled, type Rule, compileRules } from './secret-rules.ts'
import { type Search } from './secret-search.ts'
import { bearerBody, isWordByte, judgedBytes } from './secret-shapes.ts'
import { judgedAhead } from './secret-values.ts'
import { join, latin1, utf8, utf8Text } from './utf8.ts'

export type Redactor = {
  /** Gives what is safe by now; what may be the beginning of a secret is held back, within bounds. */
  push(bytes: Uint8Array): Uint8Array
  /** After a short silence: gives up to two held bytes, so that a prompt is whole on the screen. */
  flush(): Uint8Array
  /** The rest. Nothing may be pushed after it. */
  end(): Uint8Array
}

const marker = '[redacted]'
const markerBytes = utf8(marker)

/**
 * `values` are known secrets: those under 6 bytes are left alone. `extra` patterns apply to single lines of at most
 * 16 KB, which are then held back until they end.
 */
export function makeRedactor(input: { values: readonly string[]; extra?: readonly RegExp[] }): Redactor {
  const stream = makeStream(compileFor(input.values))
  if (!input.extra || input.extra.length === 0) return stream
  return byLines(stream, input.extra)
}

export function redactText(text: string, values: readonly string[] = []): string {
  const stream = makeStream(compileFor(values))
  const [first, last] = [stream.push(utf8(text)), stream.end()]
  if (!stream.found()) return text
  return utf8Text(join([first, last]))
}

const compiled = new Map<string, Compiled>()
const mostCompiled = 8

/** The tables are the same for the same values: a few are kept. */
function compileFor(values: readonly string[]): Compiled {
  const key = JSON.stringify(values)
  const known = compiled.get(key)
  if (known) return known
  if (compiled.size >= mostCompiled) compiled.delete(compiled.keys().next().value ?? '')
  const made = compileRules(values)
  compiled.set(key, made)
  return made
}

/** Something may begin at `start` (offsets in the stream); its trigger ended before `body`. */
type Candidate = { rule: Rule; start: number; body: number; hold: number | undefined }

/** Found: shown as its marker. While `closer` is there it may still grow. */
type Interval = {
  start: number
  end: number
  marker: Uint8Array
  order: number
  closer: Closer | undefined
  /** Its marker has been shown. */
  begun?: boolean
}

type State = {
  search: Compiled['search']
  rules: readonly Rule[]
  /** What is not shown yet, after a few bytes that are. `origin` is the offset of its first byte. */
  buffer: Uint8Array
  origin: number
  shown: number
  /** The search's row, and the offset after the last byte that it saw. */
  table: number
  seen: number
  escapes: Escapes
  candidates: Candidate[]
  intervals: Interval[]
  /** Everything before this offset is covered by an interval that was begun. */
  covered: number
  found: boolean
}

const escapeByte = 0x1b
const backslash = 0x5c

/** Nothing is waited for any longer than this: colour codes without end, a secret of megabytes. */
const keptBytes = 131_072

/** Bytes kept after they were shown: what stands before a token decides whether it is one. */
const history = 16

function makeStream(rules: Compiled): Redactor & { found(): boolean } {
  const state: State = {
    search: rules.search,
    rules: rules.rules,
    buffer: new Uint8Array(0),
    origin: 0,
    shown: 0,
    table: 0,
    seen: 0,
    escapes: makeEscapes(),
    candidates: [],
    intervals: [],
    covered: 0,
    found: false,
  }
  return {
    push(bytes) {
      take(state, bytes)
      judge(state, false)
      return show(state, safeOffset(state))
    },
    flush() {
      const held = state.search.held[state.table / state.search.width] ?? 0
      const candidate = Math.min(...state.candidates.map(({ hold }) => hold ?? Infinity))
      const offset = held <= 2 ? Math.min(state.seen, candidate) : safeOffset(state)
      return show(state, Math.max(offset, state.shown))
    },
    end() {
      state.escapes.end(byte => feed(state, byte))
      judge(state, true)
      return show(state, state.origin + state.buffer.length)
    },
    found: () => state.found,
  }
}

function take(state: State, bytes: Uint8Array) {
  const from = state.origin + state.buffer.length
  state.buffer = state.buffer.length === 0 ? bytes : join([state.buffer, bytes])
  const { search, escapes } = state
  const visible = (found: { byte: number; at: number }) => feed(state, found)
  const cursor: Cursor = { at: 0, row: state.table, ended: false }
  while (cursor.at < bytes.length) {
    if (!escapes.open()) {
      cursor.row = state.table
      glide(search, bytes, cursor)
      state.table = cursor.row
      state.seen = Math.max(state.seen, from + cursor.at)
      if (cursor.ended) trigger(state, cursor.row)
      if (cursor.at >= bytes.length) return
    }
    const byte = bytes[cursor.at] as number
    if (byte === escapeByte || byte === backslash || escapes.open())
      escapes.step(byte, from + cursor.at++, visible)
  }
  if (!escapes.open()) state.seen = Math.max(state.seen, from + bytes.length)
}

/** Goes on until a literal has ended, an escape code may begin, or the bytes are at their end. */
function glide({ columns, next, firstEnd }: Search, bytes: Uint8Array, cursor: Cursor) {
  const { length } = bytes
  let { at, row } = cursor
  cursor.ended = false
  for (; at < length; at++) {
    const byte = bytes[at] as number
    if (byte === escapeByte || byte === backslash) break
    row = next[row + (columns[byte] as number)] as number
    if (row >= firstEnd) {
      cursor.ended = true
      at++
      break
    }
  }
  cursor.at = at
  cursor.row = row
}

type Cursor = { at: number; row: number; /** A literal ended just before `at`. */ ended: boolean }

/** One visible byte, by the slow way: `at` is its offset. */
function feed(state: State, { byte, at }: { byte: number; at: number }) {
  const { columns, next, firstEnd } = state.search
  state.table = next[state.table + (columns[byte] as number)] as number
  state.seen = at + 1
  if (state.table >= firstEnd) trigger(state, state.table)
}

function trigger(state: State, table: number) {
  for (const index of state.search.ends[table / state.search.width] ?? []) {
    const rule = state.rules[index] as Rule
    const start = state.escapes.back(state.seen, rule.literal.length)
    if (rule.is !== 'known' && !mayFollow(state, rule, start)) continue
    if (rule.is === 'known' && rule.alone && isWordByte(byteBefore(state, start))) continue
    state.candidates.push({ rule, start, body: state.seen, hold: rule.hold ? start : undefined })
  }
}

/** A token begins where a word does: `task-…` has no `sk-…` in it. */
function mayFollow(state: State, rule: Rule, start: number): boolean {
  if (rule.is !== 'token') return true
  const before = byteBefore(state, start)
  if (rule.shape.after) return rule.shape.after.test(before === 0 ? '' : String.fromCharCode(before))
  return !isWordByte(before)
}

/** 0 at the beginning, and after an escape code. */
function byteBefore(state: State, offset: number): number {
  if (state.escapes.endsAt(offset)) return 0
  return state.buffer[offset - 1 - state.origin] ?? 0
}

function judge(state: State, whole: boolean) {
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
    case 'before': {
      const view = viewFrom(state, candidate.body, judgedAhead)
      const verdict = rule.judge(view.text, whole)
      if (verdict.is === 'no') return 'no'
      if (verdict.is === 'wait') {
        if (verdict.hold !== undefined)
          candidate.hold = rule.hold ? candidate.start : view.offset(verdict.hold)
        return 'wait'
      }
      const start = rule.hold ? candidate.start : view.offset(verdict.from)
      if (verdict.is === 'open') {
        const closer = verdict.closer === 'pem' ? pemCloser() : classCloser(bearerBody)
        const end = verdict.to > verdict.from ? view.offset(verdict.to - 1) + 1 : candidate.body
        return { start, end, marker: markerBytes, order: rule.order, closer }
      }
      const shown = verdict.marker === undefined ? markerBytes : utf8(verdict.marker)
      return {
        start,
        end: view.offset(verdict.to - 1) + 1,
        marker: shown,
        order: rule.order,
        closer: undefined,
      }
    }
  }
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

/** Decides byte by byte how far an open interval goes. */
type Closer = { /** False: this byte is no more part of it. */ takes(byte: number): boolean; done(): boolean }

const classCloser = (body: Uint8Array): Closer => ({ takes: byte => body[byte] === 1, done: () => false })

const pemBytes = 16_384

/** To the end of the last line of a key file, or to a byte that has no place in one, or far enough. */
function pemCloser(): Closer {
  let tail = ''
  let size = 0
  let done = false
  return {
    takes(byte) {
      if (
        byte === 0x22 ||
        byte === 0x27 ||
        byte > 0x7e ||
        (byte < 0x20 && byte !== 10 && byte !== 13 && byte !== 9)
      )
        return false
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

/** Up to here nothing can become a secret any more. */
function safeOffset(state: State): number {
  const held = state.search.held[state.table / state.search.width] ?? 0
  const searching = held === 0 ? state.seen : state.escapes.back(state.seen, held)
  let offset = Math.min(searching, state.seen)
  for (const { hold } of state.candidates) if (hold !== undefined && hold < offset) offset = hold
  return Math.max(offset, state.shown)
}

/** Gives what lies before `offset`, each interval as its marker, and forgets it. */
function show(state: State, offset: number): Uint8Array {
  const pieces: Uint8Array[] = []
  const piece = (from: number, to: number) => {
    if (to > from) pieces.push(state.buffer.subarray(from - state.origin, to - state.origin))
  }
  const hidden = (from: number, to: number) => {
    for (const code of state.escapes.within(from, to)) piece(code.from, code.to)
  }
  let at = state.shown
  const begun = state.intervals.filter(({ start }) => start < offset)
  for (const interval of begun.sort((a, b) => a.start - b.start || a.order - b.order)) {
    if (!interval.begun && interval.start >= state.covered) {
      hidden(at, Math.min(state.covered, offset))
      piece(Math.max(at, state.covered), interval.start)
      pieces.push(interval.marker)
      at = interval.start
      state.covered = interval.start
    }
    interval.begun = true
    state.covered = Math.max(state.covered, interval.end)
  }
  hidden(at, Math.min(state.covered, offset))
  piece(Math.max(at, state.covered), offset)
  forget(state, offset)
  return pieces.length === 1 ? (pieces[0] as Uint8Array) : join(pieces)
}

function forget(state: State, offset: number) {
  state.shown = offset
  // An interval that was begun is done with once it has ended; one that still grows stays.
  state.intervals = state.intervals.filter(
    ({ start, end, closer }) => closer || start >= offset || end > offset,
  )
  // What is being judged is looked at from its trigger on.
  const judged = Math.min(...state.candidates.map(({ body }) => body))
  const keep = Math.max(state.origin, Math.min(offset, judged) - history)
  state.buffer = state.buffer.slice(keep - state.origin)
  state.origin = keep
  state.escapes.forget(keep)
}
