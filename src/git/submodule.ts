// Submodules and other repositories inside a worktree: what in them would go with it.

import { lstat } from 'node:fs/promises'
import { join } from 'node:path'
import { count as counted } from '../core/words.ts'
import { type Git, git, inDirectory, reasonOf } from './git.ts'
import { gitDirOf, operationIn } from './gitdir.ts'
import { knownMap, sortIgnored } from './ignored.ts'
import { fsPath } from './path.ts'
import { readStatus } from './status.ts'
import { hiddenEdits, readTracked } from './tracked.ts'
import { walk } from './walk.ts'

export type InnerLook =
  | { is: 'empty' }
  /** Nothing there that its remote does not have. */
  | { is: 'clean' }
  /** `what`: one sentence with the reason. */
  | { is: 'loss'; what: string }
  | { is: 'unknown'; reason: string }

/**
 * Looks into a populated submodule and those inside it (case 27). Everything in its own store that no remote-tracking
 * branch holds would be lost: its store lies in the worktree's entry.
 */
export async function lookIntoSubmodule(
  worktree: Git,
  path: string,
  rebuildable: readonly string[],
): Promise<InnerLook> {
  const dir = join(worktree.dir, path)
  const inside = await lstat(fsPath(join(dir, '.git'))).catch(() => undefined)
  if (!inside) return { is: 'empty' }
  const at = inDirectory(worktree, dir)
  const [status, tracked, commits, operation] = await Promise.all([
    readStatus(at, { ignored: true }),
    readTracked(at),
    git(at, ['rev-list', '--max-count=100', '--all', '--reflog', 'HEAD', '--not', '--remotes']),
    gitDirOf(dir).then(operationIn),
  ])
  if (status.is === 'unknown') return status
  if (tracked.is === 'unknown') return tracked
  if (commits.code !== 0) return { is: 'unknown', reason: reasonOf(commits) }
  const count = commits.out.toString('utf8').split('\n').filter(Boolean).length
  if (count > 0) return { is: 'loss', what: `${counted(count, 'commit')} that its remote does not have` }
  if (operation !== null) return { is: 'loss', what: `a ${operation} in progress` }
  const edited = status.changed.filter(entry => entry.submodule === 'N...' || entry.submodule[1] === 'C')
  if (edited.length > 0) return { is: 'loss', what: `${edited.length} changed files` }
  if (status.untracked.length > 0) return { is: 'loss', what: `${status.untracked.length} untracked files` }
  if ((await hiddenEdits(at, tracked.flagged)).length > 0) return { is: 'loss', what: 'hidden edits' }
  const ignored = await sortIgnored(status.ignored, {
    root: dir,
    rebuildable,
    known: knownMap([]),
    tracked,
    untracked: status.untracked,
  })
  if (ignored.files.length + ignored.nested.length > 0) return { is: 'loss', what: 'ignored files' }
  for (const link of tracked.links) {
    const inner = await lookIntoSubmodule(at, link, rebuildable)
    if (inner.is === 'loss' || inner.is === 'unknown') return inner
  }
  return { is: 'clean' }
}

/** Bytes of everything in a folder of the worktree, and of its store where that lies elsewhere. */
export async function bytesOfRepository(root: string, path: string): Promise<number> {
  const store = await storeOf(root, path)
  const lists = await Promise.all([walk(root, path), store === undefined ? [] : walk(store, '')])
  return lists.flat().reduce((sum, item) => sum + item.size, 0)
}

/** The git directory of a submodule where `.git` is a file that names it; undefined where it is a folder. */
export async function storeOf(root: string, path: string): Promise<string | undefined> {
  const stats = await lstat(fsPath(join(root, path, '.git'))).catch(() => undefined)
  return stats?.isFile() ? gitDirOf(join(root, path)) : undefined
}
