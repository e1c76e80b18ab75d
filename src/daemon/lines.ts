// Chunks of a run's output to whole lines, each with the offset where it ends: the same lines for the same bytes,
// however they were cut.

export type Chunk = { offset: number; at: number; stream: 'out' | 'err' | 'pty'; bytes: Uint8Array }
export type Line = {
  text: string
  stream: 'out' | 'err'
  /** Just after its newline. */ end: number
  at: number
}

/** A longer line is cut here; what follows counts as a line of its own. */
export const lineBytesMax = 8 * 1024 * 1024

export type Lines = {
  push(chunk: Chunk): Line[]
  /** What stands unfinished at the end of the output. */
  end(): Line[]
}

type Held = { parts: Uint8Array[]; bytes: number; end: number; at: number }

export function makeLines(): Lines {
  const held: { out: Held; err: Held } = { out: nothing(), err: nothing() }
  return {
    push: chunk => {
      const stream = chunk.stream === 'err' ? 'err' : 'out'
      const lines: Line[] = []
      let from = 0
      while (from < chunk.bytes.length) {
        const newline = chunk.bytes.indexOf(10, from)
        const to = newline < 0 ? chunk.bytes.length : newline
        hold(held[stream], chunk, from, to)
        if (newline >= 0 || held[stream].bytes >= lineBytesMax) {
          held[stream].end = chunk.offset + (newline < 0 ? to : to + 1)
          lines.push(lineOf(held[stream], stream))
          held[stream] = nothing()
        }
        from = newline < 0 ? to : to + 1
      }
      return lines
    },
    end: () =>
      (['out', 'err'] as const).flatMap(stream => {
        const rest = held[stream]
        held[stream] = nothing()
        return rest.bytes > 0 ? [lineOf(rest, stream)] : []
      }),
  }
}

const nothing = (): Held => ({ parts: [], bytes: 0, end: 0, at: 0 })

function hold(held: Held, chunk: Chunk, from: number, to: number): void {
  // Copied: the bytes belong to a larger buffer that would live as long as this unfinished line.
  held.parts.push(chunk.bytes.slice(from, to))
  held.bytes += to - from
  held.end = chunk.offset + to
  held.at = chunk.at
}

function lineOf(held: Held, stream: 'out' | 'err'): Line {
  const text = Buffer.concat(held.parts).toString('utf8')
  return { text: text.endsWith('\r') ? text.slice(0, -1) : text, stream, end: held.end, at: held.at }
}
