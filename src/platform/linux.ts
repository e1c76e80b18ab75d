// Linux: processes from /proc, signals, and the subreaper.

import { type ProcessSource } from './processes.ts'
import { type ProcReader } from './proc.ts'
import { askBySignal, isWithinPosix, killBySignal, noJobs, posixMonotonicMs } from './signal.ts'
import { type Touch } from './tree.ts'

export function makeLinuxSource(reader: ProcReader): ProcessSource {
  return {
    self: process.pid,
    rows: reader.rows,
    identity: reader.identity,
    touches(rows, within, cwdOnly) {
      const touches = new Map<number, Touch>()
      for (const { pid } of rows) {
        const touch = reader.touch(pid, within, cwdOnly)
        if (touch) touches.set(pid, touch)
      }
      return touches
    },
    listeners: reader.listeners,
    isWithin: isWithinPosix,
    ask: row => askBySignal(row, reader.identity),
    kill: row => killBySignal(row, reader.identity),
    monotonicMs: posixMonotonicMs,
    ...noJobs,
  }
}
