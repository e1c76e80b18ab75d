// Signals to single processes, sent only while the process is still the one that was meant.

import { type ProcessInfo } from './platform.ts'

type IdentityOf = (pid: number) => string | undefined

/** SIGTERM, and SIGCONT for what is stopped: it could not hear the first. */
export function askBySignal(row: ProcessInfo, identityOf: IdentityOf): boolean {
  send(row, 'SIGTERM', identityOf)
  if (row.state.startsWith('T') || row.state.startsWith('t')) send(row, 'SIGCONT', identityOf)
  return true
}

export const killBySignal = (row: ProcessInfo, identityOf: IdentityOf) => send(row, 'SIGKILL', identityOf)

/** Whole components: `/a/feat-2` is not in `/a/feat`. */
export const isWithinPosix = (path: string, root: string) =>
  path === root || path.startsWith(root.endsWith('/') ? root : `${root}/`)

export const noJobs = { inJob: () => new Set<number>(), killJob: () => undefined }

/** CLOCK_MONOTONIC: on Linux and macOS it stands still while the machine sleeps. */
export const posixMonotonicMs = () => Number(process.hrtime.bigint() / 1000n) / 1000

function send({ pid, start }: ProcessInfo, signal: NodeJS.Signals, identityOf: IdentityOf) {
  if (pid <= 1 || identityOf(pid) !== start) return
  try {
    process.kill(pid, signal)
  } catch {
    // Gone meanwhile, or another user's: the next look says which.
  }
}
