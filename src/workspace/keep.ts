// What would be lost with a workspace, and saving it: written, read back and compared before anything goes.

import { mkdir, readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { type Fact, type Loss, type TaskName } from '../core/event.ts'
import { failedWhile } from '../core/words.ts'
import { tipOf } from '../git/branch.ts'
import { git, inDirectory, reasonOf as gitReason } from '../git/git.ts'
import { type Merged, mergedness } from '../git/merged.ts'
import { savedPrefix, saveWork } from '../git/saved.ts'
import { type Survey, surveyWork } from '../git/survey.ts'
import { readLedger } from './copies.ts'
import { identityOf } from './environment.ts'
import { type Site, targetRef, type WorkspaceRecord } from './site.ts'

export type Inventory = {
  survey: Survey
  /** The work, and the branch's own commits where the branch is to go and its content is nowhere else. */
  losses: Loss[]
}

/** Answers of one removal: whether a commit's content is in a target follows from the two alone. */
export type Asked = Map<string, Promise<Merged>>

/** Looks for everything that would go; the task's own branch stays unless `branch` says otherwise (decision 6). */
export async function takeInventory(
  site: Site,
  request: { task: TaskName; workspace: WorkspaceRecord; target: string; branch: boolean; asked?: Asked },
): Promise<Inventory> {
  const { workspace, task, branch } = request
  const worktree = inDirectory(site.repo, workspace.path)
  const folders = site.policy.dependencies.map(({ path }) => path)
  const survey = await surveyWork(worktree, {
    rebuildable: [...site.policy.rebuildable, ...folders],
    known: readLedger(site, task),
  })
  if (!branch || survey.branch !== workspace.branch || survey.head === null)
    return { survey, losses: survey.losses }
  const merged = await integrated(site, { ...request, tip: survey.head })
  if (holdsNothing(merged)) return { survey, losses: survey.losses }
  const own: Loss = { kind: 'commits', count: Math.max(merged.commits, 1), examples: [survey.head] }
  return { survey, losses: [...survey.losses, own] }
}

/** Whether the commit's content is in the target; unknown where there is nothing to ask with. */
export async function integrated(
  site: Site,
  request: { tip: string | null; workspace: Pick<WorkspaceRecord, 'base'>; target: string; asked?: Asked },
): Promise<Merged> {
  const { tip, workspace, target, asked } = request
  const unknown: Merged = { is: false, rule: 'unknown', commits: 0 }
  if (tip === null || target === '') return unknown
  const found = await tipOf(site.repo, targetRef({ ...site, target }))
  if (found.is === 'unknown' || found.commit === undefined) return unknown
  const base = workspace.base === undefined ? {} : { base: workspace.base }
  const key = `${tip} ${found.commit} ${workspace.base ?? ''}`
  const answer = asked?.get(key) ?? mergedness(site.repo, { commit: tip, target: found.commit, ...base })
  asked?.set(key, answer)
  return answer
}

/** A branch without commits of its own holds nothing. */
export const holdsNothing = (merged: Merged): boolean => merged.is || merged.rule === 'empty'

export type Saved =
  | { is: 'saved' }
  | { is: 'nothing' }
  | { is: 'failed'; code: 'loss' | 'failed'; reason: string }

/** Saves all of the inventory under `refs/berth/saved/<task>/<time>`; speaks `work.saved` once it is read back. */
export async function saveInventory(
  site: Site,
  request: {
    task: TaskName
    workspace: WorkspaceRecord
    inventory: Inventory
    why: string
    maxBytes?: number
  },
  onFact: OnFact,
): Promise<Saved> {
  const { task, workspace, inventory, why } = request
  if (inventory.losses.some(({ kind }) => kind === 'unknown'))
    return {
      is: 'failed',
      code: 'loss',
      reason: `it cannot be told what would be lost: ${unknownOf(inventory)}`,
    }
  const time = stampOf(site.now())
  const id = `${task}-${time}`
  const archiveFile = site.state.archive(site.project, task, id)
  await mkdir(dirname(archiveFile), { recursive: true, mode: 0o700 })
  const saved = await saveWork(inDirectory(site.repo, workspace.path), {
    ref: `${savedPrefix}${task}/${time}`,
    survey: withBranch(inventory),
    archiveFile,
    identity: identityOf(task),
    message: `berth: saved work of ${task} (${why})`,
    ...(request.maxBytes === undefined ? {} : { maxBytes: request.maxBytes }),
  })
  switch (saved.is) {
    case 'nothing':
      return { is: 'nothing' }
    case 'too-large': {
      const mega = Math.ceil(saved.bytes / 1_000_000)
      return {
        is: 'failed',
        code: 'loss',
        reason: `${mega} MB would have to be saved, more than 'savedBytes' allows`,
      }
    }
    case 'failed':
      return {
        is: 'failed',
        code: 'failed',
        reason: `the work could not be saved: ${failedWhile(saved)}`,
      }
    case 'saved': {
      const { ref, commit, archive } = saved
      const beside = archive === null ? {} : { archive }
      const { project } = site
      await onFact({
        kind: 'work.saved',
        project,
        task,
        id,
        ref,
        commit,
        ...beside,
        losses: inventory.losses,
        why,
      })
      return { is: 'saved' }
    }
  }
}

/** The branch's tip is kept by the saved commit, whose parent it is, also where nothing else would be saved. */
const withBranch = ({ survey, losses }: Inventory): Survey => {
  const extra = losses.filter(loss => !survey.losses.includes(loss)).flatMap(({ examples }) => examples)
  if (extra.length === 0) return survey
  return { ...survey, losses, found: { ...survey.found, commits: [...survey.found.commits, ...extra] } }
}

const unknownOf = ({ losses }: Inventory): string =>
  losses.flatMap(({ kind, examples }) => (kind === 'unknown' ? examples : [])).join('; ')

/** `20260131T093000123Z`: sorts as it reads, and may stand in a ref. */
export const stampOf = (at: number): string => new Date(at).toISOString().replace(/[-:.]/g, '')

/**
 * What git's entry alone holds of a worktree whose directory is not there: staged work, and commits that no ref
 * holds. A probe that fails is a loss of kind `unknown`.
 */
export async function lossesOfEntry(site: Site, entryDir: string): Promise<Loss[]> {
  const [staged, commits] = await Promise.all([
    probeEntry(site, entryDir, ['diff-index', '--cached', '--name-only', '-z', 'HEAD'], '\0'),
    probeEntry(site, entryDir, ['rev-list', '--max-count=1000', 'HEAD', ...heldNowhere], '\n'),
  ])
  const loss = (kind: 'staged' | 'commits', found: Probe): Loss[] => {
    if (found.is === 'unknown') return [{ kind: 'unknown', count: 1, examples: [found.reason] }]
    return found.rows.length > 0
      ? [{ kind, count: found.rows.length, examples: found.rows.slice(0, 20) }]
      : []
  }
  return [...loss('staged', staged), ...loss('commits', commits)]
}

/** Told what was kept; durable when it resolves. */
export type OnFact = (fact: Fact) => Promise<void>

/** Commits that only the reflog of such an entry names: they are kept without asking (decision 6). */
export async function commitsOfReflog(
  site: Site,
  entryDir: string,
): Promise<{ is: 'commits'; commits: string[] } | { is: 'unknown'; reason: string }> {
  const text = await readFile(join(entryDir, 'logs', 'HEAD'), 'utf8').catch(() => '')
  const named = [...new Set(text.split('\n').flatMap(row => /^\S+ ([0-9a-f]{40,64}) /.exec(row)?.[1] ?? []))]
  if (named.length === 0) return { is: 'commits', commits: [] }
  const found = await git(site.repo, ['rev-list', '--ignore-missing', '--stdin', ...heldNowhere], {
    input: named.join('\n'),
  })
  if (found.code !== 0) return { is: 'unknown', reason: gitReason(found) }
  return { is: 'commits', commits: found.out.toString('utf8').split('\n').filter(Boolean) }
}

/**
 * Commits become parents of one commit under `refs/berth/saved`, with the first one's tree. No commits are no failure.
 * Why not, if not.
 */
export async function keepCommits(
  site: Site,
  request: { task: TaskName; commits: string[]; why: string },
  onFact: OnFact,
): Promise<string | undefined> {
  const { task, commits, why } = request
  if (commits.length === 0) return undefined
  const time = stampOf(site.now())
  const identity = identityOf(task)
  const env = {
    GIT_AUTHOR_NAME: identity.name,
    GIT_AUTHOR_EMAIL: identity.email,
    GIT_COMMITTER_NAME: identity.name,
    GIT_COMMITTER_EMAIL: identity.email,
  }
  const message = `berth: saved work of ${task} (${why})`
  // Many are kept in a chain: a command line and a commit take only so many parents.
  let commit = ''
  for (let from = 0; from < commits.length; from += parentsMax) {
    const some = [...commits.slice(from, from + parentsMax), ...(commit === '' ? [] : [commit])]
    const parents = some.flatMap(each => ['-p', each])
    const made = await git(site.repo, ['commit-tree', `${commits[0]}^{tree}`, ...parents, '-m', message], {
      env,
    })
    if (made.code !== 0) return gitReason(made)
    commit = made.out.toString('utf8').trim()
  }
  const ref = `${savedPrefix}${task}/${time}`
  const set = await git(site.repo, ['update-ref', ref, commit, '0'.repeat(commit.length)])
  if (set.code !== 0) return gitReason(set)
  const losses: Loss[] = [{ kind: 'commits', count: commits.length, examples: commits.slice(0, 20) }]
  await onFact({
    kind: 'work.saved',
    project: site.project,
    task,
    id: `${task}-${time}`,
    ref,
    commit,
    losses,
    why,
  })
  return undefined
}

const parentsMax = 100

const heldNowhere = ['--not', '--branches', '--remotes', '--tags', `--glob=${savedPrefix}*`]

type Probe = { is: 'rows'; rows: string[] } | { is: 'unknown'; reason: string }

async function probeEntry(site: Site, entryDir: string, args: string[], between: string): Promise<Probe> {
  const result = await git(site.repo, ['--git-dir', entryDir, ...args])
  if (result.code !== 0) return { is: 'unknown', reason: gitReason(result) }
  return { is: 'rows', rows: result.out.toString('utf8').split(between).filter(Boolean) }
}
