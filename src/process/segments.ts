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

type Segment = { name: string; from: number; size: number; data: number; index: number }

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
  const tail: Segment[] = []
  let current: Segment | undefined
  let total = 0
  let dropped = 0
  let reason: string | null = null
  let entry: { stream: Stream; at: number } | undefined

  function write(stream: Stream, bytes: Uint8Array, at: number) {
    let done = 0
    while (done < bytes.length && reason === null) {
      const segment = roomy()
      if (!segment) break
      const fresh = segment.size === 0 || entry?.stream !== stream
      if (fresh || !entry || at - entry.at >= entryMs || at < entry.at) {
        entry = { stream, at }
        put(segment.index, Buffer.from(`${JSON.stringify({ at, stream, offset: total })}\n`))
      }
      const written = put(segment.data, bytes.subarray(done, done + size - segment.size))
      segment.size += written
      total += written
      done += written
    }
    // Nothing is written any more: what comes is counted all the same.
    dropped += bytes.length - done
  }

  /** The segment to write to; a full one is closed and the next one begun. */
  function roomy(): Segment | undefined {
    if (current && current.size < size) return current
    try {
      if (current) closeSegment(current)
      const name = segmentName(total)
      const data = openSync(join(dir, `${name}.out`), 'a', 0o600)
      current = { name, from: total, size: 0, data, index: openSync(join(dir, `${name}.idx`), 'a', 0o600) }
      if (total >= limits.headBytes) tail.push(current)
      thin()
      return current
    } catch (error) {
      reason = (error as Error).message
      return undefined
    }
  }

  function thin() {
    let held = tail.reduce((sum, segment) => sum + segment.size, 0)
    while (tail.length > 1 && held > limits.tailBytes - size) {
      const oldest = tail.shift() as Segment
      held -= oldest.size
      dropped += oldest.size
      unlinkSync(join(dir, `${oldest.name}.out`))
      unlinkSync(join(dir, `${oldest.name}.idx`))
    }
  }

  function put(fd: number, bytes: Uint8Array): number {
    let done = 0
    try {
      while (done < bytes.length) done += writeSync(fd, bytes, done, bytes.length - done)
    } catch (error) {
      reason = (error as Error).message
    }
    return done
  }

  function closeSegment(segment: Segment) {
    closeSync(segment.data)
    closeSync(segment.index)
  }

  return {
    write,
    bytes: () => total,
    dropped: () => dropped,
    ended: () => reason,
    close() {
      if (current) closeSegment(current)
      current = undefined
    },
  }
}
