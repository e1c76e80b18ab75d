// Why a workspace must not be removed: not ours, locked, in use, or full of work. Nothing is changed here.

import { lstat, readFile, realpath } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { type Holder, type Loss, type TaskName, type TeardownMode } from '../core/event.ts'
import { lossesText } from '../core/loss.ts'
import { gitCall, shellWord } from '../core/shellword.ts'
import { isGit } from '../git/indexlock.ts'
import { entryAt, entryDirOf, resolved, type WorktreeEntry, type WorktreeList } from '../git/list.ts'
import { rootOf } from './aside.ts'
import { type Occupied } from './holders.ts'
import {
  type FoundMarker,
  type Marker,
  readMarker,
  reasonOf,
  type RunRecord,
  type Site,
  type WorkspaceRecord,
} from './site.ts'
import { isBelow } from './walker.ts'

export type Refusal = { code: string; reason: string; hint?: string; losses: Loss[]; holders: Holder[] }

/** What the files say, before git is asked. */
export type OnDisk = {
  directory: Standing
  entryDir: string | undefined
  marker: FoundMarker
  /** The reason of git's lock, possibly empty. */
  locked: string | undefined
}

/** What stands where the record says that the workspace is. */
export type Found = {
  directory: 'there' | 'absent'
  entryDir: string | undefined
  main: boolean
  locked: string | undefined
  marker: Marker | undefined
  /** Wall ms at which it was made, by the marker, else by the record. */
  madeAt: number
}

export type Ground = {
  task: TaskName
  mode: TeardownMode
  workspace: WorkspaceRecord
  runs: RunRecord[]
  cwd?: string
}

/** Looks at files alone. */
export async function findOnDisk(site: Site, { workspace }: Pick<Ground, 'workspace'>): Promise<OnDisk> {
  const [entryDir, directory] = await Promise.all([
    entryDirOf(site.repo, workspace.path),
    standing(workspace.path),
  ])
  if (entryDir === undefined) return { directory, entryDir, marker: { is: 'none' }, locked: undefined }
  const [marker, locked] = await Promise.all([
    readMarker(entryDir),
    readFile(join(entryDir, 'locked'), 'utf8').catch(() => undefined),
  ])
  return { directory, entryDir, marker, locked: locked?.trimEnd() }
}

/** Whether the mark says that this very workspace is ours. */
export const isMarked = (site: Site, { task }: Pick<Ground, 'task'>, { marker }: OnDisk): boolean =>
  marker.is === 'marker' &&
  marker.marker.stateId === site.stateId &&
  marker.marker.project === site.project &&
  marker.marker.task === task

type Judged = { is: 'found'; found: Found } | { is: 'refused'; refusal: Refusal }

/** Disk and registry together; a refusal where they alone decide (laws 1 to 3). */
export async function judgeFound(
  site: Site,
  ground: Ground,
  { disk, list }: { disk: OnDisk; list: WorktreeList },
): Promise<Judged> {
  const { path, since } = ground.workspace
  const { directory, entryDir, marker, locked } = disk
  const no = (code: string, reason: string, hint?: string): Judged => ({
    is: 'refused',
    refusal: { code, reason, losses: [], holders: [], ...(hint === undefined ? {} : { hint }) },
  })
  const listed = gitCall(site.repo.root, 'worktree', 'list')
  if (list.is === 'unknown') return no('refused', `git cannot list the worktrees: ${list.reason}`, listed)
  if (directory.is === 'unknown') return no('refused', `'${path}' cannot be looked at: ${directory.reason}`)
  if (directory.is === 'other')
    return no('not-ours', `'${path}' is ${directory.what}, no directory of Berth's own`)
  const outside = await whyInsane(site, path, list.entries)
  if (outside !== undefined) return no('not-ours', outside)
  const entry = await entryAt(list.entries, path)
  const found = { directory: directory.is, entryDir, main: entry?.main === true, locked }
  if (entryDir === undefined) {
    if (entry === undefined) return { is: 'found', found: { ...found, marker: undefined, madeAt: since } }
    return no('refused', `git lists '${path}', but its entry cannot be found`, listed)
  }
  if (marker.is !== 'marker') {
    const why = marker.is === 'unreadable' ? `: ${marker.reason}` : ''
    return no('not-ours', `'${path}' does not bear Berth's mark${why}`, listed)
  }
  const mark = marker.marker
  if (!isMarked(site, ground, disk))
    return no('not-ours', `'${path}' belongs to another Berth or task ('${mark.task}')`, 'berth reconcile')
  if ((await resolved(mark.path)) !== (await resolved(path)))
    return no('not-ours', `'${path}' was made at '${mark.path}'`, 'berth reconcile')
  return { is: 'found', found: { ...found, marker: mark, madeAt: mark.madeAt } }
}

/** A refusal by lock, by a live run, by where `rm` was typed. */
export async function refusalByUse(site: Site, ground: Ground, found: Found): Promise<Refusal | undefined> {
  const { task, mode, workspace } = ground
  const no = (code: string, reason: string, hint?: string): Refusal => ({
    code,
    reason,
    losses: [],
    holders: [],
    ...(hint === undefined ? {} : { hint }),
  })
  if (found.main) return no('not-ours', `'${workspace.path}' is the repository's main worktree`)
  if (isForeignLock(found) && !mode.unlock) {
    const why = found.locked === '' ? 'no reason given' : found.locked
    return no('locked', `'${workspace.path}' is locked: ${why}`, `berth rm ${task} --unlock`)
  }
  if (ground.runs.some(({ live }) => live) && !mode.stop)
    return no('live-run', `task '${task}' has a live run`, `berth stop ${task}`)
  if (ground.cwd !== undefined && found.directory === 'there') {
    const [cwd, path] = await Promise.all([resolved(ground.cwd), resolved(workspace.path)])
    if (cwd === path || isBelow(cwd, path))
      return no('cwd-inside', `you are inside '${workspace.path}'`, `cd ${shellWord(site.repo.root)}`)
  }
  return undefined
}

/** A creation of ours that was cut off leaves git's own lock behind (case 19). */
const isForeignLock = ({ locked, marker }: Found): boolean =>
  locked !== undefined && !(marker !== undefined && locked === 'initializing')

/** A git of a person that holds the index there: what it is about to commit would go with the worktree (case 39). */
export async function refusalByGit(
  ground: Ground,
  { named }: Occupied,
  entryDir: string | undefined,
): Promise<Refusal | undefined> {
  const worker = named.find(({ command }) => isGit(command))
  if (worker === undefined || entryDir === undefined) return undefined
  const isHeld = await lstat(join(entryDir, 'index.lock')).then(
    () => true,
    () => false,
  )
  if (!isHeld) return undefined
  const reason = `git is busy in '${ground.workspace.path}' (pid ${worker.pid}, '${worker.command}')`
  return { code: 'held', reason, hint: `berth rm ${ground.task}`, losses: [], holders: [worker] }
}

/** A person's process that works there, or one that could not be looked at. */
export function refusalByHolders(ground: Ground, occupied: Occupied): Refusal | undefined {
  const { path } = ground.workspace
  if (occupied.unknown.length > 0)
    return {
      code: 'held',
      reason: `it cannot be told who works in '${path}': ${occupied.unknown.join('; ')}`,
      losses: [],
      holders: [],
    }
  const [first] = occupied.blocking
  if (first === undefined) return undefined
  const more = occupied.blocking.length > 1 ? ` and ${occupied.blocking.length - 1} more` : ''
  return {
    code: 'held',
    reason: `process ${first.pid} ('${first.command}')${more} ${first.what}: end it first`,
    hint: `berth rm ${ground.task}`,
    losses: [],
    holders: occupied.blocking,
  }
}

/** Work that would be lost, unless it is to be saved or given up. */
export function refusalByLoss(
  ground: Ground,
  losses: Loss[],
  where = `in '${ground.workspace.path}'`,
): Refusal | undefined {
  if (losses.length === 0 || ground.mode.discard) return undefined
  const unknown = losses.some(({ kind }) => kind === 'unknown')
  if (ground.mode.save && !unknown) return undefined
  const what = lossesText(losses)
  const reason = unknown
    ? `it cannot be told what would be lost ${where}: ${what}`
    : `work ${where} would be lost: ${what}`
  const hint = rmCommand(ground, unknown ? 'discard' : 'save')
  return { code: 'loss', reason, hint, losses, holders: [] }
}

/** The same removal, with what becomes of the work. */
export const rmCommand = ({ task, mode }: Pick<Ground, 'task' | 'mode'>, work: 'save' | 'discard'): string =>
  [
    `berth rm ${task}`,
    ...(mode.branch && mode.by !== 'landing' ? ['--branch'] : []),
    ...(mode.unlock ? ['--unlock'] : []),
    `--${work}`,
  ].join(' ')

type Standing =
  | { is: 'there' }
  | { is: 'absent' }
  | { is: 'other'; what: string }
  | { is: 'unknown'; reason: string }

async function standing(path: string): Promise<Standing> {
  try {
    const stat = await lstat(path)
    if (stat.isDirectory()) return { is: 'there' }
    return { is: 'other', what: stat.isSymbolicLink() ? 'a link' : 'a file' }
  } catch (error) {
    const code = (error as { code?: string }).code
    return code === 'ENOENT' || code === 'ENOTDIR'
      ? { is: 'absent' }
      : { is: 'unknown', reason: reasonOf(error) }
  }
}

/** A path that no record may lead to: the repository itself, something above it, or outside every managed root. */
async function whyInsane(site: Site, path: string, entries: WorktreeEntry[]): Promise<string | undefined> {
  const real = await resolved(path)
  const root = await realpath(rootOf(site, path)).catch(() => undefined)
  if (root !== undefined && !isBelow(real, root)) return `'${path}' leads out of the managed root '${root}'`
  const main = entries.find(entry => entry.main)?.path
  for (const place of [site.repo.root, site.repo.commonDir, site.state.dir, main]) {
    if (place === undefined) continue
    const other = await resolved(place)
    if (other === real || isBelow(other, real)) return `'${path}' holds '${place}'`
  }
  return undefined
}

/** Whether what lies at a task's path, if anything, is no worktree of this repository, or provably another's. */
export async function nothingOfOurs(
  site: Site,
  ground: Pick<Ground, 'task' | 'workspace'>,
): Promise<boolean> {
  const disk = await findOnDisk(site, ground)
  if (disk.entryDir === undefined) return (await pointsHere(site, ground.workspace.path)) === undefined
  return disk.marker.is === 'marker' && !isMarked(site, ground, disk)
}

/** Whether a directory's `.git` file names this repository, although the entry is gone (case 33). */
export async function pointsHere(site: Site, path: string): Promise<string | undefined> {
  const text = await readFile(join(path, '.git'), 'utf8').catch(() => '')
  const named = /^gitdir: ([^\0]+?)\r?\n?$/.exec(text)?.[1]
  if (named === undefined) return undefined
  const entryDir = resolve(path, named)
  const home = await resolved(join(site.repo.commonDir, 'worktrees'))
  return (await resolved(dirname(entryDir))) === home ? basename(entryDir) : undefined
}
