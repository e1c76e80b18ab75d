// Starts supervisors, warm ones where there are, and gives them what to run.

import { type Identity } from '../platform/platform.ts'

export type RunSpec = {
  stateId: string
  run: string
  task: string
  project: string
  runDir: string
  /** From `platform.socketPath`. */
  socket: string
  file: string
  args: string[]
  cwd: string
  /** Whole: nothing is inherited. BERTH_RUN in it must hold `<state id>:<run>`. */
  env: { [name: string]: string }
  stdin: { is: 'file'; path: string } | { is: 'none' }
  pty?: { cols: number; rows: number }
  secrets: string[]
  /** Patterns of the configuration, sources of regular expressions. */
  redact?: string[]
  headBytes: number
  tailBytes: number
  graceMs: number
  /** Windows: `args` are one line that must not be quoted again. */
  verbatim?: boolean
}

export type Started =
  | { is: 'started'; pid: number; startedAt: string; supervisor: number; at: number }
  | { is: 'failed'; reason: string; missing: boolean }

/** The spec goes over a pipe, so that no secret is in an argument, a file or the supervisor's environment. */
export declare function startSupervisor(
  spec: RunSpec,
  options: { supervisorFile: string; signal?: AbortSignal },
): Promise<Started>

/** Keeps `n` supervisors waiting, so that a program starts within milliseconds. They die with this process. */
export declare function warmSupervisors(n: number, options: { supervisorFile: string }): void
export declare function endSpares(): void

/** `<state>/private/supervisor/<version>-<hash8>.mjs`, copied there if it is not yet (decisions 39). */
export declare function installSupervisor(dir: string, source: string, version: string): string

export type { Identity }
