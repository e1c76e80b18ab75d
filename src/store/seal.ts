// The seal: how database and segments were left. What still looks so at the next start needs no check.

import { statSync } from 'node:fs'
import { atomicWrite, readIfThere } from './files.ts'

/** Size and times of a file, to the nanosecond: changed by every write, also by one that keeps the size. */
export type Print = { bytes: number; changed: string }

export type Seal = {
  /** Only after a close in order. */
  database?: Print
  /** By file name; `last` is the highest seq in it. */
  segments: { [name: string]: Print & { last: number } }
}

export function printOf(file: string): Print | undefined {
  const stat = statSync(file, { bigint: true, throwIfNoEntry: false })
  return stat === undefined
    ? undefined
    : { bytes: Number(stat.size), changed: `${stat.mtimeNs} ${stat.ctimeNs}` }
}

export const samePrint = (a: Print | undefined, b: Print | undefined): boolean =>
  a !== undefined && b !== undefined && a.bytes === b.bytes && a.changed === b.changed

/** An unreadable seal is none: then everything is checked. */
export function readSeal(file: string): Seal {
  try {
    const seal = JSON.parse(readIfThere(file)?.toString() ?? '') as Seal | null
    if (seal !== null && typeof seal.segments === 'object') return seal
  } catch {
    // Falls through to "nothing is sealed".
  }
  return { segments: {} }
}

export const writeSeal = (file: string, seal: Seal): void => atomicWrite(file, `${JSON.stringify(seal)}\n`)
