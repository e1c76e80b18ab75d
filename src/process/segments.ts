// Writes a run's output: head and tail in segments of redacted bytes, each with an index of when and from where.

import { closeSync, mkdirSync, openSync, unlinkSync, writeSync } from 'node:fs'
import { join } from 'node:path'

export type Stream = 'out' | 'err' | 'pty'

export type OutputWriter = {
  /** Bytes as they are to be read; never throws. `at` is ms since 1970. */
  write(stream: Stream, bytes: Uint8Array, at: number): void
  /** Where the output ends, dropped bytes included. */
  bytes(): number
  dropped(): number
  /** Why nothing is written any more. */
  ended(): string | null
  close(): void
}

/** Entries of the index are at most this far apart in time for one stream that goes on. */
const entryMs = 100
const segmentBytes = 1_000_000

type Segment = { name: string; size: number; data: number; index: number }

type Log = {
  dir: string
  limits: { headBytes: number; tailBytes: number }
  /** Of one segment. */
  size: number
  current: Segment | undefined
  /** Segments after the head, oldest first: what goes when there is too much. */
  tail: Segment[]
  entry: { stream: Stream; at: number } | undefined
  total: number
  dropped: number
  reason: string | null
}

export const outputDir = (runDir: string) => join(runDir, 'output')
export const segmentName = (from: number) => String(from).padStart(15, '0')

/**
 * The first `headBytes` and the last `tailBytes` stay, to a segment's size; what lies between is deleted as the run
 * goes on. A disk that is full ends the log, not the run.
 */
export function openOutput(runDir: string, limits: { headBytes: number; tailBytes: number }): OutputWriter {
  const dir = outputDir(runDir)
  mkdirSync(dir, { recursive: true, mode: 0o700 })
  const size = Math.max(4096, Math.min(segmentBytes, Math.floor(limits.tailBytes / 4)))
  const nothing = { current: undefined, tail: [], entry: undefined, total: 0, dropped: 0, reason: null }
  const log: Log = { dir, limits, size, ...nothing }
  return {
    write: (stream, bytes, at) => write(log, { stream, bytes, at }),
    bytes: () => log.total,
    dropped: () => log.dropped,
    ended: () => log.reason,
    close() {
      if (log.current) closeSegment(log.current)
      log.current = undefined
    },
  }
}

function write(log: Log, { stream, bytes, at }: { stream: Stream; bytes: Uint8Array; at: number }) {
  let done = 0
  while (done < bytes.length && log.reason === null) {
    const segment = roomy(log)
    if (!segment) break
    const { entry } = log
    const fresh = segment.size === 0 || entry?.stream !== stream
    if (fresh || at - entry.at >= entryMs || at < entry.at) {
      log.entry = { stream, at }
      put(log, segment.index, Buffer.from(`${JSON.stringify({ at, stream, offset: log.total })}\n`))
    }
    const written = put(log, segment.data, bytes.subarray(done, done + log.size - segment.size))
    segment.size += written
    log.total += written
    done += written
  }
  // Nothing is written any more: what comes is counted all the same.
  log.dropped += bytes.length - done
}

/** The segment to write to; a full one is closed and the next one begun. */
function roomy(log: Log): Segment | undefined {
  if (log.current && log.current.size < log.size) return log.current
  try {
    if (log.current) closeSegment(log.current)
    log.current = undefined
    const name = segmentName(log.total)
    const data = openSync(join(log.dir, `${name}.out`), 'a', 0o600)
    log.current = { name, size: 0, data, index: openSync(join(log.dir, `${name}.idx`), 'a', 0o600) }
    if (log.total >= log.limits.headBytes) log.tail.push(log.current)
    thin(log)
    return log.current
  } catch (error) {
    log.reason = (error as Error).message
    return undefined
  }
}

function thin(log: Log) {
  let held = log.tail.reduce((sum, segment) => sum + segment.size, 0)
  while (log.tail.length > 1 && held > log.limits.tailBytes - log.size) {
    const oldest = log.tail.shift() as Segment
    held -= oldest.size
    log.dropped += oldest.size
    unlinkSync(join(log.dir, `${oldest.name}.out`))
    unlinkSync(join(log.dir, `${oldest.name}.idx`))
  }
}

/** Gives how many bytes were written: fewer than all where the disk is full, and then the log has ended. */
function put(log: Log, fd: number, bytes: Uint8Array): number {
  let done = 0
  try {
    while (done < bytes.length) done += writeSync(fd, bytes, done, bytes.length - done)
  } catch (error) {
    log.reason = (error as Error).message
  }
  return done
}

function closeSegment(segment: Segment) {
  closeSync(segment.data)
  closeSync(segment.index)
}
