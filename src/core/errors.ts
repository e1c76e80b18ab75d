// One error type for what a person can act on, and the table from its code to the exit code of the command.

/** Every error code, with the exit code of the command that ends with it (product.md, "Exit codes"). */
export const exitCodes = {
  // 1: a step could not be done
  failed: 1,
  'disk-full': 1,
  'state-read-only': 1,
  'state-damaged': 1,
  'git-failed': 1,
  timeout: 1,
  // 2: wrong usage, configuration or name
  usage: 2,
  'unknown-verb': 2,
  'unknown-flag': 2,
  config: 2,
  'task-file': 2,
  'empty-brief': 2,
  'bad-name': 2,
  'not-found': 2,
  'unknown-engine': 2,
  'engine-missing': 2,
  'gate-missing': 2,
  cycle: 2,
  'inside-run': 2,
  'not-a-repository': 2,
  'no-commits': 2,
  'foreign-owner': 2,
  'filter-missing': 2,
  'bare-worktree': 2,
  'git-too-old': 2,
  'prompt-too-long': 2,
  'state-newer': 2,
  'state-network': 2,
  'socket-path': 2,
  'path-refused': 2,
  'consent-needed': 2,
  // 3: something needs a person
  refused: 3,
  loss: 3,
  'live-run': 3,
  locked: 3,
  'not-ours': 3,
  held: 3,
  'cwd-inside': 3,
  declined: 3,
  // 4: the daemon cannot be reached
  'daemon-down': 4,
  'daemon-newer': 4,
  // 5: already so, or busy
  'already-running': 5,
  'name-taken': 5,
  'git-busy': 5,
  busy: 5,
  // 130: interrupted
  interrupted: 130,
} as const

export type ErrorCode = keyof typeof exitCodes

/** What went wrong, for a person: the subject in 'quotes', and a hint that is a command to type. */
export class BerthError extends Error {
  constructor(
    readonly code: ErrorCode,
    message: string,
    readonly hint?: string,
    readonly details?: unknown,
  ) {
    super(message)
    this.name = 'BerthError'
  }
}

export const exitCodeOf = (code: ErrorCode): number => exitCodes[code]

/** For the default branch of an exhaustive switch: reaching it is a bug. */
export function unreachable(value: never): never {
  throw new Error(`unreachable: ${JSON.stringify(value)}`)
}
