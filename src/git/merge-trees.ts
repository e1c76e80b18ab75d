// The merge of two commits as a tree, with nothing checked out.

import { type Git, git, type GitOptions, reasonOf } from './git.ts'
import { splitNul } from './path.ts'

export type MergedTrees =
  | { is: 'merged'; tree: string }
  | { is: 'conflict'; paths: string[] }
  | { is: 'failed'; reason: string }

/** Merges by `git merge-tree`. Attributes are those of the worktree that `at` is. */
export async function mergeTrees(
  at: Git,
  ours: string,
  theirs: string,
  options: GitOptions = {},
): Promise<MergedTrees> {
  const args = ['merge-tree', '--write-tree', '-z', '--name-only', '--no-messages', ours, theirs]
  const result = await git(at, args, options)
  const [tree = '', ...rest] = splitNul(result.out)
  if (result.code === 0) return { is: 'merged', tree }
  // Exit 1 is a conflict; anything else says nothing about the content.
  if (result.code === 1 && /^[0-9a-f]{40,64}$/.test(tree))
    return { is: 'conflict', paths: [...new Set(rest)].filter(Boolean) }
  return { is: 'failed', reason: reasonOf(result) }
}
