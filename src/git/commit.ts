// Committing what an agent left uncommitted, without what a person must decide about.

import { type Git } from './git.ts'

export type Identity = { name: string; email: string }

export type Withheld = { path: string; why: 'large' | 'secret' | 'ledger' | 'operation' }

export type CommitRequest = {
  identity: Identity
  message: string
  /** Paths that setup copied or linked: never committed. */
  ledger: readonly string[]
  /** Whether bytes hold a known secret. */
  isSecret: (bytes: Uint8Array) => boolean
  /** Larger files are withheld. Default 5 MB. */
  maxFileBytes?: number
  signal?: AbortSignal
}

/** `commit` is HEAD afterwards; `files` were committed (0: nothing was left, or all was withheld). */
export type CommitLeft = { commit: string; files: number; withheld: Withheld[] }

/**
 * Commits what is left in a worktree, hooks off, as `identity` (docs/decisions/0020). The agent's index then agrees
 * with the new commit; what was withheld stays as it was. Throws BerthError (git-failed, git-busy).
 */
export async function commitLeft(worktree: Git, request: CommitRequest): Promise<CommitLeft> {
  throw new Error(`not built: ${worktree.dir} ${request.message}`)
}
