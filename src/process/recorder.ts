// From the agent's bytes to its output on disk, through the redactor.

import { makeRedactor } from '../core/redact.ts'
import { type OutputWriter, type Stream } from './segments.ts'

export type Recorder = {
  take(stream: Stream, bytes: Uint8Array): void
  /** When the last byte came. */
  outputAt(): number | null
  /** Writes what was held back, and closes. */
  end(): void
}

export type RecorderInput = {
  writer: OutputWriter
  secrets: readonly string[]
  patterns: readonly RegExp[]
  now: () => number
  /** Called after every write, with the offset where the output ends. */
  onWrite: (next: number) => void
}

/** After this silence, the last bytes of a prompt are shown too. */
const silenceMs = 200

/** Each stream has a redactor of its own: a secret may be cut anywhere within one. */
export function makeRecorder({ writer, secrets, patterns, now, onWrite }: RecorderInput): Recorder {
  const redactors = new Map<Stream, ReturnType<typeof makeRedactor>>()
  let silence: NodeJS.Timeout | undefined
  let outputAt: number | null = null

  const redactorOf = (stream: Stream) => {
    const known = redactors.get(stream) ?? makeRedactor({ values: secrets, extra: patterns })
    redactors.set(stream, known)
    return known
  }
  const put = (stream: Stream, bytes: Uint8Array) => {
    if (bytes.length === 0) return
    writer.write(stream, bytes, now())
    onWrite(writer.bytes())
  }
  const hush = () => {
    for (const [stream, redactor] of redactors) put(stream, redactor.flush())
  }
  return {
    take(stream, bytes) {
      outputAt = now()
      put(stream, redactorOf(stream).push(bytes))
      silence = silence?.refresh() ?? setTimeout(hush, silenceMs)
    },
    outputAt: () => outputAt,
    end() {
      clearTimeout(silence)
      for (const [stream, redactor] of redactors) put(stream, redactor.end())
      redactors.clear()
      writer.close()
    },
  }
}
