// What would be lost if a worktree went: everything that law 2 names, and "unknown" where it cannot be told.

import { type Loss } from '../core/event.ts'
import { type Git } from './git.ts'

/** What setup put there, so that it is no loss while it is still the same. Paths relative, `/` separated. */
export type KnownFile = { path: string; sha256: string } | { path: string; link: string }

export type SurveyOptions = {
  /** Names or relative paths of folders that can be built again, where git ignores them. */
  rebuildable: readonly string[]
  known: readonly KnownFile[]
  signal?: AbortSignal
}

export type Survey = {
  /** Any of these refuses removal. Empty: nothing would be lost. */
  losses: Loss[]
  /** Commits found only in HEAD's reflog or `refs/worktree/*`: saved without asking, refuse nothing. */
  quiet: string[]
  /** Bytes that `saveWork` would put into the archive. */
  archiveBytes: number
  head: string | null
  branch: string | null
  /** Everything in full, for `saveWork`. */
  found: Found
}

export type Found = {
  /** Tracked paths that differ from HEAD, in the index or on disk, hidden ones too. */
  changed: string[]
  staged: string[]
  untracked: string[]
  hidden: string[]
  /** Files and folders, rebuildable ones and known ones left out. */
  ignored: string[]
  /** Folders of repositories of their own. */
  nested: string[]
  submodules: string[]
  /** Commits that no ref would hold. */
  commits: string[]
  operation: string | null
}

/** The losses alone (`surveyWork`). */
export async function survey(worktree: Git, options: SurveyOptions): Promise<Loss[]> {
  return (await surveyWork(worktree, options)).losses
}

/** Looks for all that would be lost. Never throws for what git or the disk does: that is a loss of kind `unknown`. */
export async function surveyWork(worktree: Git, options: SurveyOptions): Promise<Survey> {
  throw new Error(`not built: ${worktree.dir} ${options.known.length}`)
}

/** The operation in progress in a worktree (`rebase`, `merge`, …), or null. */
export async function operationInProgress(worktree: Git): Promise<string | null> {
  throw new Error(`not built: ${worktree.dir}`)
}
