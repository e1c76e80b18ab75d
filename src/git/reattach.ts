// HEAD of a worktree and the branch that it should be on: how they stand apart, and putting HEAD back on it.

import { tipOf } from './branch.ts'
import { type Git, git, reasonOf } from './git.ts'
import { listWorktrees } from './list.ts'

export type Apart =
  /** Commits that only HEAD has, and that only the branch has; `tip`: undefined where the branch is gone. */
  { is: 'apart'; tip: string | undefined; ahead: number; behind: number } | { is: 'unknown'; reason: string }

/** How far `head` and a branch are apart. `base` counts the commits of HEAD where the branch is gone. */
export async function apartFrom(
  worktree: Git,
  { branch, head, base }: { branch: string; head: string; base: string },
): Promise<Apart> {
  const tip = await tipOf(worktree, `refs/heads/${branch}`)
  if (tip.is === 'unknown') return tip
  const from = tip.commit ?? base
  if (from === head) return { is: 'apart', tip: tip.commit, ahead: 0, behind: 0 }
  const result = await git(worktree, ['rev-list', '--left-right', '--count', `${from}...${head}`])
  const [behind = NaN, ahead = NaN] = result.out.toString('utf8').split('\t').map(Number)
  if (result.code !== 0 || Number.isNaN(ahead + behind)) return { is: 'unknown', reason: reasonOf(result) }
  return { is: 'apart', tip: tip.commit, ahead, behind: tip.commit === undefined ? 0 : behind }
}

export type Reattached = { is: 'attached' } | { is: 'refused'; reason: string }

/**
 * Puts HEAD of a worktree on `branch`, which goes forward from `tip` (undefined: it is made) to HEAD's commit, by
 * compare-and-swap. No file and no index is touched. The caller has made sure that `head` holds all of `tip`.
 */
export async function reattach(
  worktree: Git,
  { branch, tip, head }: { branch: string; tip: string | undefined; head: string },
): Promise<Reattached> {
  const list = await listWorktrees(worktree)
  if (list.is === 'unknown') return { is: 'refused', reason: list.reason }
  const user = list.entries.find(entry => entry.branch === branch)
  if (user) return { is: 'refused', reason: `'${branch}' is checked out in '${user.path}'` }
  const ref = `refs/heads/${branch}`
  if (tip !== head) {
    const was = tip ?? '0'.repeat(head.length)
    const moved = await git(worktree, ['update-ref', '-m', 'berth: takes up HEAD', ref, head, was])
    if (moved.code !== 0) return { is: 'refused', reason: reasonOf(moved) }
  }
  const put = await git(worktree, ['symbolic-ref', '-m', 'berth: back on its branch', 'HEAD', ref])
  return put.code === 0 ? { is: 'attached' } : { is: 'refused', reason: reasonOf(put) }
}
