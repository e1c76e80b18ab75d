// A branch: deleted by compare-and-swap on the commit that was checked, never while it is checked out; who uses it.

import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Git, git, reasonOf } from './git.ts'
import { operationOfBranch } from './gitdir.ts'
import { entryDirOf, listWorktrees, type WorktreeEntry } from './list.ts'
import { refTip } from './refs.ts'

export type BranchOutcome = { is: 'deleted' } | { is: 'already' } | { is: 'kept'; reason: string }

/** Deletes a branch that still stands at `commit` and is checked out nowhere; its configuration goes with it. */
export async function deleteBranch(
  repo: Git,
  { branch, commit }: { branch: string; commit: string },
): Promise<BranchOutcome> {
  const ref = `refs/heads/${branch}`
  const [tip, list] = await Promise.all([tipOf(repo, ref), listWorktrees(repo)])
  if (tip.is === 'unknown') return { is: 'kept', reason: tip.reason }
  if (tip.commit === undefined) return { is: 'already' }
  if (tip.commit !== commit) return { is: 'kept', reason: `it moved to ${tip.commit} meanwhile` }
  if (list.is === 'unknown') return { is: 'kept', reason: list.reason }
  const user = list.entries.find(entry => entry.branch === branch)
  if (user) return { is: 'kept', reason: `it is checked out in '${user.path}'` }
  const result = await git(repo, ['update-ref', '-m', 'berth: deleted', '-d', ref, commit], {
    lockMs: 10_000,
  })
  if (result.code !== 0) return { is: 'kept', reason: reasonOf(result) }
  await forgetSettings(repo, branch)
  return { is: 'deleted' }
}

/** A worktree in which a rebase or a bisect will put its HEAD back on `branch`: git counts it as checked out there. */
export async function operationOn(
  repo: Git,
  entries: readonly WorktreeEntry[],
  branch: string,
): Promise<{ path: string; operation: string } | undefined> {
  for (const { path, bare, main } of entries) {
    if (bare) continue
    const gitDir = main ? repo.commonDir : await entryDirOf(repo, path)
    const operation = gitDir && (await operationOfBranch(gitDir, branch))
    if (operation) return { path, operation }
  }
  return undefined
}

export type Tip = { is: 'tip'; commit: string | undefined } | { is: 'unknown'; reason: string }

/** The commit of a full ref name; undefined where there is no such ref. */
export async function tipOf(repo: Git, ref: string): Promise<Tip> {
  const read = await refTip(repo.commonDir, ref)
  if (read) return { is: 'tip', commit: read.is === 'found' ? read.value : undefined }
  const result = await git(repo, ['for-each-ref', '--format=%(refname) %(objectname)', ref])
  if (result.code !== 0) return { is: 'unknown', reason: reasonOf(result) }
  const row = result.out
    .toString('utf8')
    .split('\n')
    .find(text => text.startsWith(`${ref} `))
  return { is: 'tip', commit: row?.slice(ref.length + 1) }
}

/** `branch.<name>.*`, where an agent's push or git itself wrote some. A failure leaves harmless lines. */
async function forgetSettings(repo: Git, branch: string): Promise<void> {
  const text = await readFile(join(repo.commonDir, 'config'), 'utf8').catch(() => '')
  if (!text.includes(`[branch "${branch}"]`)) return
  await git(repo, ['config', '--local', '--remove-section', `branch.${branch}`], { lockMs: 2_000 })
}
