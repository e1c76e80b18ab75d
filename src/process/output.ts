// A run's output on disk: segments of redacted bytes with an index; read by offset, shown as text.

export type Stream = 'out' | 'err' | 'pty'
export type Chunk = { offset: number; at: number; stream: Stream; bytes: Uint8Array }

/** From an offset of the redacted stream. `next` is where to go on; `dropped` bytes before the first chunk were not kept. */
export declare function readOutput(
  runDir: string,
  from: number,
  maxBytes: number,
): { chunks: Chunk[]; next: number; dropped: number }

/** The last `n` lines as a person would see them: no escape codes, progress bars in their last state. */
export declare function lastLines(runDir: string, stream: Stream | undefined, n: number): string[]

/** Text of chunks of one stream, decoded across their borders: broken bytes become U+FFFD, nothing else changes. */
export declare function textOf(chunks: readonly { bytes: Uint8Array }[]): string

/** Lines as a person would see them: no escape codes, no other control codes, what a carriage return overwrote gone. */
export declare function shownLines(text: string): string[]
