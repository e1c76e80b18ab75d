// Supervisors that wait for work: starting one takes longer than making most workspaces.

import { endSpares, warmSupervisors } from '../process/spawn.ts'

export type Spares = {
  /** So many starts are about to come. */
  expect(count: number): void
  /** A run was started with one. */
  used(): void
  close(): void
}

/** More would only fight for the processors. */
const most = 8
/** After the last start of a burst. */
const refillMs = 200
/** Nothing was started for this long: none is kept. */
const keepMs = 60_000

/** After a burst as many are made ready as it took, for the next; a minute later none is left. */
export function openSpares(supervisorFile: string): Spares {
  let burst = 0
  let timer: NodeJS.Timeout | undefined
  const after = (ms: number, act: () => void): void => {
    clearTimeout(timer)
    timer = setTimeout(act, ms).unref()
  }
  const warm = (count: number): void => warmSupervisors(Math.min(count, most), { supervisorFile })
  return {
    expect: count => {
      warm(count)
      after(keepMs, endSpares)
    },
    used: () => {
      burst++
      after(refillMs, () => {
        warm(burst)
        burst = 0
        after(keepMs, endSpares)
      })
    },
    close: () => {
      clearTimeout(timer)
      endSpares()
    },
  }
}
