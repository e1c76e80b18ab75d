// The branch of a removed workspace: deleted only when nothing is lost with it, by compare-and-swap.

import { type Fact, type TaskName, type TeardownMode } from '../core/event.ts'
import { deleteBranch, tipOf } from '../git/branch.ts'
import { git } from '../git/git.ts'
import { type Merged } from '../git/merged.ts'
import { savedPrefix } from '../git/saved.ts'
import { holdsNothing, integrated } from './keep.ts'
import { type Site, type WorkspaceRecord } from './site.ts'

/**
 * Deletes the branch if its content is in the target or it has none (not under `--discard`, which never deletes a
 * branch), or if a person asked for it and its commits are saved or given up. Undefined: there is no branch.
 */
export async function removeBranch(
  site: Site,
  request: {
    task: TaskName
    mode: TeardownMode
    workspace: WorkspaceRecord
    target: string
    commit?: string
  },
): Promise<Fact | undefined> {
  const { task, workspace } = request
  const of = { project: site.project, task, branch: workspace.branch }
  const tip = await tipOf(site.repo, `refs/heads/${workspace.branch}`)
  if (tip.is === 'unknown') return { kind: 'branch.kept', ...of, commit: '', reason: tip.reason }
  const { commit } = tip
  if (commit === undefined) return undefined
  const merged = await integrated(site, { tip: commit, workspace, target: request.target })
  const why = await whyKept(site, { ...request, tip: commit, merged })
  if (why !== undefined) return { kind: 'branch.kept', ...of, commit, reason: why }
  const deleted = await deleteBranch(site.repo, { branch: workspace.branch, commit })
  if (deleted.is === 'kept') return { kind: 'branch.kept', ...of, commit, reason: deleted.reason }
  return { kind: 'branch.deleted', ...of, commit, rule: holdsNothing(merged) ? merged.rule : 'asked' }
}

async function whyKept(
  site: Site,
  request: { mode: TeardownMode; tip: string; merged: Merged; commit?: string },
): Promise<string | undefined> {
  const { mode, tip, merged, commit } = request
  if (holdsNothing(merged)) return mode.discard && !mode.branch ? "'--discard' keeps the branch" : undefined
  if (!mode.branch || mode.by === 'landing') return `its content is not in the target (${merged.rule})`
  if (commit !== undefined && commit !== tip) return `it moved from ${commit} to ${tip}`
  if (mode.discard) return undefined
  const kept = await git(site.repo, [
    'for-each-ref',
    '--count=1',
    '--format=%(refname)',
    '--contains',
    tip,
    savedPrefix,
  ])
  return kept.code === 0 && kept.out.length > 0 ? undefined : 'its commits are saved nowhere'
}
