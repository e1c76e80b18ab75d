// An agent that left HEAD of its worktree elsewhere than on the task's branch: put back where that changes nothing or a
// person said so, else an outcome that a person decides on.

import { type Outcome } from '../../core/outcome.ts'
import { isApproved } from '../../core/task.ts'
import { inDirectory } from '../../git/git.ts'
import { operationInProgress } from '../../git/gitdir.ts'
import { apartFrom, reattach } from '../../git/reattach.ts'
import { type Counted, type Ground } from './collect.ts'

/** What became of a run that left HEAD astray; undefined where HEAD is on the branch, or is so now. */
export async function strayOutcome(ground: Ground, changes: Counted): Promise<Outcome | undefined> {
  const { site, record, path } = ground
  const { workspace } = record
  const { head, branch: on, dirty } = changes
  if (workspace?.phase !== 'ready' || on === workspace.branch) return undefined
  const { branch, base } = workspace
  const worktree = inDirectory(site.repo, path)
  const [apart, operation] = await Promise.all([
    apartFrom(worktree, { branch, head, base }),
    operationInProgress(worktree),
  ])
  if (apart.is === 'unknown') return { is: 'unknown', step: 'branch', reason: apart.reason }
  const { tip, ahead, behind } = apart
  const astray = { is: 'astray', commit: head, on, ahead, behind, dirty } as const
  if (operation !== null) return { ...astray, operation }
  if (tip !== head && (behind > 0 || !isApproved(record, head, 'astray'))) return astray
  const put = await reattach(worktree, { branch, tip, head })
  return put.is === 'attached' ? undefined : { ...astray, reason: put.reason }
}
