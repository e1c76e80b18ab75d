// Comparing the records with git, the disk and the registry: every difference in one sentence, with one next command.

import { type Dirent } from 'node:fs'
import { lstat, readdir, readFile } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { type DifferenceView } from '../core/api.ts'
import { type TaskName } from '../core/event.ts'
import { gitCall, shellWord } from '../core/shellword.ts'
import { type OnFact } from './keep.ts'
import { tipOf } from '../git/branch.ts'
import { listWorktrees, resolved, type WorktreeEntry } from '../git/list.ts'
import {
  trashOf,
  type FoundMarker,
  type Marker,
  readMarker,
  reasonOf,
  type Site,
  type WorkspaceRecord,
} from './site.ts'
import { integrationPath, integrationTask } from './mergespace.ts'
import { mend, type Remedy } from './mend.ts'
import { isBelow } from './walker.ts'

export type ReconcileRecord = WorkspaceRecord & {
  task: TaskName
  /** A removal is under way, or stopped half way and says so itself. */
  removing: boolean
  preparing: boolean
  /** The commit that Berth recorded for the branch, where nothing of ours moves it any more. */
  commit?: string
}

/** A difference, and what `--fix` may do about it because it is provably ours. */
export type Difference = Omit<DifferenceView, 'fixed'> & { remedy?: Remedy }

/**
 * Every difference, each with one next command. With `fix`, what is provably ours is put right (`fixed`), and
 * `fix` is told what is kept of it.
 * Without it nothing is written and no process is ended: reading verbs use it on every read. One git command, and
 * files: its cost does not grow with the size of the worktrees.
 */
export async function reconcile(
  site: Site,
  records: ReconcileRecord[],
  fix?: OnFact,
): Promise<DifferenceView[]> {
  const seen = await look(site, records)
  if (seen.is === 'unknown') return [{ ...unreadable(site, seen.reason), fixed: false }]
  const found: Difference[] = [
    ...(await Promise.all(records.map(record => compareRecord(site, record, seen)))).flat(),
    ...strangers(site, records, seen),
    ...(await remains(records, seen)),
  ]
  const views: DifferenceView[] = []
  for (const { remedy, ...difference } of found) {
    const fixed = fix !== undefined && remedy !== undefined && (await mend(site, remedy, fix))
    views.push({ ...difference, fixed })
  }
  return views
}

type Entry = WorktreeEntry & { dir: string; real: string; marker: FoundMarker }

type Seen = {
  is: 'seen'
  entries: Entry[]
  byPath: Map<string, Entry>
  /** Directories below the managed roots that no entry names, with what their `.git` file says. */
  unlisted: { path: string; entryDir: string | undefined }[]
  roots: string[]
  /** Managed roots that are not there. */
  away: Set<string>
}

async function look(
  site: Site,
  records: ReconcileRecord[],
): Promise<Seen | { is: 'unknown'; reason: string }> {
  const list = await listWorktrees(site.repo)
  if (list.is === 'unknown') return list
  try {
    const dirs = await entryDirs(site)
    const linked = list.entries.filter(entry => !entry.main)
    const entries = await Promise.all(
      linked.map(async (entry): Promise<Entry> => {
        const dir = dirs.get(entry.path) ?? ''
        const [real, marker] = await Promise.all([
          resolved(entry.path),
          dir === '' ? ({ is: 'none' } as const) : readMarker(dir),
        ])
        return { ...entry, dir, real, marker }
      }),
    )
    const byPath = new Map(
      entries.flatMap(entry => [[entry.path, entry] as const, [entry.real, entry] as const]),
    )
    const roots = [...new Set([site.policy.root, ...records.map(({ path }) => dirname(path))])]
    const listed = await Promise.all(roots.map(root => unlistedIn(root, byPath)))
    const away = new Set(roots.filter((_, i) => listed[i] === undefined))
    return { is: 'seen', entries, byPath, unlisted: listed.flatMap(each => each ?? []), roots, away }
  } catch (error) {
    return { is: 'unknown', reason: reasonOf(error) }
  }
}

/** Worktree path as git has it → its entry's directory. */
async function entryDirs(site: Site): Promise<Map<string, string>> {
  const root = join(site.repo.commonDir, 'worktrees')
  const names = await readdir(root).catch(none)
  const pairs = await Promise.all(
    names.map(async name => {
      const text = await readFile(join(root, name, 'gitdir'), 'utf8').catch(() => '')
      const file = text.replace(/\r?\n$/, '')
      return file === '' ? [] : [[dirname(resolve(root, name, file)), join(root, name)] as const]
    }),
  )
  return new Map(pairs.flat())
}

/** Undefined: the root itself is not there. */
async function unlistedIn(root: string, listed: Map<string, unknown>): Promise<Seen['unlisted'] | undefined> {
  let entries: Dirent[]
  try {
    entries = await readdir(root, { withFileTypes: true })
  } catch (error) {
    const code = (error as { code?: string }).code
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined
    throw error
  }
  const real = await resolved(root)
  const strange = entries.filter(
    each =>
      each.isDirectory() &&
      !each.name.startsWith('.') &&
      !listed.has(join(root, each.name)) &&
      !listed.has(join(real, each.name)),
  )
  return Promise.all(
    strange.map(async ({ name }) => {
      const path = join(root, name)
      const text = await readFile(join(path, '.git'), 'utf8').catch(() => '')
      const named = /^gitdir: ([^\0]+?)\r?\n?$/.exec(text)?.[1]
      return { path, entryDir: named === undefined ? undefined : resolve(path, named) }
    }),
  )
}

const none = (error: unknown): string[] => {
  if ((error as { code?: string }).code === 'ENOENT') return []
  throw error
}

const unreadable = (site: Site, reason: string): Difference => ({
  task: null,
  what: 'registry-unreadable',
  path: site.repo.commonDir,
  sentence: `git's list of worktrees cannot be read, so nothing can be told: ${reason}`,
  command: gitCall(site.repo.root, 'worktree', 'list'),
})

async function compareRecord(site: Site, record: ReconcileRecord, seen: Seen): Promise<Difference[]> {
  if (record.removing) return []
  const { task, path } = record
  const [real, place] = await Promise.all([resolved(path), lstat(path).catch(missing)])
  const entry = seen.byPath.get(path) ?? seen.byPath.get(real)
  const of = (what: string, sentence: string, command: string, remedy?: Remedy): Difference[] => [
    { task, what, path, sentence, command, ...(remedy === undefined ? {} : { remedy }) },
  ]
  const lock =
    entry?.locked == null || entry.locked === 'initializing' ? undefined : entry.locked || 'no reason given'
  if (record.preparing && (entry === undefined || place === undefined)) return []
  if (place === undefined) return withoutPlace({ site, record, entry, seen, lock, of })
  if (entry === undefined) {
    const known = seen.unlisted.find(each => each.path === path)?.entryDir !== undefined
    return known
      ? of(
          'entry-gone',
          `git has forgotten the worktree of '${task}'; its files are still there and may be work`,
          `berth rm ${task}`,
        )
      : of(
          'not-a-worktree',
          `'${path}' is no worktree any more, and Berth leaves it alone`,
          `ls -la ${shellWord(path)}`,
        )
  }
  const stranger = notOurs(site, task, entry.marker)
  if (stranger !== undefined)
    return of('not-ours', `'${path}' ${stranger}`, gitCall(site.repo.root, 'worktree', 'list'))
  if (!record.preparing && (await isCutOff(entry)))
    return of('cut-off', `the creation of the workspace of '${task}' was cut off`, `berth retry ${task}`)
  if ((await lstat(join(path, '.git')).catch(missing)) === undefined && !record.preparing)
    return of(
      'emptied',
      `the worktree of '${task}' is registered, but its '.git' file is gone`,
      gitCall(site.repo.root, 'worktree', 'repair', path),
    )
  return [
    ...(lock === undefined
      ? []
      : of(
          'locked',
          `the worktree of '${task}' is locked: ${lock}`,
          gitCall(site.repo.root, 'worktree', 'unlock', path),
        )),
    ...(await branchDifferences(site, record, { entry, of })),
  ]
}

type Of = (what: string, sentence: string, command: string, remedy?: Remedy) => Difference[]

async function branchDifferences(
  site: Site,
  { task, branch, commit }: ReconcileRecord,
  { entry, of }: { entry: Entry; of: Of },
): Promise<Difference[]> {
  if (entry.branch !== branch && entry.head !== null) {
    const now =
      entry.branch === null ? `at the detached commit ${entry.head.slice(0, 12)}` : `on '${entry.branch}'`
    // A branch that is gone is made again where its work was, or else from what is there.
    const tip = await tipOf(site.repo, `refs/heads/${branch}`)
    const again = tip.is === 'tip' && tip.commit === undefined
    const words = again ? ['-c', branch, ...(commit === undefined ? [] : [commit])] : [branch]
    return of(
      'branch-switched',
      `the worktree of '${task}' is ${now}, not on '${branch}'${again ? ', which is gone' : ''}`,
      gitCall(entry.path, 'switch', ...words),
    )
  }
  if (commit === undefined || entry.head === null || entry.head === commit) return []
  const from = commit.slice(0, 12)
  return of(
    'branch-moved',
    `'${branch}' moved from ${from} to ${entry.head.slice(0, 12)} outside Berth`,
    `berth show ${task}`,
  )
}

/** The directory is not there: on its way, elsewhere, away with its volume, or gone. */
function withoutPlace(input: {
  site: Site
  record: ReconcileRecord
  entry: Entry | undefined
  seen: Seen
  lock: string | undefined
  of: Of
}): Difference[] {
  const { site, record, entry, seen, lock, of } = input
  const { task, path } = record
  if (entry === undefined)
    return of('gone', `neither the directory of '${task}' nor git's entry of it is there`, `berth rm ${task}`)
  const from = movedTo(entry, seen)
  if (from !== undefined)
    return [{ task, path, ...moved(task, from, path), remedy: { do: 'move-back', from, to: path } }]
  if (lock !== undefined)
    return of(
      'away-locked',
      `the worktree of '${task}' is away, and locked: ${lock}`,
      gitCall(site.repo.root, 'worktree', 'list'),
    )
  if (seen.away.has(dirname(path)))
    return of(
      'away',
      `'${dirname(path)}' is not there: is a volume not mounted?`,
      `ls -la ${shellWord(dirname(dirname(path)))}`,
    )
  return of(
    'directory-gone',
    `the directory of '${task}' is gone; its branch and commits are kept`,
    `berth rm ${task}`,
  )
}

/** Where the directory lies whose `.git` file names this entry. */
const movedTo = ({ dir }: Entry, seen: Seen): string | undefined =>
  dir === '' ? undefined : seen.unlisted.find(({ entryDir }) => entryDir === dir)?.path

const moved = (task: string, from: string, to: string) => ({
  what: 'moved',
  sentence: `the worktree of '${task}' was moved to '${from}'`,
  command: `mv ${shellWord(from)} ${shellWord(to)}`,
})

/** Why an entry is not this Berth's workspace of `task`, or undefined if it is. */
function notOurs(site: Site, task: string, found: FoundMarker): string | undefined {
  if (found.is === 'none') return "does not bear Berth's mark"
  if (found.is === 'unreadable') return `bears a mark that cannot be read: ${found.reason}`
  const { marker } = found
  if (marker.stateId !== site.stateId) return 'belongs to another Berth'
  return marker.task === task ? undefined : `belongs to task '${marker.task}'`
}

async function isCutOff(entry: Entry): Promise<boolean> {
  if (entry.locked === 'initializing') return true
  return entry.dir !== '' && (await lstat(join(entry.dir, 'index')).catch(missing)) === undefined
}

/** Entries and directories that no record speaks of. Worktrees of the person's own elsewhere are none of them. */
function strangers(site: Site, records: ReconcileRecord[], seen: Seen): Difference[] {
  const known = new Set(records.flatMap(({ path }) => [path, seen.byPath.get(path)?.path ?? path]))
  const own = seen.entries
    .filter(entry => !known.has(entry.path))
    .flatMap(entry => strangeEntry(site, entry, seen))
  const dirs = seen.unlisted
    .filter(
      ({ path, entryDir }) =>
        !known.has(path) && !seen.entries.some(each => each.dir !== '' && each.dir === entryDir),
    )
    .map(({ path, entryDir }) => strangeDirectory(site, path, entryDir))
  return [...own, ...dirs]
}

function strangeEntry(site: Site, entry: Entry, seen: Seen): Difference[] {
  const { marker } = entry
  const inRoot = seen.roots.some(root => isBelow(entry.path, root))
  const of = (what: string, sentence: string, command: string, task: string | null = null): Difference[] => [
    { task, what, path: entry.path, sentence, command },
  ]
  if (marker.is !== 'marker')
    return inRoot
      ? of(
          'foreign',
          `'${entry.path}' is a worktree that Berth did not make`,
          gitCall(site.repo.root, 'worktree', 'list'),
        )
      : []
  const { stateId, task } = marker.marker
  if (stateId !== site.stateId)
    return of(
      'foreign-berth',
      `'${entry.path}' belongs to another Berth (task '${task}')`,
      gitCall(site.repo.root, 'worktree', 'list'),
    )
  if (task === integrationTask && entry.path === integrationPath(site)) return []
  return [leftover(site, entry, marker.marker, seen)]
}

/** Ours, but no record names its place. */
function leftover(site: Site, entry: Entry, { task, path: made }: Marker, seen: Seen): Difference {
  const { path, real, dir, prunable } = entry
  const of = { task, what: 'leftover', path }
  const sentence = `'${path}' was made for task '${task}', and no record names it`
  const from = movedTo(entry, seen)
  if (from !== undefined) return { ...of, ...moved(task, from, path) }
  if (prunable !== null) {
    const remedy: Remedy = { do: 'unregister', path, entryDir: dir }
    return { ...of, sentence, command: 'berth reconcile --fix', remedy }
  }
  if (task === integrationTask) return { ...of, sentence, command: 'berth purge' }
  if (made === path || made === real)
    return { ...of, sentence, command: gitCall(site.repo.root, 'worktree', 'remove', path) }
  return {
    ...of,
    ...moved(task, path, made),
    command: gitCall(site.repo.root, 'worktree', 'move', path, made),
  }
}

function strangeDirectory(site: Site, path: string, entryDir: string | undefined): Difference {
  const ours = entryDir !== undefined && dirname(entryDir) === join(site.repo.commonDir, 'worktrees')
  const of = { task: null, path, command: `ls -la ${shellWord(path)}` }
  const forgotten = `'${path}' was a worktree of this repository, git has forgotten it, and its files may be work`
  return ours
    ? { ...of, what: 'orphan', sentence: forgotten }
    : { ...of, what: 'foreign', sentence: `'${path}' is not Berth's, and is left alone` }
}

/** What removals left in the trash although none is under way: it had left git already, all but its deletion. */
async function remains(records: ReconcileRecord[], seen: Seen): Promise<Difference[]> {
  const busy = records.filter(({ removing }) => removing).map(({ path }) => basename(path))
  const found = await Promise.all(
    seen.roots.map(async root => {
      const names = await readdir(trashOf(root)).catch(() => [])
      const ids = new Set(names.map(name => name.replace(/\.git(\.part)?$/, '')))
      return [...ids]
        .filter(id => !busy.some(name => id.startsWith(`${name}-`)))
        .map((id): Difference => ({
          task: null,
          what: 'trash',
          path: join(trashOf(root), id),
          sentence: `'${join(trashOf(root), id)}' is left of a removal`,
          command: 'berth reconcile --fix',
          remedy: { do: 'empty', root, dir: join(trashOf(root), id) },
        }))
    }),
  )
  return found.flat()
}

function missing(error: unknown): undefined {
  const code = (error as { code?: string }).code
  if (code === 'ENOENT' || code === 'ENOTDIR') return undefined
  throw error
}
