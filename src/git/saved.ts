// Saved work: a snapshot commit under refs/berth/saved and an archive beside it, read back before anything goes.

import { type Loss } from '../core/event.ts'
import { type Identity } from './commit.ts'
import { type Git } from './git.ts'
import { type Repository } from './open.ts'
import { type Survey } from './survey.ts'

export const savedPrefix = 'refs/berth/saved/'

export type SaveRequest = {
  /** Full name: `refs/berth/saved/<task>/<time>`. Must not exist. */
  ref: string
  /** Of `surveyWork`, taken when nothing of ours writes any more. */
  survey: Survey
  /** Where ignored files, nested repositories and submodules go, as a tar file (0600). Must not exist. */
  archiveFile: string
  identity: Identity
  message: string
  /** Larger archives are refused before anything is written. */
  maxBytes?: number
  signal?: AbortSignal
}

export type SaveOutcome =
  | { is: 'saved'; commit: string; ref: string; archive: string | null; losses: Loss[]; /** Sockets and the like. */ skipped: string[] }
  | { is: 'nothing' }
  | { is: 'too-large'; bytes: number }
  /** Nothing is left behind: neither ref nor archive. */
  | { is: 'failed'; step: string; reason: string }

/** Writes, reads back and compares (law 2). The branch, the index and the files of the worktree stay untouched. */
export async function saveWork(worktree: Git, request: SaveRequest): Promise<SaveOutcome> {
  throw new Error(`not built: ${worktree.dir} ${request.ref}`)
}

export type RestoreRequest = { ref: string; archive: string | null } & (
  | { to: 'branch'; branch: string }
  /** Uncommitted, into a worktree without uncommitted work. */
  | { to: 'worktree'; worktree: Git }
)

export type RestoreOutcome =
  | { is: 'restored'; to: string; /** Files of the archive that were there already with other content: not touched. */ kept: string[] }
  | { is: 'refused'; reason: string; hint: string }
  | { is: 'conflict'; paths: string[] }
  | { is: 'failed'; step: string; reason: string }

/** Gets saved work back. The saved ref stays. */
export async function restoreSaved(repo: Repository, request: RestoreRequest): Promise<RestoreOutcome> {
  throw new Error(`not built: ${repo.dir} ${request.ref}`)
}

export type SavedEntry = { ref: string; commit: string; task: string; time: string; committedAt: number; subject: string }

/** Every saved ref, oldest first. Throws BerthError if git cannot say. */
export async function listSaved(repo: Git): Promise<SavedEntry[]> {
  throw new Error(`not built: ${repo.dir}`)
}

/** Deletes a saved ref by compare-and-swap. */
export async function removeSaved(repo: Git, request: { ref: string; commit: string }): Promise<boolean> {
  throw new Error(`not built: ${repo.dir} ${request.ref}`)
}
