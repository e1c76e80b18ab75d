// Getting saved work back: as a branch, or uncommitted into a worktree.

import { gitCall } from '../core/shellword.ts'
import { listArchive, unpackArchive } from './archive.ts'
import { tipOf } from './branch.ts'
import { type Git, git, reasonOf } from './git.ts'
import { operationFolder } from './keep.ts'
import { mergeTrees } from './merge-trees.ts'
import { type Repository } from './open.ts'
import { splitNul } from './path.ts'
import { swapRef } from './snapshot.ts'
import { readStatus } from './status.ts'

export type RestoreRequest = { ref: string; archive: string | null } & (
  | { to: 'branch'; branch: string }
  /** Uncommitted, into a worktree without changes to tracked files. */
  | { to: 'worktree'; worktree: Git }
)

export type RestoreOutcome =
  | {
      is: 'restored'
      to: string
      /**
       * What of the archive was not brought back: a branch has no place for any of it, a worktree none for the state of
       * an operation, nor where something else is already.
       */
      left: string[]
    }
  | { is: 'refused'; reason: string; hint: string }
  /** Of the name of the branch. */
  | { is: 'refused'; code: 'bad-name' | 'name-taken'; reason: string }
  | { is: 'conflict'; paths: string[] }
  | { is: 'failed'; step: string; reason: string }

/** Gets saved work back. The saved ref and its archive stay. */
export async function restoreSaved(repo: Repository, request: RestoreRequest): Promise<RestoreOutcome> {
  const saved = await tipOf(repo, request.ref)
  if (saved.is === 'unknown') return { is: 'failed', step: 'find', reason: saved.reason }
  if (saved.commit === undefined)
    return { is: 'refused', reason: `there is no '${request.ref}'`, hint: 'berth saved' }
  return request.to === 'branch'
    ? toBranch(repo, request, saved.commit)
    : toWorktree(request.worktree, { archive: request.archive, commit: saved.commit })
}

async function toBranch(
  repo: Repository,
  { branch, archive }: { branch: string; archive: string | null },
  commit: string,
): Promise<RestoreOutcome> {
  const ref = `refs/heads/${branch}`
  if ((await git(repo, ['check-ref-format', ref])).code !== 0) {
    return { is: 'refused', code: 'bad-name', reason: `'${branch}' is no name for a branch` }
  }
  const made = await swapRef(repo, { ref, from: null, to: commit, message: 'berth: restored' })
  if (!made) return { is: 'refused', code: 'name-taken', reason: `the branch '${branch}' is there already` }
  const left = archive === null ? [] : await listArchive(archive).catch(() => [archive])
  return { is: 'restored', to: branch, left }
}

async function toWorktree(
  worktree: Git,
  { archive, commit }: { archive: string | null; commit: string },
): Promise<RestoreOutcome> {
  const status = await readStatus(worktree)
  if (status.is === 'unknown') return { is: 'failed', step: 'status', reason: status.reason }
  if (status.head === null) return { is: 'failed', step: 'status', reason: 'HEAD has no commit' }
  if (status.changed.length > 0) {
    const reason = `'${worktree.dir}' has uncommitted changes`
    return { is: 'refused', reason, hint: gitCall(worktree.dir, 'status') }
  }
  const merged = await mergeTrees(worktree, status.head, commit)
  if (merged.is !== 'merged')
    return merged.is === 'conflict' ? merged : { is: 'failed', step: 'merge', reason: merged.reason }
  const read = await git(worktree, ['read-tree', '-m', '-u', status.head, merged.tree], { lockMs: 2_000 })
  if (read.code !== 0) return { is: 'refused', reason: reasonOf(read), hint: gitCall(worktree.dir, 'status') }
  const changed = await git(worktree, ['diff', '--cached', '--name-only', '-z', '--no-renames'])
  const reset = await git(worktree, ['reset', '--quiet', '--mixed'], { lockMs: 2_000 })
  if (reset.code !== 0) return { is: 'failed', step: 'reset', reason: reasonOf(reset) }
  if (archive === null) return { is: 'restored', to: worktree.dir, left: [] }
  try {
    const replace = new Set(splitNul(changed.out))
    const left = await unpackArchive(archive, worktree.dir, { replace, skip: operationFolder })
    return { is: 'restored', to: worktree.dir, left }
  } catch (error) {
    return { is: 'failed', step: 'unpack', reason: error instanceof Error ? error.message : String(error) }
  }
}
