// What a supervisor is given, and what it says when the program has been started.

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
  /** Whole: nothing is inherited. BERTH_RUN in it must hold `<state id>:<run id>`. */
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
