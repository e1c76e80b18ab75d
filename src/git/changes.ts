// What was changed in a worktree since a commit, for views: files, lines, commits.

import { type Git } from './git.ts'

export type ChangedPath = {
  path: string
  change: 'added' | 'modified' | 'deleted' | 'renamed' | 'type'
  /** Null for binary files and for files too large to count. */
  insertions: number | null
  deletions: number | null
  from?: string
  /** Not known to git yet. */
  untracked?: boolean
}

export type Changes =
  | {
      is: 'changes'
      head: string
      branch: string | null
      files: number
      insertions: number
      deletions: number
      /** Commits of HEAD that `base` lacks. */
      commits: number
      /** Something is not committed. */
      dirty: boolean
      paths: ChangedPath[]
    }
  | { is: 'unknown'; reason: string }

/** Everything that differs from `base`, uncommitted and untracked included. Never writes the agent's index. */
export async function changesSince(worktree: Git, base: string, options?: { signal?: AbortSignal }): Promise<Changes> {
  throw new Error(`not built: ${worktree.dir} ${base} ${options ? 1 : 0}`)
}

/** The best common ancestor, or undefined. */
export async function mergeBase(at: Git, one: string, other: string): Promise<string | undefined> {
  throw new Error(`not built: ${at.dir} ${one} ${other}`)
}

export type HeadState =
  | { is: 'head'; commit: string; branch: string | null }
  | { is: 'unborn'; branch: string }
  | { is: 'unknown'; reason: string }

/** Where HEAD of a worktree is. */
export async function headOf(worktree: Git): Promise<HeadState> {
  throw new Error(`not built: ${worktree.dir}`)
}
