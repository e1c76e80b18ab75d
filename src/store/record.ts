// One recorded fact as text: the line of a segment, which is also the body of its row.

import { type Event, type Fact, type Stamp } from '../core/event.ts'

/** An event and the very text it is kept as. */
export type Kept = { event: Event; line: string }

/** What the bytes of a segment hold: every whole record in file order, and what else is in there. */
export type Parsed = {
  kept: Kept[]
  /** Why these bytes are not exactly what was written; empty when they are. */
  faults: string[]
  /** Fragments from which no record could be read. */
  dropped: number
  /** The highest seq seen, in fragments too: none below it is given out again. */
  highest: number
}

/** `seq` comes first: by it a record is found in damaged bytes. */
export const stamped = (fact: Fact & { because?: number }, stamp: Stamp): Event => ({ ...stamp, ...fact })

/** When it was recorded, to compare by: the record itself keeps its clock as it was written. */
export function wallOf(event: Event): number {
  const at = typeof event.at === 'number' ? event.at : Date.parse(String(event.at))
  return Number.isFinite(at) ? Math.trunc(at) : 0
}

/** The files that an event speaks of, each once. */
export function pathsOf(event: Event): string[] {
  if (event.kind === 'file.changed')
    return event.from === undefined ? [event.path] : [...new Set([event.path, event.from])]
  if (event.kind === 'tool.called' || event.kind === 'trespass.seen') return [...new Set(event.paths ?? [])]
  return []
}

/**
 * Reads the bytes of a segment whatever happened to them: a torn last line, zero bytes, a whole record
 * glued behind a torn one, a byte order mark, other line endings, disorder, duplicates. Of two records with
 * one seq the first counts.
 */
export function parseSegment(bytes: Uint8Array): Parsed {
  const faults = new Set<string>()
  let text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8')
  if (text.startsWith('\uFEFF')) {
    faults.add('byte order mark')
    text = text.slice(1)
  }
  if (text.includes('\r')) faults.add('other line endings')
  if (text.includes('\0')) faults.add('zero bytes')
  const lines = text.split('\n')
  if (lines.at(-1) === '') lines.pop()
  else faults.add('no final newline')
  return parseLines(lines, faults)
}

/**
 * The text that an event is kept as: one line, `seq` first. A real U+FFFD is escaped: a bare one is a
 * damaged byte.
 */
export const lineOf = (event: Event): string => JSON.stringify(event).replaceAll('\uFFFD', '\\ufffd')

function parseLines(lines: string[], faults: Set<string>): Parsed {
  const result: Parsed = { kept: [], faults: [], dropped: 0, highest: 0 }
  const seen = new Set<number>()
  for (const raw of lines) {
    for (const { event, line } of parseLine(raw, result, faults)) {
      if (seen.has(event.seq)) {
        faults.add('duplicates')
        continue
      }
      if (event.seq < result.highest) faults.add('disorder')
      seen.add(event.seq)
      result.kept.push({ event, line })
      result.highest = Math.max(result.highest, event.seq)
    }
  }
  if (result.dropped > 0) {
    faults.add(`${result.dropped} torn`)
    for (const line of lines) result.highest = Math.max(result.highest, highestIn(line))
  }
  result.faults = [...faults]
  return result
}

function parseLine(raw: string, result: Parsed, faults: Set<string>): Kept[] {
  const whole = keptOf(raw)
  if (whole !== undefined) return [whole]
  const text = raw.replaceAll('\0', '').trim()
  if (text === '') {
    faults.add('blank lines')
    return []
  }
  const clean = keptOf(text)
  if (clean !== undefined) return [clean]
  const pieces = text.split(recordStart)
  const found = pieces.map(keptOf).filter(record => record !== undefined)
  result.dropped += pieces.length - found.length
  return found
}

/** Every record begins so, and nothing inside one does: quotes in strings are escaped. */
const recordStart = /(?=\{"seq":\d)/

export function keptOf(line: string): Kept | undefined {
  try {
    const event = JSON.parse(line) as Event | null
    if (!Number.isSafeInteger(event?.seq) || (event?.seq ?? 0) < 1 || typeof event?.kind !== 'string')
      return undefined
    return line.includes('\uFFFD') ? undefined : { event, line: line.trim() }
  } catch {
    return undefined
  }
}

/**
 * The highest number that a record, whole or torn, bears here. One that breaks off may be longer than it
 * looks.
 */
function highestIn(line: string): number {
  let highest = 0
  for (const [, digits] of line.matchAll(/\{"seq":(\d{1,15}),/g)) highest = Math.max(highest, Number(digits))
  return highest
}
