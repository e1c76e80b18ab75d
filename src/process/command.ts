// Runs one setup command or gate to its end, and everything that it started.

export type CommandInput = {
  command: { shell: string } | { file: string; args: string[] }
  cwd: string
  /** Whole: nothing is inherited. BERTH_RUN in it must hold `marker`. */
  env: { [name: string]: string }
  /** `<state id>:<run id>` of this command alone. */
  marker: string
  timeoutMs: number
  graceMs: number
  /** All output, redacted, is written here (bounded). */
  outFile: string
  secrets: readonly string[]
  redact?: readonly RegExp[]
  signal?: AbortSignal
  /** Called when the process exists. */
  onStart?: (leader: { pid: number; start: string }) => void
}

export type CommandResult = {
  code: number | null
  signal: string | null
  timedOut: boolean
  cancelled: boolean
  ms: number
  /** Last 200 lines as a person would see them. */
  tail: string[]
  /** There is no such program, or no such folder. */
  missing: boolean
  /** Why it could not be started. */
  reason?: string
  /** Processes that could not be ended, by pid and command. */
  left: { pid: number; command: string }[]
}

export declare function runCommand(input: CommandInput): Promise<CommandResult>
