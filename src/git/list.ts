// What git's registry says of the worktrees of a repository.

import { type Git } from './git.ts'

export type WorktreeEntry = {
  /** As git has it; compare by real path and whole components. */
  path: string
  head: string | null
  /** Short name; null when detached or bare. */
  branch: string | null
  bare: boolean
  /** The repository's main worktree (or the bare repository itself). */
  main: boolean
  /** Reason, possibly empty. */
  locked: string | null
  /** Why git would prune it: its directory is not there, say. */
  prunable: string | null
}

export type WorktreeList = { is: 'list'; entries: WorktreeEntry[] } | { is: 'unknown'; reason: string }

/** Every entry, or unknown: a failed list is not an empty one (law 1). */
export async function listWorktrees(at: Git): Promise<WorktreeList> {
  throw new Error(`not built: ${at.dir}`)
}

/** The entry's directory in `<common dir>/worktrees`, for a worktree path; undefined where none names it. */
export async function entryDirOf(at: Git, path: string): Promise<string | undefined> {
  throw new Error(`not built: ${at.dir} ${path}`)
}
