// Taking one worktree out of git's registry: copied first, exactly one, verified by the list. Never a prune.

import { constants, cp, lstat, mkdir, readdir, rename, rm, rmdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { type ErrorCode } from '../core/errors.ts'
import { failure, git, inDirectory, type GitResult } from './git.ts'
import { entryAt, entryDirOf, listWorktrees, type WorktreeEntry } from './list.ts'
import { type Repository } from './open.ts'
import { type RepositoryLock } from './worktree.ts'

export type UnregisterRequest = {
  /** The worktree's path, as recorded. Nothing may be there any more. */
  path: string
  /** Where the copy of git's entry goes: `<managed root>/.trash/<id>.git`. */
  trash: string
  lock: RepositoryLock
  /** Go on over a lock: it is ours, or a person said so. */
  unlock?: boolean
  /**
   * The entries as git listed them moments ago. Then no list is asked for here: the folders of the registry are
   * compared, and the caller asks git once more before it says that all is gone.
   */
  known?: readonly WorktreeEntry[]
}

export type UnregisterOutcome =
  | { is: 'unregistered'; copy: string }
  | { is: 'already' }
  | { is: 'refused'; code: ErrorCode; reason: string }
  | { is: 'failed'; step: string; reason: string }

/**
 * Takes exactly one entry out of git, after a copy of it was made at `trash` (docs/decisions/0008). The directory
 * must have been moved aside. A change elsewhere in the list is a failure that says so (law 4).
 */
export async function unregister(repo: Repository, request: UnregisterRequest): Promise<UnregisterOutcome> {
  if (await lstat(request.path).catch(() => undefined)) {
    return { is: 'refused', code: 'refused', reason: `'${request.path}' is still there` }
  }
  return request.lock(repo.commonDir, () => takeOut(repo, request))
}

async function takeOut(repo: Repository, request: UnregisterRequest): Promise<UnregisterOutcome> {
  const known = request.known && (await entryAt(request.known, request.path)) ? request.known : undefined
  const before = known ? { is: 'list' as const, entries: known } : await listWorktrees(repo)
  if (before.is === 'unknown') return { is: 'failed', step: 'list', reason: before.reason }
  const folders = known ? await registryOf(repo) : []
  const entry = await entryAt(before.entries, request.path)
  if (!entry) {
    const left = await entryDirOf(repo, request.path)
    return left
      ? { is: 'failed', step: 'list', reason: `git cannot read its entry '${left}'` }
      : { is: 'already' }
  }
  if (entry.main)
    return { is: 'refused', code: 'not-ours', reason: `'${entry.path}' is the repository's main worktree` }
  if (entry.locked !== null && request.unlock !== true) {
    return {
      is: 'refused',
      code: 'locked',
      reason: `'${entry.path}' is locked: ${entry.locked || 'no reason given'}`,
    }
  }
  const moved = await moveEntry(repo, request)
  if (moved.is === 'failed') return moved
  const result = moved.is === 'moved' ? undefined : await remove(repo, entry)
  if (known) return comparedFolders(repo, request, { folders, result })
  const after = await listWorktrees(repo)
  if (after.is === 'unknown') return { is: 'failed', step: 'verify', reason: after.reason }
  const there = new Set(after.entries.map(each => each.path))
  if (there.has(entry.path)) return { is: 'failed', step: 'remove', reason: whyThere(repo, result) }
  const lost = before.entries.find(each => each !== entry && !there.has(each.path))
  if (lost) return { is: 'failed', step: 'verify', reason: `another worktree left the list: '${lost.path}'` }
  return { is: 'unregistered', copy: request.trash }
}

/** The folder of this entry is gone, and no other. */
async function comparedFolders(
  repo: Repository,
  request: UnregisterRequest,
  { folders, result }: { folders: string[]; result: GitResult | undefined },
): Promise<UnregisterOutcome> {
  if (await entryDirOf(repo, request.path))
    return { is: 'failed', step: 'remove', reason: whyThere(repo, result) }
  const after = new Set(await registryOf(repo))
  const lost = folders.filter(name => !after.has(name))
  if (lost.length <= 1) return { is: 'unregistered', copy: request.trash }
  return {
    is: 'failed',
    step: 'verify',
    reason: `other entries left the registry too: '${lost.join("', '")}'`,
  }
}

const whyThere = (repo: Repository, result: GitResult | undefined): string =>
  result === undefined
    ? 'the entry was moved out, and is there again'
    : failure(repo, ['worktree remove'], result).message

/**
 * The entry is moved to its trash as a whole where the disk can: copy and removal in one step. It holds nothing that
 * `git worktree remove` would not delete; the list proves afterwards that git does not know it any more.
 */
async function moveEntry(
  repo: Repository,
  { path, trash, unlock }: UnregisterRequest,
): Promise<{ is: 'moved' | 'copied' } | CopyFailure> {
  const entryDir = await entryDirOf(repo, path)
  if (entryDir === undefined) return { is: 'copied' }
  const isThere = async (place: string): Promise<boolean> =>
    (await lstat(place).catch(() => undefined)) !== undefined
  // An earlier whole copy is kept; a lock that came since the list is for git to refuse.
  if (!(await isThere(trash)) && (unlock === true || !(await isThere(join(entryDir, 'locked'))))) {
    try {
      await mkdir(dirname(trash), { recursive: true })
      await rename(entryDir, trash)
      // As git does: without entries there is no registry. Not empty is the usual case.
      await rmdir(dirname(entryDir)).catch(() => undefined)
      return { is: 'moved' }
    } catch {
      // Another volume, or somebody has a file of it open: then it is copied, and git takes it out.
    }
  }
  return (await copyEntry(entryDir, trash)) ?? { is: 'copied' }
}

/** `room`: the disk of the trash is full. */
type CopyFailure = { is: 'failed'; step: 'copy' | 'room'; reason: string }

/** Names of the entries' folders. The last entry takes the registry itself along. */
const registryOf = (repo: Repository): Promise<string[]> =>
  readdir(join(repo.commonDir, 'worktrees')).catch((error: { code?: string }) => {
    if (error.code === 'ENOENT') return []
    throw error
  })

async function remove(repo: Repository, entry: WorktreeEntry): Promise<GitResult> {
  const at = inDirectory(repo, repo.root)
  if (entry.locked !== null) await git(at, ['worktree', 'unlock', entry.path], { lockMs: 10_000 })
  return git(at, ['worktree', 'remove', '--force', entry.path], { lockMs: 10_000 })
}

/** A whole copy or none: made beside and renamed. An earlier whole copy is kept. Returns why not, if not. */
async function copyEntry(entryDir: string, trash: string): Promise<CopyFailure | undefined> {
  if (await lstat(trash).catch(() => undefined)) return undefined
  const part = `${trash}.part`
  try {
    await mkdir(dirname(trash), { recursive: true })
    await rm(part, { recursive: true, force: true })
    await cp(entryDir, part, {
      recursive: true,
      verbatimSymlinks: true,
      errorOnExist: true,
      force: false,
      mode: constants.COPYFILE_FICLONE,
    })
    const [wanted, got] = await Promise.all([sizesIn(entryDir), sizesIn(part)])
    if (wanted !== got)
      return { is: 'failed', step: 'copy', reason: `the copy of '${entryDir}' is not whole` }
    await rename(part, trash)
    return undefined
  } catch (error) {
    await rm(part, { recursive: true, force: true }).catch(() => undefined)
    const why = error instanceof Error ? error.message : String(error)
    const step = (error as { code?: string } | null)?.code === 'ENOSPC' ? 'room' : 'copy'
    return { is: 'failed', step, reason: `git's entry cannot be copied to '${trash}': ${why}` }
  }
}

/** Every file below with its size, as one text to compare. */
async function sizesIn(folder: string, below = ''): Promise<string> {
  const rows: string[] = []
  for (const item of (await readdir(join(folder, below), { withFileTypes: true })).sort((a, b) =>
    a.name < b.name ? -1 : 1,
  )) {
    const name = join(below, item.name)
    if (item.isDirectory()) rows.push(await sizesIn(folder, name))
    else rows.push(`${name} ${(await lstat(join(folder, name))).size}`)
  }
  return rows.join('\n')
}
