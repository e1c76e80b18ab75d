// Listing, and removing, all that Berth ever made for one repository: the way to uninstall.

import { lstat, readdir, rmdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { type TaskName, type TeardownMode } from '../core/event.ts'
import { deleteBranch } from '../git/branch.ts'
import { type Git, git, ok, reasonOf as gitReason } from '../git/git.ts'
import { entryDirOf, listWorktrees } from '../git/list.ts'
import { mergedness } from '../git/merged.ts'
import { listSaved, savedPrefix } from '../git/saved.ts'
import { unregister } from '../git/unregister.ts'
import { platform } from '../platform/platform.ts'
import { emptyTrash, leftSentence, moveAside, trashFor } from './aside.ts'
import { integrationPath, integrationRecord, integrationTask } from './mergespace.ts'
import {
  ledgerOf,
  readMarker,
  reasonOf,
  trashOf,
  workspaceMark,
  type RunRecord,
  type Site,
  type Voice,
  type WorkspaceRecord,
} from './site.ts'
import { teardown } from './teardown.ts'
import { removeTree } from './walker.ts'

export type PurgeRecord = WorkspaceRecord & {
  task: TaskName
  runs: RunRecord[]
  commit?: string
  target: string
}

export type PurgeAnswer = { would: string[]; removed: string[]; kept: { what: string; reason: string }[] }

/**
 * Without `yes` it only lists. What would lose work is kept, and said: workspaces with work in them, branches whose
 * content is not in the target, saved work. `target`: short name; empty keeps every branch.
 */
export async function purge(
  site: Site,
  records: PurgeRecord[],
  options: { yes: boolean; target?: string },
  voice: Voice,
): Promise<PurgeAnswer> {
  const answer: PurgeAnswer = { would: [], removed: [], kept: [] }
  const target =
    options.target ?? records.find(record => record.target !== '')?.target ?? site.policy.target ?? ''
  const work: Work = { site, voice, yes: options.yes, answer, target }
  for (const record of records) await purgeTask(work, record)
  await purgeIntegration(work)
  await purgeTrash(work)
  await purgeBranches(work, new Set(records.map(({ branch }) => branch)))
  await purgeRefs(work)
  await purgeState(work)
  return answer
}

type Work = { site: Site; voice: Voice; yes: boolean; answer: PurgeAnswer; target: string }

const mode: TeardownMode = {
  save: false,
  discard: false,
  branch: true,
  stop: false,
  unlock: false,
  by: 'purge',
}
const deleteMs = 120_000

/** One thing: listed, or removed, or kept with the reason that `act` gives. */
async function each(work: Work, what: string, act: () => Promise<string | undefined>): Promise<void> {
  if (!work.yes) {
    work.answer.would.push(what)
    return
  }
  const reason = await act().catch(reasonOf)
  if (reason === undefined) work.answer.removed.push(what)
  else work.answer.kept.push({ what, reason })
}

async function purgeTask(work: Work, record: PurgeRecord): Promise<void> {
  const { site, voice } = work
  await each(work, `workspace '${record.path}' of task '${record.task}'`, async () => {
    const facts = await teardown({ ...site, ...record, mode, workspace: record }, voice)
    for (const fact of facts) {
      await voice.onFact(fact)
      if (fact.kind === 'teardown.refused') return fact.reason
      if (fact.kind === 'workspace.stuck') return `${fact.step}: ${fact.reason}`
    }
    return undefined
  })
}

/** Berth's own: nothing in it is work. */
async function purgeIntegration(work: Work): Promise<void> {
  const { site } = work
  const path = integrationPath(site)
  const entryDir = await entryDirOf(site.repo, path)
  if (entryDir === undefined && (await lstat(path).catch(() => undefined)) === undefined) return
  await each(work, `integration workspace '${path}'`, async () => {
    const found = entryDir === undefined ? undefined : await readMarker(entryDir)
    if (found !== undefined && (found.is !== 'marker' || found.marker.stateId !== site.stateId))
      return "it does not bear Berth's mark"
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
    await rmdir(dirname(path)).catch(() => undefined)
    return undefined
  })
}

/** What removals of this Berth left in the trash; another Berth's stays, and so does what bears no mark. */
async function purgeTrash(work: Work): Promise<void> {
  const { site } = work
  const root = site.policy.root
  const names = await readdir(trashOf(root)).catch(() => [])
  for (const name of names.filter(each => each.endsWith('.git'))) {
    const dir = join(trashOf(root), name.slice(0, -'.git'.length))
    const found = await readMarker(join(trashOf(root), name))
    if (
      found.is !== 'marker' ||
      found.marker.stateId !== site.stateId ||
      found.marker.project !== site.project
    )
      continue
    await each(work, `trash '${dir}'`, async () => {
      const gone = await emptyTrash({ root, dir, entry: `${dir}.git` }, deleteMs)
      return gone.is === 'left' ? leftSentence(gone) : undefined
    })
  }
  if (!work.yes) return
  // Only where nothing is left in them.
  await rmdir(trashOf(root)).catch(() => undefined)
  await rmdir(root).catch(() => undefined)
}

/** Branches under the prefix that no workspace has: only those whose content is in the target. */
async function purgeBranches(work: Work, ofTasks: Set<string>): Promise<void> {
  const { site, target } = work
  const prefix = site.policy.branchPrefix
  const rows = await refs(site.repo, `refs/heads/${prefix.endsWith('/') ? prefix : `${prefix}*`}`)
  for (const { ref, commit } of rows) {
    const branch = ref.slice('refs/heads/'.length)
    if (ofTasks.has(branch)) continue
    await each(work, `branch '${branch}'`, async () => {
      if (target === '') return 'it is not known what the target is'
      const merged = await mergedness(site.repo, { commit, target: `refs/heads/${target}` })
      if (!merged.is && merged.rule !== 'empty') return `its content is not in '${target}' (${merged.rule})`
      const deleted = await deleteBranch(site.repo, { branch, commit })
      return deleted.is === 'kept' ? deleted.reason : undefined
    })
  }
}

async function purgeRefs(work: Work): Promise<void> {
  const { repo } = work.site
  const saved = new Set((await listSaved(repo)).map(({ ref }) => ref))
  for (const { ref, commit } of await refs(repo, 'refs/berth/')) {
    await each(work, `ref '${ref}'`, async () => {
      const reason =
        saved.has(ref) || ref.startsWith(savedPrefix) ? await whySavedStays(repo, ref) : undefined
      if (reason !== undefined) return reason
      const result = await git(repo, ['update-ref', '-d', ref, commit], { lockMs: 5_000 })
      return result.code === 0 ? undefined : gitReason(result)
    })
  }
}

async function whySavedStays(repo: Git, ref: string): Promise<string | undefined> {
  const only = await git(repo, ['rev-list', '--count', ref, '--not', '--branches', '--remotes', '--tags'])
  if (only.code !== 0) return gitReason(only)
  return only.out.toString('utf8').trim() === '0'
    ? undefined
    : "it holds saved work: 'berth saved rm' removes it"
}

/** Of this project in the state directory: what still belongs to something kept stays. */
async function purgeState(work: Work): Promise<void> {
  const { site, answer } = work
  const { state, project } = site
  const keepsSaved = answer.kept.some(({ what }) => what.startsWith("ref '"))
  const keepsTasks = answer.kept.some(({ what }) => what.startsWith('workspace '))
  const places = [
    ...(keepsTasks
      ? []
      : [
          dirname(state.home(project, 'any')),
          dirname(dirname(state.brief(project, 'any', ''))),
          dirname(ledgerOf(site, 'any')),
        ]),
    ...(keepsSaved ? [] : [join(state.private, 'archives', project)]),
    integrationRecord(site),
  ]
  for (const path of places) {
    if ((await lstat(path).catch(() => undefined)) === undefined) continue
    await each(work, `'${path}'`, async () => {
      const gone = await removeTree(path, {
        under: state.dir,
        budgetMs: deleteMs,
        clock: () => platform.monotonicMs(),
        windows: platform.name === 'windows',
      })
      return gone.is === 'left' ? leftSentence(gone) : undefined
    })
  }
  await purgeCommonDir(work)
}

/** `<git common dir>/berth` holds the lock that other Berths take too: it goes only with the last of us. */
async function purgeCommonDir(work: Work): Promise<void> {
  const { repo, stateId } = work.site
  const dir = join(repo.commonDir, 'berth')
  if ((await lstat(dir).catch(() => undefined)) === undefined) return
  await each(work, `'${dir}'`, async () => {
    const list = await listWorktrees(repo)
    if (list.is === 'unknown') return list.reason
    for (const entry of list.entries.filter(({ main }) => !main)) {
      const entryDir = await entryDirOf(repo, entry.path)
      const found = entryDir === undefined ? undefined : await readMarker(entryDir)
      if (found?.is === 'marker')
        return found.marker.stateId === stateId
          ? `'${entry.path}' is kept`
          : `another Berth works here ('${entry.path}')`
    }
    const gone = await removeTree(dir, {
      under: repo.commonDir,
      budgetMs: deleteMs,
      clock: () => platform.monotonicMs(),
      windows: platform.name === 'windows',
    })
    return gone.is === 'left' ? leftSentence(gone) : undefined
  })
}

async function refs(repo: Git, pattern: string): Promise<{ ref: string; commit: string }[]> {
  const out = await ok(repo, ['for-each-ref', '--format=%(refname) %(objectname)', pattern])
  return out
    .toString('utf8')
    .split('\n')
    .filter(Boolean)
    .map(row => ({ ref: row.slice(0, row.lastIndexOf(' ')), commit: row.slice(row.lastIndexOf(' ') + 1) }))
}
