// Reads a run's output from disk by offset, while it is written or long after.

import { closeSync, openSync, readFileSync, readSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { type Stream, outputDir } from './segments.ts'
import { shownLines, textOf } from './text.ts'

export { shownLines, textOf }
export type { Stream }

export type Chunk = { offset: number; at: number; stream: Stream; bytes: Uint8Array }

type Entry = { at: number; stream: Stream; offset: number }
type Segment = { name: string; from: number; to: number }

/**
 * From an offset of the redacted stream, at most `maxBytes`. `next` is where to go on; `dropped` bytes between were
 * not kept. A folder without output has none.
 */
export function readOutput(
  runDir: string,
  from: number,
  maxBytes: number,
): { chunks: Chunk[]; next: number; dropped: number } {
  const dir = outputDir(runDir)
  const chunks: Chunk[] = []
  let next = from
  let dropped = 0
  let room = maxBytes
  for (const segment of segmentsOf(dir)) {
    if (segment.to <= next) continue
    if (room <= 0) break
    const bytes = bytesOf(dir, segment, Math.max(next, segment.from), room)
    // Deleted a moment ago to make room for the tail.
    if (bytes === undefined) continue
    if (segment.from > next) dropped += segment.from - next
    next = Math.max(next, segment.from)
    chunks.push(...cut(entriesOf(dir, segment), next, bytes))
    next += bytes.length
    room -= bytes.length
  }
  return { chunks, next, dropped }
}

const tailBytes = 262_144

/** The last `n` lines of one stream, or of all: no escape codes, progress bars in their last state. */
export function lastLines(runDir: string, stream: Stream | undefined, n: number): string[] {
  const end = segmentsOf(outputDir(runDir)).at(-1)?.to ?? 0
  for (let look = tailBytes; ; look *= 8) {
    const from = Math.max(0, end - look)
    const { chunks } = readOutput(runDir, from, look + tailBytes)
    const wanted = chunks.filter(chunk => stream === undefined || chunk.stream === stream)
    const lines = shownLines(textOf(wanted))
    // The first line may be cut; with more than enough lines it does not show.
    if (lines.length > n || from === 0 || look > 64_000_000) return lines.slice(-n)
  }
}

function segmentsOf(dir: string): Segment[] {
  let names: string[]
  try {
    names = readdirSync(dir)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw error
  }
  const found = names.filter(name => name.endsWith('.out')).sort()
  return found.flatMap(file => {
    const name = file.slice(0, -4)
    const size = sizeOf(join(dir, file))
    return size === undefined ? [] : { name, from: Number(name), to: Number(name) + size }
  })
}

function sizeOf(file: string): number | undefined {
  try {
    return statSync(file).size
  } catch {
    return undefined
  }
}

function bytesOf(dir: string, segment: Segment, from: number, most: number): Uint8Array | undefined {
  let fd: number
  try {
    fd = openSync(join(dir, `${segment.name}.out`), 'r')
  } catch {
    return undefined
  }
  try {
    const bytes = Buffer.alloc(Math.min(most, segment.to - from))
    let done = 0
    while (done < bytes.length) {
      const read = readSync(fd, bytes, done, bytes.length - done, from - segment.from + done)
      if (read === 0) break
      done += read
    }
    return bytes.subarray(0, done)
  } finally {
    closeSync(fd)
  }
}

/** Entries are written before their bytes; a last line that is cut off belongs to bytes that are not there yet. */
function entriesOf(dir: string, segment: Segment): Entry[] {
  let text: string
  try {
    text = readFileSync(join(dir, `${segment.name}.idx`), 'utf8')
  } catch {
    text = ''
  }
  const entries = text
    .split('\n')
    .slice(0, -1)
    .map(line => JSON.parse(line) as Entry)
  return entries.length > 0 ? entries : [{ at: 0, stream: 'out', offset: segment.from }]
}

function cut(entries: readonly Entry[], from: number, bytes: Uint8Array): Chunk[] {
  const end = from + bytes.length
  return entries.flatMap((entry, index) => {
    const to = Math.min(end, entries[index + 1]?.offset ?? end)
    const begin = Math.max(from, entry.offset)
    if (begin >= to) return []
    return {
      offset: begin,
      at: entry.at,
      stream: entry.stream,
      bytes: bytes.subarray(begin - from, to - from),
    }
  })
}
