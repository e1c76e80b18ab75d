// Trees and commits through a temporary index: the worktree's own index and branch stay untouched.

import { join } from 'node:path'
import { type Identity } from './commit.ts'
import { type Git, git, type GitOptions, line, ok } from './git.ts'
import { joinNul } from './path.ts'

/** Environment of a commit: author and committer. */
export function identityEnvironment(
  author: Identity,
  committer: Identity | undefined,
): { [name: string]: string } {
  return {
    GIT_AUTHOR_NAME: author.name,
    GIT_AUTHOR_EMAIL: author.email,
    ...(committer ? { GIT_COMMITTER_NAME: committer.name, GIT_COMMITTER_EMAIL: committer.email } : {}),
  }
}

export type TreeRequest = {
  /** Null: no commit yet. */
  head: string | null
  /** Paths as they are on disk now: changed, new, or gone. */
  paths: readonly string[]
  /** A private folder for the index. */
  folder: string
  options?: GitOptions
}

/** The tree of `head` with these paths as they are on disk. */
export async function treeOf(
  worktree: Git,
  { head, paths, folder, options = {} }: TreeRequest,
): Promise<string> {
  const index = join(folder, 'index')
  const withIndex = { ...options, index }
  await ok(worktree, head === null ? ['read-tree', '--empty'] : ['read-tree', head], withIndex)
  await updateIndex(worktree, paths, withIndex)
  return line(worktree, ['write-tree'], withIndex)
}

/** Brings these paths of an index up to what is on disk. */
export async function updateIndex(
  worktree: Git,
  paths: readonly string[],
  options: GitOptions,
): Promise<void> {
  if (paths.length === 0) return
  const args = [
    'update-index',
    '-z',
    '--add',
    '--remove',
    '--replace',
    '--ignore-skip-worktree-entries',
    '--stdin',
  ]
  await ok(worktree, args, { ...options, input: joinNul(paths) })
}

/** A commit object of a tree; no hook runs, no ref moves. */
export async function commitTree(
  at: Git,
  request: {
    tree: string
    parents: readonly string[]
    message: string
    env: { [name: string]: string }
    /** Where it is written instead of the repository. */
    objects?: string
  },
): Promise<string> {
  const parents = request.parents.flatMap(parent => ['-p', parent])
  return line(at, ['commit-tree', request.tree, ...parents, '-F', '-'], {
    input: request.message,
    env: request.env,
    ...(request.objects === undefined ? {} : { objects: request.objects }),
  })
}

/** Moves a ref from one commit to another, or makes it (`from` null). False: it is not where it was. */
export async function swapRef(
  at: Git,
  { ref, from, to, message }: { ref: string; from: string | null; to: string; message: string },
): Promise<boolean> {
  const old = from ?? '0'.repeat(to.length)
  const result = await git(at, ['update-ref', '-m', message, ref, to, old], { lockMs: 10_000 })
  return result.code === 0
}
