// Making a worktree and taking it out of the registry: asked first, verified, rolled back; exactly one entry.

import { type ErrorCode } from '../core/errors.ts'
import { type WorktreeEntry } from './list.ts'
import { type Repository } from './open.ts'

/** One at a time per repository, over processes (docs/decisions/0037). Injected: git may not import the store. */
export type RepositoryLock = <T>(commonDir: string, fn: () => Promise<T>) => Promise<T>

export type AddRequest = {
  /** Absolute; must not exist. */
  path: string
  /** Short name; null makes a detached worktree (the integration workspace). */
  branch: string | null
  /** Commit id the branch is made at, or that is checked out detached. */
  commit: string
  lock: RepositoryLock
  /** Take up a branch that is there already, with its commits, unless it is checked out somewhere. */
  takeUp: boolean
  /** Written to `<entry>/berth.json` as soon as the entry exists: the proof that it is ours. */
  marker?: string
  /** Waits this long for a lock of a foreign program. Default 10 s. */
  lockMs?: number
  /** Parallel checkout for big trees. */
  workers?: number
  signal?: AbortSignal
}

export type AddRefusal =
  | 'branch'
  | 'branch-checked-out'
  | 'branch-clash'
  | 'path'
  | 'path-registered'
  | 'path-folds'
  | 'path-inside'
  | 'filter'
  | 'commit'

export type AddOutcome =
  | {
      is: 'made'
      path: string
      branch: string | null
      /** HEAD of the new worktree. */
      head: string
      /** Its git directory: `<common dir>/worktrees/<id>`. */
      entryDir: string
      /** Commits beyond `commit` on a branch that was taken up; undefined if it was made here. */
      tookUp?: number
      notices: string[]
    }
  | { is: 'refused'; what: AddRefusal; code: ErrorCode; message: string; hint: string }
  /** Rolled back; `left` names what could not be. */
  | { is: 'failed'; step: string; reason: string; hint?: string; code: ErrorCode; left: string[] }

/** Makes a worktree: asked first, made under the lock, filled outside it, verified, rolled back on failure. */
export async function addWorktree(repo: Repository, request: AddRequest): Promise<AddOutcome> {
  throw new Error(`not built: ${repo.dir} ${request.path}`)
}

export type HalfMade =
  | { is: 'absent' }
  | { is: 'complete'; head: string; branch: string | null; entryDir: string }
  /** Cut off. `unique`: files that are not (a beginning of) what the commit holds; commits beyond the base. */
  | { is: 'half'; entryDir: string | null; unique: string[]; commits: number; reason: string }
  /** Something else is there: not ours to touch. */
  | { is: 'other'; reason: string }
  | { is: 'unknown'; reason: string }

/** What an earlier, cut-off creation left at this path (case 19). Changes nothing. */
export async function inspectHalfMade(
  repo: Repository,
  request: { path: string; branch: string; base: string },
): Promise<HalfMade> {
  throw new Error(`not built: ${repo.dir} ${request.path}`)
}

export type ClearOutcome = { is: 'cleared' } | { is: 'refused'; reason: string } | { is: 'failed'; step: string; reason: string }

/**
 * Clears a half-made worktree that holds nothing of its own: directory, entry, and the branch if it stands at `base`.
 * The caller has made sure that no process works there. Refuses when `inspectHalfMade` finds anything unique.
 */
export async function clearHalfMade(
  repo: Repository,
  request: { path: string; branch: string; base: string; lock: RepositoryLock },
): Promise<ClearOutcome> {
  throw new Error(`not built: ${repo.dir} ${request.path}`)
}

export type UnregisterOutcome =
  | { is: 'unregistered'; copy: string | null }
  | { is: 'already' }
  | { is: 'refused'; code: ErrorCode; reason: string }
  | { is: 'failed'; step: string; reason: string }

/**
 * Takes exactly one entry out of git, after a copy of it was made at `trash` (docs/decisions/0008). The directory
 * must have been moved aside. Never prunes; a change elsewhere in the list is a failure that says so.
 */
export async function unregister(
  repo: Repository,
  request: { path: string; trash: string; lock: RepositoryLock; unlock?: boolean },
): Promise<UnregisterOutcome> {
  throw new Error(`not built: ${repo.dir} ${request.path}`)
}

/** Deletes a branch by compare-and-swap on the commit that was checked. Returns why not, if not. */
export async function deleteBranch(
  repo: Repository,
  request: { branch: string; commit: string },
): Promise<{ is: 'deleted' } | { is: 'already' } | { is: 'kept'; reason: string }> {
  throw new Error(`not built: ${repo.dir} ${request.branch}`)
}

export type { WorktreeEntry }
