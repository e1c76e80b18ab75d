// What a redactor remembers between two pieces of its stream. Offsets count from the stream's beginning.

import { type Escapes } from './escapes.ts'
import { type Compiled, type Rule } from './secret-rules.ts'

/** Something may begin at `start` (offsets in the stream); its trigger ended before `body`. */
export type Candidate = { rule: Rule; start: number; body: number; hold: number | undefined }

/** Found: shown as its marker. While `closer` is there it may still grow. */
export type Interval = {
  start: number
  end: number
  marker: Uint8Array
  order: number
  closer: Closer | undefined
  /** Its marker has been shown. */
  begun?: boolean
}

export type State = {
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

/** Decides byte by byte how far an open interval goes. */
export type Closer = {
  /** False: this byte is no more part of it. */ takes(byte: number): boolean
  done(): boolean
}

/** 0 at the beginning, and after an escape code. */
export function byteBefore(state: State, offset: number): number {
  if (state.escapes.endsAt(offset)) return 0
  return state.buffer[offset - 1 - state.origin] ?? 0
}
