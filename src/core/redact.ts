// Secrets out of bytes: streaming, pure, and the same answer however the bytes were cut.
//
// One table look-up per byte tells where something may begin (secret-search.ts); only there does anything else run.
// Whatever is found is an interval over the stream; what is shown is the stream without the union of the intervals.
// Colour codes are invisible to the search, so a secret with one inside is found, and they are shown all the same.

import { makeEscapes } from './escapes.ts'
import { judge } from './redact-judge.ts'
import { byLines } from './redact-lines.ts'
import { type State, byteBefore } from './redact-state.ts'
import { type Compiled, type Rule, compileRules } from './secret-rules.ts'
import { type Search } from './secret-search.ts'
import { isWordByte } from './secret-shapes.ts'
import { join, utf8, utf8Text } from './utf8.ts'

export type Redactor = {
  /** Gives what is safe by now; what may be the beginning of a secret is held back, within bounds. */
  push(bytes: Uint8Array): Uint8Array
  /** After a short silence: gives up to two held bytes, so that a prompt is whole on the screen. */
  flush(): Uint8Array
  /** The rest. Nothing may be pushed after it. */
  end(): Uint8Array
}

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

const escapeByte = 0x1b
const backslash = 0x5c

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
