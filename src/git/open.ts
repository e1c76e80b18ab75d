// Opening a repository: where its parts lie, who it is, and the preconditions with errors of their own.

import { type Environment, type Git } from './git.ts'

export type Repository = Git & {
  /** First 16 hex digits of the SHA-256 of the common directory's real path: the project's id. */
  id: string
  /** The main worktree; of a bare repository its own directory. `dir` is the same. */
  root: string
  bare: boolean
  /** The git directory and the worktree of the place that was opened; `worktree` is null in a bare repository. */
  gitDir: string
  worktree: string | null
  version: string
  /** Handled, and named where it matters (docs/decisions/0034). */
  traits: { shallow: boolean; sparse: boolean; submodules: boolean; partial: boolean }
}

export type OpenOptions = {
  /** The caller's environment, as it is. */
  env: { [name: string]: string | undefined }
  hooksDir: string
}

/**
 * Opens the repository that `dir` lies in. Errors: not-a-repository, no-commits, foreign-owner, bare-worktree,
 * git-too-old, each with a command as hint (docs/decisions/0034).
 */
export async function openRepository(dir: string, options: OpenOptions): Promise<Repository> {
  throw new Error(`not built: ${dir} ${Object.keys(options).length}`)
}

export type { Environment }
