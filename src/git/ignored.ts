// Ignored files: which of them are somebody's only copy, and which can be built again or were put there by setup.

import { createHash } from 'node:crypto'
import { lstat, readFile, readlink } from 'node:fs/promises'
import { join } from 'node:path'
import { fsPath } from './path.ts'
import { type Tracked } from './tracked.ts'
import { findRepositories, walk } from './walk.ts'

/** What setup put there, so that it is no loss while it is still the same. Paths relative, `/` separated. */
export type KnownFile = { path: string; sha256: string } | { path: string; link: string }

export type IgnoredFound = {
  /** Files and links that are a loss, each by itself. */
  files: string[]
  /** The same as a person would name them: whole folders as one, with `/` at the end. */
  named: string[]
  bytes: number
  /** Repositories in folders that could be built again otherwise. */
  nested: string[]
}

type Sorting = {
  root: string
  rebuildable: readonly string[]
  known: ReadonlyMap<string, KnownFile>
  tracked: Tracked
  untracked: readonly string[]
}

/** Sorts what `git status --ignored=matching` named. Throws what the disk throws. */
export async function sortIgnored(entries: readonly string[], sorting: Sorting): Promise<IgnoredFound> {
  const found: IgnoredFound = { files: [], named: [], bytes: 0, nested: [] }
  for (const entry of entries) {
    const path = entry.replace(/\/$/, '')
    if (entry.endsWith('/') && (await isNested(sorting.root, path))) {
      found.nested.push(path)
    } else if (isRebuildable(entry, sorting)) {
      if (entry.endsWith('/')) found.nested.push(...(await findRepositories(sorting.root, path)))
    } else await addLosses(found, { entry, path, sorting })
  }
  return found
}

/** Whether a file or link is still what setup made it. */
export async function isKnown(
  root: string,
  path: string,
  known: ReadonlyMap<string, KnownFile>,
): Promise<boolean> {
  const entry = known.get(path)
  if (!entry) return false
  const place = fsPath(join(root, path))
  const stats = await lstat(place).catch(() => undefined)
  if ('link' in entry) return stats?.isSymbolicLink() === true && (await readlink(place)) === entry.link
  if (!stats?.isFile()) return false
  return (
    createHash('sha256')
      .update(await readFile(place))
      .digest('hex') === entry.sha256
  )
}

export const knownMap = (known: readonly KnownFile[]): Map<string, KnownFile> =>
  new Map(known.map(entry => [entry.path, entry]))

/** Folders whose name is on the list, and what lies in such a folder if nothing else than ignored files does. */
function isRebuildable(entry: string, { rebuildable, tracked, untracked }: Sorting): boolean {
  const path = entry.replace(/\/$/, '')
  const parts = path.split('/')
  for (let count = 1; count <= parts.length; count++) {
    const folder = parts.slice(0, count).join('/')
    if (!rebuildable.some(name => folder === name || folder.endsWith(`/${name}`))) continue
    if (count === parts.length) return true
    const other = tracked.hasUnder(folder) || untracked.some(name => name.startsWith(`${folder}/`))
    if (!other) return true
  }
  return false
}

async function isNested(root: string, path: string): Promise<boolean> {
  return (await lstat(fsPath(join(root, path, '.git'))).catch(() => undefined)) !== undefined
}

async function addLosses(
  found: IgnoredFound,
  { entry, path, sorting }: { entry: string; path: string; sorting: Sorting },
): Promise<void> {
  const { root, known } = sorting
  if (!entry.endsWith('/')) {
    if (await isKnown(root, path, known)) return
    found.files.push(path)
    found.named.push(path)
    found.bytes += (await lstat(fsPath(join(root, path)))).size
    return
  }
  const before = found.files.length
  for (const item of await walk(root, path)) {
    if (item.kind === 'folder' || (await isKnown(root, item.path, known))) continue
    found.files.push(item.path)
    found.bytes += item.size
  }
  if (found.files.length > before) found.named.push(entry)
}
