// Deletes one directory tree, and nothing that it only points at: no link, mount point or other device is entered.
// Names are bytes: one that is no UTF-8 is deleted like any other.

import { chmod, lstat, readFile, readdir, realpath, rmdir, unlink } from 'node:fs/promises'
import { basename, dirname, join, sep } from 'node:path'
import { fsPath, pathOf, shownPath } from '../git/path.ts'

export type Removal =
  | { is: 'gone'; removed: number }
  /** What stands still, at most 20 named, each with the reason. The rest of the tree is gone. */
  | { is: 'left'; removed: number; count: number; left: { path: string; reason: string }[] }

export type RemovalLimits = {
  /** The real path of `path` must lie strictly below the real path of this directory. */
  under: string
  /** One budget for the whole tree, ms of `clock`. */
  budgetMs: number
  /** Awake ms, never going back. */
  clock: () => number
  /** Windows shows a volume mount point as a plain directory: compare real paths too. */
  windows: boolean
  signal?: AbortSignal
}

/**
 * Removes `path` with all below it. A missing path is gone. Links are removed, never followed; a directory that
 * may not be written is made writable first; what is busy is tried again until the budget is spent.
 */
export async function removeTree(path: string, limits: RemovalLimits): Promise<Removal> {
  const parent = await realpath(dirname(path)).catch(missing)
  if (parent === undefined) return { is: 'gone', removed: 0 }
  const real = join(parent, basename(path))
  if (!isBelow(real, await realpath(limits.under)))
    throw new Error(`refused to delete '${path}': not below '${limits.under}'`)
  const stat = await lstat(real, { bigint: true }).catch(missing)
  if (stat === undefined) return { is: 'gone', removed: 0 }
  const walk: Walk = {
    ...limits,
    device: stat.dev,
    mounts: await mountsBelow(real),
    until: limits.clock() + limits.budgetMs,
    removed: 0,
    count: 0,
    left: [],
  }
  await removeEntry(walk, real, stat.isDirectory())
  const { removed, count, left } = walk
  return count === 0 ? { is: 'gone', removed } : { is: 'left', removed, count, left }
}

/** Whether `path` lies strictly below `ancestor`, by whole components; both absolute and real. */
export const isBelow = (path: string, ancestor: string): boolean =>
  path !== ancestor && path.startsWith(ancestor.endsWith(sep) ? ancestor : ancestor + sep)

type Walk = RemovalLimits & {
  device: bigint
  mounts: Set<string>
  until: number
  removed: number
  count: number
  left: { path: string; reason: string }[]
}

const namedAtMost = 20
const together = 32

/** How many entries of the subtree still stand. */
async function removeEntry(walk: Walk, path: string, directory: boolean): Promise<number> {
  if (directory) return removeDirectory(walk, path)
  const failure = await patiently(walk, () => unlinkEntry(walk, path))
  if (failure !== undefined) return leave(walk, path, failure)
  walk.removed += 1
  return 0
}

async function removeDirectory(walk: Walk, path: string): Promise<number> {
  const refusal = await enter(walk, path)
  if (refusal !== undefined) return leave(walk, path, refusal)
  let standing = 0
  const failure = await patiently(walk, async () => {
    standing = await removeChildren(walk, path)
    // What could not be removed below is named already: its parents only stand because of it.
    if (standing === 0) await rmdir(fsPath(path))
  })
  if (failure !== undefined) return leave(walk, path, failure)
  if (standing === 0) walk.removed += 1
  return standing
}

async function removeChildren(walk: Walk, path: string): Promise<number> {
  const entries = await readdir(fsPath(path), { withFileTypes: true, encoding: 'buffer' })
  let standing = 0
  for (let i = 0; i < entries.length; i += together) {
    const removed = await Promise.all(
      entries.slice(i, i + together).map(async entry => {
        const child = join(path, pathOf(entry.name))
        const known = entry.isFile() || entry.isDirectory() || entry.isSymbolicLink()
        return removeEntry(walk, child, known ? entry.isDirectory() : await isDirectory(child))
      }),
    )
    standing += removed.reduce((sum, each) => sum + each, 0)
  }
  return standing
}

/** Why the directory must not be entered, or undefined. Makes it readable and writable for its owner. */
async function enter(walk: Walk, path: string): Promise<string | undefined> {
  if (walk.signal?.aborted === true) return 'interrupted'
  if (walk.clock() > walk.until) return 'out of time'
  const stat = await lstat(fsPath(path), { bigint: true }).catch(missing)
  if (stat === undefined) return undefined
  if (!stat.isDirectory()) return 'it was replaced while it was being deleted'
  if (stat.dev !== walk.device) return 'it is on another device'
  if (walk.mounts.has(path)) return 'it is a mount point'
  if (walk.windows && (await realpath(path)) !== path) return 'its real path is elsewhere'
  if ((stat.mode & 0o700n) === 0o700n) return undefined
  return chmod(fsPath(path), Number(stat.mode & 0o777n) | 0o700).then(
    () => undefined,
    (error: unknown) => (codeOf(error) === 'ENOENT' ? undefined : reasonOf(error)),
  )
}

async function unlinkEntry(walk: Walk, path: string): Promise<void> {
  try {
    await unlink(fsPath(path))
  } catch (error) {
    // The read-only attribute of Windows stands on the file itself.
    if (!walk.windows || codeOf(error) !== 'EPERM') throw error
    const stat = await lstat(path)
    if (!stat.isFile()) throw error
    await chmod(path, 0o600)
    await unlink(path)
  }
}

/** Tries again what may pass, with growing pauses, within the budget. The reason of the last failure. */
async function patiently(walk: Walk, act: () => Promise<void>): Promise<string | undefined> {
  for (let pauseMs = 5; ; pauseMs = Math.min(pauseMs * 2, 250)) {
    try {
      await act()
      return undefined
    } catch (error) {
      const code = codeOf(error)
      if (code === 'ENOENT') return undefined
      const passing = passingCodes.has(code ?? '') || (walk.windows && code === 'EPERM')
      if (!passing || walk.clock() + pauseMs > walk.until || walk.signal?.aborted === true)
        return reasonOf(error)
      await new Promise(resolve => setTimeout(resolve, pauseMs))
    }
  }
}

const passingCodes = new Set(['EBUSY', 'ENOTEMPTY', 'EEXIST', 'EMFILE', 'ENFILE', 'EAGAIN', 'EINTR'])

function leave(walk: Walk, path: string, reason: string): 1 {
  walk.count += 1
  if (walk.left.length < namedAtMost) walk.left.push({ path: shownPath(path), reason })
  return 1
}

/** Mounts of the same file system share its device number; only the kernel's table tells them (Linux). */
async function mountsBelow(path: string): Promise<Set<string>> {
  const table = await readFile('/proc/self/mountinfo', 'utf8').catch(() => '')
  const points = table.split('\n').map(line => unescapeMount(line.split(' ')[4] ?? ''))
  return new Set(points.filter(point => point === path || isBelow(point, path)))
}

const unescapeMount = (text: string): string =>
  text.replace(/\\([0-7]{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)))

const isDirectory = async (path: string): Promise<boolean> =>
  (await lstat(fsPath(path)).catch(missing))?.isDirectory() ?? false

const codeOf = (error: unknown): string | undefined => (error as { code?: string } | null)?.code

function missing(error: unknown): undefined {
  const code = codeOf(error)
  if (code === 'ENOENT' || code === 'ENOTDIR') return undefined
  throw error
}

function reasonOf(error: unknown): string {
  const code = codeOf(error)
  const words = code === undefined ? undefined : inWords[code]
  return words === undefined ? (error instanceof Error ? error.message : String(error)) : `${words} (${code})`
}

const inWords: { [code: string]: string } = {
  EPERM: 'it may not be changed, as if marked immutable',
  EACCES: 'no permission',
  EBUSY: 'it is in use',
  ENOTEMPTY: 'something keeps writing into it',
  EROFS: 'the file system is read-only',
}
