// The segments: the facts once more, as lines of bounded files, so that a damaged database costs nothing.

import { closeSync, fstatSync, ftruncateSync, openSync, readFileSync, readSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { atomicWrite, isMissing, privateFileMode, removeIfThere, syncDir, writeAll } from './files.ts'
import { type Parsed, parseSegment } from './record.ts'
import { type Seal, printOf, samePrint } from './seal.ts'

/** A new file is begun rather than letting one grow beyond this. */
export const segmentBytes = 4 * 1024 * 1024

/** The segments in order. Anything else in the folder is none of ours. */
export function segmentNames(dir: string): string[] {
  try {
    return readdirSync(dir)
      .filter(name => /^\d{4,}\.jsonl$/.test(name))
      .sort((a, b) => Number.parseInt(a, 10) - Number.parseInt(b, 10))
  } catch (error) {
    if (isMissing(error)) return []
    throw error
  }
}

export const segmentName = (number: number): string => `${String(number).padStart(4, '0')}.jsonl`

export const readSegment = (dir: string, name: string): Parsed => parseSegment(readFileSync(join(dir, name)))

/** What the segments are found to be at a start. */
export type SegmentsFound = {
  names: string[]
  /** Those that are as they were written. */
  clean: Seal['segments']
  /** The highest seq of a whole record, and of any, fragments included. */
  last: number
  highest: number
  /**
   * From this name's index on everything is to be written anew, with the facts after `seq`; `intact` were
   * readable.
   */
  damagedFrom: { index: number; seq: number; intact: number } | undefined
  /** What is wrong, in words, and the damaged files, which are to be kept. */
  faults: string[]
  damaged: string[]
}

/** Looks at every segment that does not look as it was sealed, and at all behind a damaged one. */
export function inspectSegments(dir: string, seal: Seal): SegmentsFound {
  const names = segmentNames(dir)
  const found: SegmentsFound = {
    names,
    clean: {},
    last: 0,
    highest: 0,
    damagedFrom: undefined,
    faults: [],
    damaged: [],
  }
  const missing = Object.keys(seal.segments).filter(name => !names.includes(name))
  if (missing.length > 0) {
    found.damagedFrom = { index: 0, seq: 0, intact: 0 }
    found.faults.push(...missing.map(name => `${name}: missing`))
  }
  for (const [index, name] of names.entries()) inspectOne(dir, name, index, seal, found)
  found.highest = Math.max(found.highest, found.last)
  return found
}

function inspectOne(dir: string, name: string, index: number, seal: Seal, found: SegmentsFound): void {
  const sealed = seal.segments[name]
  const print = printOf(join(dir, name))
  if (found.damagedFrom === undefined && sealed !== undefined && samePrint(print, sealed)) {
    found.last = Math.max(found.last, sealed.last)
    found.clean[name] = sealed
    return
  }
  const parsed = readSegment(dir, name)
  const seqs = parsed.kept.map(({ event }) => event.seq)
  const faults = [...parsed.faults]
  if (seqs.length > 0 && least(seqs) <= found.last) faults.push('overlaps the one before')
  if (faults.length > 0) {
    found.damagedFrom ??= { index, seq: found.last, intact: 0 }
    found.damaged.push(name)
    found.faults.push(`${name}: ${faults.join(', ')}`)
  }
  if (found.damagedFrom !== undefined) found.damagedFrom.intact += seqs.length
  found.last = Math.max(found.last, greatest(seqs))
  found.highest = Math.max(found.highest, parsed.highest)
  if (print !== undefined && found.damagedFrom === undefined)
    found.clean[name] = { ...print, last: found.last }
}

/**
 * Writes the segments anew from the index of `damagedFrom` on, with `lines` of all later facts. A crash on
 * the way leaves files that overlap, which the next start finds and writes again.
 */
export function rewriteSegments(
  dir: string,
  found: SegmentsFound,
  kept: Iterable<{ seq: number; line: string }>,
  limit = segmentBytes,
): Seal['segments'] {
  const { index } = found.damagedFrom ?? { index: found.names.length }
  const seals = { ...found.clean }
  const replaced = found.names.slice(index)
  let number = replaced[0] === undefined ? index + 1 : Number.parseInt(replaced[0], 10)
  let lines: string[] = []
  let bytes = 0
  let last = 0
  const flush = () => {
    if (lines.length === 0) return
    const name = segmentName(number++)
    atomicWrite(join(dir, name), `${lines.join('\n')}\n`)
    const print = printOf(join(dir, name))
    if (print !== undefined) seals[name] = { ...print, last }
    lines = []
    bytes = 0
  }
  for (const { seq, line } of kept) {
    const size = Buffer.byteLength(line) + 1
    if (bytes + size > limit) flush()
    lines.push(line)
    bytes += size
    last = seq
  }
  flush()
  for (const name of replaced) if (seals[name] === undefined) removeIfThere(join(dir, name))
  syncDir(dir)
  return seals
}

const least = (numbers: number[]): number => numbers.reduce((a, b) => Math.min(a, b), Infinity)
const greatest = (numbers: number[]): number => numbers.reduce((a, b) => Math.max(a, b), 0)

export type SegmentWriter = {
  /** One write. Throws when it could not be written whole; then nothing of it stays. */
  append(lines: string[], last: number): void
  close(): void
}

/** Writes behind the segments that are there. `onFull` is told of each one that has become full. */
export function openSegments(
  dir: string,
  onFull: (name: string, last: number) => void,
  limit = segmentBytes,
): SegmentWriter {
  const last = segmentNames(dir).at(-1)
  let number = last === undefined ? 1 : Number.parseInt(last, 10)
  let lastSeq = 0
  let fd = openSync(join(dir, segmentName(number)), 'a', privateFileMode)
  let size = fstatSync(fd).size
  let torn = false

  const next = () => {
    closeSync(fd)
    onFull(segmentName(number), lastSeq)
    number += 1
    fd = openSync(join(dir, segmentName(number)), 'a', privateFileMode)
    size = fstatSync(fd).size
  }

  return {
    append(lines, seq) {
      const bytes = Buffer.from(`${torn ? '\n' : ''}${lines.join('\n')}\n`)
      if (size > 0 && size + bytes.length > limit) next()
      try {
        writeAll(fd, bytes)
      } catch (error) {
        torn = !cutBack(fd, size)
        if (torn) size = fstatSync(fd).size
        throw error
      }
      torn = false
      size += bytes.length
      lastSeq = seq
    },
    close: () => closeSync(fd),
  }
}

/**
 * The seq of the last whole line, read from the end of the last segment: cheap, for readers. 0 when none is
 * seen.
 */
export function lastInSegments(dir: string): number {
  const name = segmentNames(dir).at(-1)
  if (name === undefined) return 0
  const fd = openSync(join(dir, name), 'r')
  try {
    const { size } = fstatSync(fd)
    const tail = Buffer.alloc(Math.min(size, 64 * 1024))
    const read = readSync(fd, tail, 0, tail.length, size - tail.length)
    const lines = tail.subarray(0, read).toString('utf8').split('\n')
    // What stands before the first line break may be the end of a longer record.
    return parseSegment(Buffer.from(lines.slice(size > tail.length ? 1 : 0).join('\n'))).kept.reduce(
      (last, { event }) => Math.max(last, event.seq),
      0,
    )
  } finally {
    closeSync(fd)
  }
}

function cutBack(fd: number, size: number): boolean {
  try {
    ftruncateSync(fd, size)
    return true
  } catch {
    return false
  }
}
