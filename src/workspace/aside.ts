// Moving a workspace out of the way as a whole, on its own volume; and deleting what was moved.

import { lstat, mkdir, realpath, rename, rmdir } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { platform } from '../platform/platform.ts'
import { digest, type Site, trashOf } from './site.ts'
import { isBelow, type Removal, type RemovalLimits, removeTree } from './walker.ts'

/** Where a workspace goes before it is deleted: the same place for the same workspace, asked after a crash too. */
export type Trash = { root: string; dir: string; /** The copy of git's entry. */ entry: string }

export function trashFor(site: Pick<Site, 'policy'>, workspace: { path: string }, key: string): Trash {
  const root = rootOf(site, workspace.path)
  const dir = join(trashOf(root), `${basename(workspace.path)}-${digest(`${key}\n${workspace.path}`, 8)}`)
  return { root, dir, entry: `${dir}.git` }
}

/** As recorded by an earlier attempt. */
export const recordedTrash = (dir: string): Trash => ({
  root: dirname(dirname(dir)),
  dir,
  entry: `${dir}.git`,
})

/** The managed root a path lies in. A configuration changed since leaves it in the folder it was made in. */
export const rootOf = (site: Pick<Site, 'policy'>, path: string): string =>
  isBelow(path, site.policy.root) ? site.policy.root : dirname(path)

export type Moved = { is: 'moved' } | { is: 'absent' } | { is: 'failed'; reason: string }

/**
 * Renames `path` into the trash. On Windows this fails as a whole while anything inside is held: it is tried again
 * within `budgetMs` of awake time. Never a copy: what cannot be renamed is on another volume, and stays.
 */
export async function moveAside(path: string, trash: Trash, budgetMs: number): Promise<Moved> {
  if ((await lstat(path).catch(missing)) === undefined) return { is: 'absent' }
  await mkdir(trashOf(trash.root), { recursive: true })
  const [real, root] = await Promise.all([realpath(dirname(path)), realpath(trash.root)])
  if (real !== root && !isBelow(real, root))
    return { is: 'failed', reason: `'${path}' leads out of '${trash.root}'` }
  if ((await lstat(trash.dir).catch(missing)) !== undefined)
    return { is: 'failed', reason: `'${trash.dir}' is there already` }
  const until = platform.monotonicMs() + budgetMs
  for (let pauseMs = 20; ; pauseMs = Math.min(pauseMs * 2, 500)) {
    try {
      await rename(path, trash.dir)
      return { is: 'moved' }
    } catch (error) {
      const code = (error as { code?: string }).code ?? ''
      if (code === 'ENOENT' && (await lstat(path).catch(missing)) === undefined) return { is: 'absent' }
      // The trash went with the last thing in it (`emptyTrash`).
      if (code === 'ENOENT') await mkdir(trashOf(trash.root), { recursive: true })
      const passing =
        code === 'EBUSY' ||
        code === 'ENOENT' ||
        (platform.name === 'windows' && (code === 'EPERM' || code === 'EACCES'))
      if (!passing || platform.monotonicMs() + pauseMs > until)
        return { is: 'failed', reason: `'${path}' cannot be moved aside: ${reasons[code] ?? code}` }
      await new Promise(resolve => setTimeout(resolve, pauseMs))
    }
  }
}

const limitsOf = (trash: Trash, budgetMs: number, signal?: AbortSignal): RemovalLimits => ({
  under: trashOf(trash.root),
  budgetMs,
  clock: () => platform.monotonicMs(),
  windows: platform.name === 'windows',
  ...(signal === undefined ? {} : { signal }),
})

/** Deletes what was moved aside, and leaves the copy of git's entry. */
export const emptyAside = (trash: Trash, budgetMs: number, signal?: AbortSignal): Promise<Removal> =>
  removeTree(trash.dir, limitsOf(trash, budgetMs, signal))

/** Deletes what was moved aside, and the copy of git's entry: the end of every way back. */
export async function emptyTrash(trash: Trash, budgetMs: number, signal?: AbortSignal): Promise<Removal> {
  const limits = limitsOf(trash, budgetMs, signal)
  if ((await lstat(limits.under).catch(missing)) === undefined) return { is: 'gone', removed: 0 }
  const tree = await removeTree(trash.dir, limits)
  const entry = await removeTree(trash.entry, limits)
  if (tree.is === 'gone' && entry.is === 'gone') {
    // Only where nothing else is in it.
    await rmdir(limits.under).catch(() => undefined)
    return { is: 'gone', removed: tree.removed + entry.removed }
  }
  const left = [tree, entry].flatMap(each => (each.is === 'left' ? each.left : []))
  const count = [tree, entry].reduce((sum, each) => sum + (each.is === 'left' ? each.count : 0), 0)
  return { is: 'left', removed: tree.removed + entry.removed, count, left }
}

/** A removal that left something, in one sentence. */
export const leftSentence = (removal: Removal & { is: 'left' }): string => {
  const [first] = removal.left
  const more = removal.count > 1 ? `, and ${removal.count - 1} more` : ''
  return first === undefined ? 'something is left' : `'${first.path}': ${first.reason}${more}`
}

const reasons: { [code: string]: string } = {
  EBUSY: 'something inside is in use (EBUSY)',
  EPERM: 'something inside is in use, or it may not be changed (EPERM)',
  EACCES: 'no permission (EACCES)',
  EXDEV: 'it is on another volume than its managed root (EXDEV)',
}

function missing(error: unknown): undefined {
  const code = (error as { code?: string }).code
  if (code === 'ENOENT' || code === 'ENOTDIR') return undefined
  throw error
}
