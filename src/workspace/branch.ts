// The branch of a removed workspace: deleted only when nothing is lost with it, by compare-and-swap.

import { type BranchFate, type Fact, type Loss, type TaskName, type TeardownMode } from '../core/event.ts'
import { gitCall } from '../core/shellword.ts'
import { deleteBranch, tipOf } from '../git/branch.ts'
import { git } from '../git/git.ts'
import { type WorktreeEntry } from '../git/list.ts'
import { type Merged } from '../git/merged.ts'
import { savedPrefix } from '../git/saved.ts'
import { type Asked, holdsNothing, integrated } from './keep.ts'
import { type Site, type WorkspaceRecord } from './site.ts'

export type BranchRequest = {
  task: TaskName
  mode: TeardownMode
  workspace: Pick<WorkspaceRecord, 'branch' | 'base' | 'path'>
  target: string
  /** The last commit that Berth recorded for it: at another tip it is never deleted. */
  commit?: string
  asked?: Asked
  /** As git lists them, where that is known: a branch that is checked out in another stays. */
  worktrees?: readonly WorktreeEntry[]
}

/**
 * What becomes of the branch, and nothing is done: it goes if its content is in the target or it has none (not under
 * `--discard`, which never deletes a branch), or if a person asked for it and its commits are saved or given up.
 * Undefined: there is no branch.
 */
export async function fateOfBranch(site: Site, request: BranchRequest): Promise<BranchFate | undefined> {
  const { branch } = request.workspace
  const tip = await tipOf(site.repo, `refs/heads/${branch}`)
  if (tip.is === 'unknown') return { is: 'kept', branch, commit: '', reason: tip.reason }
  const { commit } = tip
  if (commit === undefined) return undefined
  const merged = await integrated(site, { ...request, tip: commit })
  const why = await whyKept(site, { ...request, tip: commit, merged })
  if (why !== undefined) return { is: 'kept', branch, commit, ...why }
  return { is: 'goes', branch, commit, rule: holdsNothing(merged) ? merged.rule : 'asked' }
}

/** Does what `fateOfBranch` says. Undefined: there is no branch. */
export async function removeBranch(site: Site, request: BranchRequest): Promise<Fact | undefined> {
  const of = { project: site.project, task: request.task }
  const fate = await fateOfBranch(site, request)
  if (fate === undefined) return undefined
  if (fate.is === 'kept') {
    const { is: _is, ...about } = fate
    return { kind: 'branch.kept', ...of, ...about }
  }
  const deleted = await deleteBranch(site.repo, fate)
  const { branch, commit, rule } = fate
  if (deleted.is === 'kept')
    return {
      kind: 'branch.kept',
      ...of,
      branch,
      commit,
      reason: deleted.reason,
      hint: gitCall(site.repo.root, 'worktree', 'list'),
    }
  return { kind: 'branch.deleted', ...of, branch, commit, rule }
}

/** Commits of a branch that is asked for, which are neither in the target nor saved. */
export async function lossesOfBranch(site: Site, request: BranchRequest): Promise<Loss[]> {
  const tip = await tipOf(site.repo, `refs/heads/${request.workspace.branch}`)
  if (tip.is === 'unknown') return [{ kind: 'unknown', count: 1, examples: [tip.reason] }]
  const { commit } = tip
  if (commit === undefined || isMoved(request, commit)) return []
  const merged = await integrated(site, { ...request, tip: commit })
  if (holdsNothing(merged) || (await isSaved(site, commit))) return []
  return [{ kind: 'commits', count: Math.max(merged.commits, 1), examples: [commit] }]
}

type Why = { reason: string; hint?: string }

async function whyKept(
  site: Site,
  request: BranchRequest & { tip: string; merged: Merged },
): Promise<Why | undefined> {
  const { task, mode, tip, merged, target, workspace } = request
  const user = request.worktrees?.find(
    each => each.branch === workspace.branch && each.path !== workspace.path,
  )
  if (user !== undefined)
    return {
      reason: `it is checked out in '${user.path}'`,
      hint: gitCall(site.repo.root, 'worktree', 'list'),
    }
  if (holdsNothing(merged))
    return mode.discard && !mode.branch
      ? {
          reason: `${whyEmpty(merged, target)}; '--discard' never deletes a branch`,
          hint: `berth rm ${task} --branch`,
        }
      : undefined
  const taking = `berth rm ${task} --branch --save`
  if (!mode.branch || mode.by === 'landing') return { reason: whyNotIn(merged, target), hint: taking }
  if (isMoved(request, tip))
    return {
      reason: `it moved from ${request.commit} to ${tip}`,
      hint: gitCall(site.repo.root, 'log', `${request.commit}..${tip}`),
    }
  if (mode.discard || (await isSaved(site, tip))) return undefined
  return { reason: `${whyNotIn(merged, target)} and saved nowhere`, hint: taking }
}

const whyEmpty = ({ rule }: Merged, target: string): string =>
  rule === 'empty' ? 'it has no commit of its own' : `its commits are in '${target}'`

function whyNotIn({ rule }: Merged, target: string): string {
  if (target === '') return 'it is not known where its commits should have landed'
  if (rule === 'unknown') return `it cannot be told whether its commits are in '${target}'`
  return `its commits are not in '${target}'`
}

const isMoved = ({ commit }: BranchRequest, tip: string): boolean => commit !== undefined && commit !== tip

async function isSaved(site: Site, commit: string): Promise<boolean> {
  const format = '--format=%(refname)'
  const kept = await git(site.repo, ['for-each-ref', '--count=1', format, '--contains', commit, savedPrefix])
  return kept.code === 0 && kept.out.length > 0
}
