// Listing, and removing, all that Berth ever made for one repository: the way to uninstall.

import { lstat, readdir, rmdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { type BranchFate, type Fact, type TaskName, type TeardownMode } from '../core/event.ts'
import { count, failedWhile } from '../core/words.ts'
import { deleteBranch } from '../git/branch.ts'
import { type Git, git, ok, reasonOf as gitReason } from '../git/git.ts'
import { entryDirOf, listWorktrees, type WorktreeEntry } from '../git/list.ts'
import { unregister } from '../git/unregister.ts'
import { savedPrefix } from '../git/saved.ts'
import { platform } from '../platform/platform.ts'
import { emptyTrash, leftSentence, moveAside, trashFor } from './aside.ts'
import { type BranchRequest, fateOfBranch } from './branch.ts'
import { foresee } from './judge.ts'
import { integrationPath, integrationRecord, integrationTask } from './mergespace.ts'
import { removeTemps } from './place.ts'
import { releasePorts } from './ports.ts'
import {
  ledgerOf,
  readMarker,
  reasonOf,
  trashOf,
  workspaceMark,
  type Site,
  type Voice,
  type WorkspaceRecord,
} from './site.ts'
import { teardown, type TeardownInput } from './teardown.ts'
import { removeTree } from './walker.ts'

export type PurgeRecord = WorkspaceRecord &
  Pick<TeardownInput, 'task' | 'runs' | 'commit' | 'target' | 'trash' | 'secrets'>

export type PurgeAnswer = { would: string[]; removed: string[]; kept: { what: string; reason: string }[] }

export type PurgeOptions = {
  yes: boolean
  /** Short name; empty keeps every branch. */
  target?: string
  /** Folders of what was told, said and recorded in runs, setup and gates, by task. */
  records?: { task: TaskName; dirs: string[] }[]
}

/**
 * Without `yes` it only lists, and the list is what `yes` does: each thing has one answer to why it stays. What would
 * lose work is kept, and said: workspaces with work in them, branches whose content is not in the target, saved work.
 */
export async function purge(
  site: Site,
  records: PurgeRecord[],
  options: PurgeOptions,
  voice: Voice,
): Promise<PurgeAnswer> {
  const answer: PurgeAnswer = { would: [], removed: [], kept: [] }
  const target =
    options.target ?? records.find(record => record.target !== '')?.target ?? site.policy.target ?? ''
  const list = await listWorktrees(site.repo)
  const work: Work = {
    site,
    voice,
    yes: options.yes,
    answer,
    target,
    worktrees: list.is === 'list' ? list.entries : [],
    paths: new Set(),
    branches: new Set(),
    stays: new Set(),
    new: new Set(),
  }
  for (const record of records) await purgeTask(work, record)
  await purgeOthers(work, new Set(records.map(({ path }) => path)))
  await purgeTrash(work, new Set(records.map(({ task }) => task)))
  await purgeBranches(work, new Set(records.map(({ branch }) => branch)))
  await purgeRefs(work)
  await purgeRecords(work, options.records ?? [])
  await purgeState(work)
  return answer
}

type Work = {
  site: Site
  voice: Voice
  yes: boolean
  answer: PurgeAnswer
  target: string
  /** As git lists them at the beginning. */
  worktrees: readonly WorktreeEntry[]
  /** Of worktrees that go, or have gone. */
  paths: Set<string>
  /** That go, or have gone. */
  branches: Set<string>
  /** Tasks whose workspace is kept. */
  stays: Set<TaskName>
  /** Refs of work that this call saved. */
  new: Set<string>
}

const mode: TeardownMode = {
  save: false,
  discard: false,
  branch: true,
  stop: false,
  unlock: false,
  by: 'purge',
}
const deleteMs = 120_000

/** Why it stays, asked for the list and before the deed; `remove` may still find a reason of its own. */
type Thing = { stays?: () => Promise<string | undefined>; remove: () => Promise<string | undefined> }

/** One thing: listed, or removed, or kept with its reason. */
async function each(work: Work, what: string, { stays, remove }: Thing): Promise<void> {
  const why = async () => (await stays?.()) ?? (work.yes ? await remove() : undefined)
  const reason = await why().catch(reasonOf)
  if (reason !== undefined) work.answer.kept.push({ what, reason })
  else if (work.yes) work.answer.removed.push(what)
  else work.answer.would.push(what)
}

/** The workspace with its branch, as `teardown` does it, or as it would. */
async function purgeTask(work: Work, record: PurgeRecord): Promise<void> {
  const { site, voice, yes, answer } = work
  const { task, path } = record
  const input = { ...site, ...record, mode, workspace: record }
  const made = (await entryDirOf(site.repo, path)) ?? (await lstat(path).catch(() => undefined))
  const ends: Ending = yes ? await takeDown(input, voice) : await foreseen(input)
  const what = made === undefined ? `task '${task}'` : `workspace '${path}' of task '${task}'`
  const done = yes ? answer.removed : answer.would
  if (ends.kept !== undefined) {
    work.stays.add(task)
    answer.kept.push({ what, reason: ends.kept })
  } else {
    work.paths.add(path)
    done.push(what)
  }
  const { branch: fate } = ends
  if (fate?.is === 'goes') {
    work.branches.add(fate.branch)
    done.push(`branch '${fate.branch}'`)
  }
  if (fate?.is === 'kept') answer.kept.push({ what: `branch '${fate.branch}'`, reason: keptWords(fate) })
  if (ends.saved)
    answer.kept.push({ what: `saved work of '${task}', from its reflog`, reason: "'berth saved' lists it" })
  if (ends.ref !== undefined) work.new.add(ends.ref)
}

/** Why it stays, and the command that changes that. */
const keptWords = ({ reason, hint }: { reason: string; hint?: string }): string =>
  hint === undefined ? reason : `${reason} (${hint})`

/** `saved`: commits that only its reflog names become saved work. */
type Ending = { kept?: string; branch?: BranchFate; saved: boolean; ref?: string }

const heldWork = (ref: string): string => {
  const id = ref.slice(savedPrefix.length).replace(/^\//, '').replace('/', '-')
  return `it holds saved work: 'berth saved rm ${id}' removes it`
}

async function foreseen(input: TeardownInput): Promise<Ending> {
  const end = await foresee(input)
  if (end.is === 'refused') return { kept: keptWords(end.refusal), saved: false }
  return { saved: end.quiet > 0, ...(end.branch === undefined ? {} : { branch: end.branch }) }
}

async function takeDown(input: TeardownInput, voice: Voice): Promise<Ending> {
  const ending: Ending = { saved: false }
  const hear = async (fact: Fact): Promise<void> => {
    await voice.onFact(fact)
    if (fact.kind === 'work.saved') Object.assign(ending, { saved: true, ref: fact.ref })
    if (fact.kind === 'branch.deleted') ending.branch = { ...fact, is: 'goes' }
    if (fact.kind === 'branch.kept') ending.branch = { ...fact, is: 'kept' }
    if (fact.kind === 'teardown.refused') ending.kept = keptWords(fact)
    if (fact.kind === 'workspace.stuck') ending.kept = failedWhile(fact)
  }
  for (const fact of await teardown(input, { ...voice, onFact: hear })) await hear(fact)
  return ending
}

/** Worktrees that no task names: integration workspaces, wherever they were made, and what was moved. */
async function purgeOthers(work: Work, ofTasks: Set<string>): Promise<void> {
  const { site } = work
  const own = new Set([integrationPath(site)])
  for (const { path, main } of work.worktrees) {
    if (main || ofTasks.has(path)) continue
    const dir = await entryDirOf(site.repo, path)
    const found = dir === undefined ? undefined : await readMarker(dir)
    if (found?.is !== 'marker') continue
    const { stateId, project, task } = found.marker
    if (stateId !== site.stateId || project !== site.project) continue
    if (task === integrationTask) own.add(path)
    else {
      const reason = 'it is not where its task has it: see `berth reconcile`'
      work.answer.kept.push({ what: `worktree '${path}' of task '${task}'`, reason })
    }
  }
  for (const path of own) await purgeIntegration(work, path)
}

/** Berth's own: nothing in it is work. */
async function purgeIntegration(work: Work, path: string): Promise<void> {
  const { site } = work
  const entryDir = await entryDirOf(site.repo, path)
  if (entryDir === undefined && (await lstat(path).catch(() => undefined)) === undefined) return
  const stays = async (): Promise<string | undefined> => {
    const found = entryDir === undefined ? undefined : await readMarker(entryDir)
    if (found !== undefined && (found.is !== 'marker' || found.marker.stateId !== site.stateId))
      return "it does not bear Berth's mark"
    work.paths.add(path)
    return undefined
  }
  const remove = async (): Promise<string | undefined> => {
    const ended = await platform.endTree(
      { marker: workspaceMark(site, integrationTask) },
      { graceMs: 1_000, limitMs: 20_000 },
    )
    if (ended.left.length > 0) return 'a process of it cannot be ended'
    const trash = trashFor(site, { path }, `${site.stateId}/${site.project}/${integrationTask}`)
    const moved = await moveAside(path, trash, 5_000)
    if (moved.is === 'failed') return moved.reason
    const out = await unregister(site.repo, { path, trash: trash.entry, lock: site.lock })
    if (out.is === 'failed' || out.is === 'refused') return out.reason
    const gone = await emptyTrash(trash, deleteMs)
    if (gone.is === 'left') return leftSentence(gone)
    await releasePorts(site, integrationTask)
    await removeTemps(site, integrationTask)
    for (const empty of [trashOf(trash.root), dirname(path), dirname(dirname(path))])
      await rmdir(empty).catch(() => undefined)
    return undefined
  }
  await each(work, `integration workspace '${path}'`, { stays, remove })
}

/** What removals of this Berth left in the trash; another Berth's stays, and so does what bears no mark. */
async function purgeTrash(work: Work, ofTasks: Set<TaskName>): Promise<void> {
  const { site } = work
  const root = site.policy.root
  const names = await readdir(trashOf(root)).catch(() => [])
  for (const name of names.filter(each => each.endsWith('.git'))) {
    const dir = join(trashOf(root), name.slice(0, -'.git'.length))
    const found = await readMarker(join(trashOf(root), name))
    if (
      found.is !== 'marker' ||
      found.marker.stateId !== site.stateId ||
      found.marker.project !== site.project ||
      // Part of its workspace, which has its own line.
      ofTasks.has(found.marker.task)
    )
      continue
    const remove = async (): Promise<string | undefined> => {
      const gone = await emptyTrash({ root, dir, entry: `${dir}.git` }, deleteMs)
      return gone.is === 'left' ? leftSentence(gone) : undefined
    }
    await each(work, `trash '${dir}'`, { remove })
  }
  if (!work.yes) return
  // Only where nothing is left in them.
  await rmdir(trashOf(root)).catch(() => undefined)
  await rmdir(root).catch(() => undefined)
}

/** Branches under the prefix that no workspace has: only those whose content is in the target. */
async function purgeBranches(work: Work, ofTasks: Set<string>): Promise<void> {
  const { site, target, worktrees } = work
  const prefix = site.policy.branchPrefix
  const rows = await refs(site.repo, `refs/heads/${prefix.endsWith('/') ? prefix : `${prefix}*`}`)
  for (const { ref, commit } of rows) {
    const branch = ref.slice('refs/heads/'.length)
    if (ofTasks.has(branch)) continue
    const request: BranchRequest = { task: branch, mode, workspace: { branch, path: '' }, target, worktrees }
    const stays = async (): Promise<string | undefined> => {
      const fate = await fateOfBranch(site, request)
      if (fate?.is === 'kept') return fate.reason
      work.branches.add(branch)
      return undefined
    }
    const remove = async (): Promise<string | undefined> => {
      const deleted = await deleteBranch(site.repo, { branch, commit })
      return deleted.is === 'kept' ? deleted.reason : undefined
    }
    await each(work, `branch '${branch}'`, { stays, remove })
  }
}

async function purgeRefs(work: Work): Promise<void> {
  const { repo } = work.site
  for (const { ref, commit } of await refs(repo, 'refs/berth/')) {
    if (work.new.has(ref)) continue
    const stays = async (): Promise<string | undefined> =>
      ref.startsWith(savedPrefix) ? whySavedStays(work, ref) : undefined
    const remove = async (): Promise<string | undefined> => {
      const result = await git(repo, ['update-ref', '-d', ref, commit], { lockMs: 5_000 })
      return result.code === 0 ? undefined : gitReason(result)
    }
    await each(work, `ref '${ref}'`, { stays, remove })
  }
}

/** Unless what stays holds it too, which never holds what is in an archive. */
async function whySavedStays({ site, branches }: Work, ref: string): Promise<string | undefined> {
  const { repo, state, project } = site
  const [task = '', time = ''] = ref.slice(savedPrefix.length).split('/')
  const archive = state.archive(project, task, `${task}-${time}`)
  if ((await lstat(archive).catch(() => undefined)) !== undefined) return heldWork(ref)
  const without = [...branches].map(branch => `--exclude=${branch}`)
  const held = ['--not', ...without, '--branches', '--remotes', '--tags']
  const only = await git(repo, ['rev-list', '--count', ref, ...held])
  if (only.code !== 0) return gitReason(only)
  return only.out.toString('utf8').trim() === '0' ? undefined : heldWork(ref)
}

/** Briefs, prompts, output, exit records and transcripts; of tasks that are kept they stay. */
async function purgeRecords(work: Work, records: { task: TaskName; dirs: string[] }[]): Promise<void> {
  const { state } = work.site
  const dirs = records.filter(({ task }) => !work.stays.has(task)).flatMap(each => each.dirs)
  const there: string[] = []
  for (const dir of new Set(dirs)) if (await lstat(dir).catch(() => undefined)) there.push(dir)
  if (there.length === 0) return
  const remove = async (): Promise<string | undefined> => {
    for (const dir of there) {
      const gone = await removeTree(dir, limits(state.dir))
      if (gone.is === 'left') return leftSentence(gone)
    }
    return undefined
  }
  await each(work, `briefs, prompts and output of runs, setup and gates (${count(there.length, 'folder')})`, {
    remove,
  })
}

const limits = (under: string) => ({
  under,
  budgetMs: deleteMs,
  clock: () => platform.monotonicMs(),
  windows: platform.name === 'windows',
})

/** Of this project in the state directory: what still belongs to something kept stays. */
async function purgeState(work: Work): Promise<void> {
  const { site, answer } = work
  const { state, project } = site
  const keepsSaved = answer.kept.some(({ what }) => /^(ref|saved work) /.test(what))
  const keepsTasks = work.stays.size > 0
  const shared = [
    dirname(state.home(project, 'any')),
    dirname(dirname(state.brief(project, 'any', ''))),
    dirname(dirname(state.prompt(project, 'any', ''))),
    dirname(ledgerOf(site, 'any')),
  ]
  const ofIntegration = [state.home(project, integrationTask), ledgerOf(site, integrationTask)]
  const places = [
    ...(keepsTasks ? ofIntegration : shared),
    ...(keepsSaved ? [] : [join(state.private, 'archives', project)]),
    integrationRecord(site),
  ]
  for (const path of places) {
    if ((await lstat(path).catch(() => undefined)) === undefined) continue
    const remove = async (): Promise<string | undefined> => {
      const gone = await removeTree(path, limits(state.dir))
      return gone.is === 'left' ? leftSentence(gone) : undefined
    }
    await each(work, `'${path}'`, { remove })
  }
  await purgeCommonDir(work)
}

/** `<git common dir>/berth` holds the lock that other Berths take too: it goes only with the last of us. */
async function purgeCommonDir(work: Work): Promise<void> {
  const { repo, stateId } = work.site
  const dir = join(repo.commonDir, 'berth')
  if ((await lstat(dir).catch(() => undefined)) === undefined) return
  const stays = async (): Promise<string | undefined> => {
    const list = await listWorktrees(repo)
    if (list.is === 'unknown') return list.reason
    for (const entry of list.entries.filter(({ main }) => !main)) {
      const entryDir = await entryDirOf(repo, entry.path)
      const found = entryDir === undefined ? undefined : await readMarker(entryDir)
      if (found?.is !== 'marker' || work.paths.has(found.marker.path)) continue
      return found.marker.stateId === stateId
        ? `'${entry.path}' is kept`
        : `another Berth works here ('${entry.path}')`
    }
    return undefined
  }
  const remove = async (): Promise<string | undefined> => {
    const gone = await removeTree(dir, limits(repo.commonDir))
    return gone.is === 'left' ? leftSentence(gone) : undefined
  }
  await each(work, `'${dir}'`, { stays, remove })
}

async function refs(repo: Git, pattern: string): Promise<{ ref: string; commit: string }[]> {
  const out = await ok(repo, ['for-each-ref', '--format=%(refname) %(objectname)', pattern])
  return out
    .toString('utf8')
    .split('\n')
    .filter(Boolean)
    .map(row => ({ ref: row.slice(0, row.lastIndexOf(' ')), commit: row.slice(row.lastIndexOf(' ') + 1) }))
}
