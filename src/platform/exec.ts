// Runs a short command to its end, with a limit on time and on bytes.

export type ExecOptions = {
  cwd?: string
  env: { [name: string]: string | undefined }
  input?: Uint8Array | string
  timeoutMs: number
  /** Of stdout and of stderr each; more ends the command. */
  maxBytes: number
  signal?: AbortSignal
}

export type ExecResult = {
  code: number | null
  signal: string | null
  out: Buffer
  err: Buffer
  timedOut: boolean
  truncated: boolean
  /** There is no such program (ENOENT). */
  missing: boolean
}

/** Never throws for what the child does; the child's whole group is killed when a limit is met. */
export declare function run(file: string, args: readonly string[], options: ExecOptions): Promise<ExecResult>
