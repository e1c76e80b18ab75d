// The daemon's end of a supervisor's socket.

import { type ExitRecord } from './record.ts'

export type RunStatus = {
  pid: number
  start: string
  state: 'running' | 'ending' | 'ended'
  /** Where the output ends now. */
  bytes: number
  /** CPU time of all its processes, ms; undefined where the system does not say. */
  cpuMs: number | undefined
  processes: number
  /** When the last byte of output came, ms since 1970. */
  outputAt: number | null
}

export type SupervisorLink = {
  status(): Promise<RunStatus>
  /** Comes back when the tree is ended. `force` kills at once. */
  stop(options: { graceMs: number; force: boolean }): Promise<ExitRecord>
  /** To the terminal, or to a stdin that is still open; false if there is none. */
  input(text: string): Promise<boolean>
  resize(size: { cols: number; rows: number }): Promise<void>
  onOutput(listener: (next: number) => void): void
  onExit(listener: (exit: ExitRecord) => void): void
  /** The supervisor is gone without an exit: look at its records. */
  onLost(listener: () => void): void
  close(): void
}

/** Undefined if nobody listens; throws BerthError `not-ours` if it is another run's supervisor. */
export declare function connect(
  runDir: string,
  who: { stateId: string; run: string; timeoutMs?: number },
): Promise<SupervisorLink | undefined>
