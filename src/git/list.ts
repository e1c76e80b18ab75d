// What git's registry says of the worktrees of a repository.

import { readFile, readdir, realpath } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { type Git, git, reasonOf } from './git.ts'
import { splitNul } from './path.ts'

export type WorktreeEntry = {
  /** As git has it; compare by real path and whole components. */
  path: string
  head: string | null
  /** Short name; null when detached or bare. */
  branch: string | null
  bare: boolean
  /** The repository's main worktree (or the bare repository itself). */
  main: boolean
  /** Reason, possibly empty. */
  locked: string | null
  /** Why git would prune it: its directory is not there, say. */
  prunable: string | null
}

export type WorktreeList = { is: 'list'; entries: WorktreeEntry[] } | { is: 'unknown'; reason: string }

/** Every entry, or unknown: a failed list is not an empty one (law 1). */
export async function listWorktrees(at: Git): Promise<WorktreeList> {
  const result = await git(at, ['worktree', 'list', '--porcelain', '-z'], { timeoutMs: 30_000 })
  if (result.code !== 0 || result.truncated) return { is: 'unknown', reason: reasonOf(result) }
  const entries = parseList(result.out)
  return entries ? { is: 'list', entries } : { is: 'unknown', reason: 'the list of worktrees cannot be read' }
}

/** Parses `git worktree list --porcelain -z`; undefined where it is not what was expected. */
export function parseList(out: Buffer): WorktreeEntry[] | undefined {
  const entries: WorktreeEntry[] = []
  let entry: WorktreeEntry | undefined
  for (const field of splitNul(out)) {
    if (field === '') {
      entry = undefined
      continue
    }
    const space = field.indexOf(' ')
    const [key, value] = space < 0 ? [field, ''] : [field.slice(0, space), field.slice(space + 1)]
    if (key === 'worktree') {
      entry = { ...blank, path: value, main: entries.length === 0 }
      entries.push(entry)
    } else if (!entry || !fill(entry, key, value)) return undefined
  }
  return entries.length > 0 ? entries : undefined
}

/**
 * The entry's directory in `<common dir>/worktrees` for a worktree path, whether or not the worktree is there.
 * Undefined where no entry names it. Reads files only.
 */
export async function entryDirOf(at: Git, path: string): Promise<string | undefined> {
  const root = join(at.commonDir, 'worktrees')
  const names = await readdir(root).catch(() => [])
  const wanted = await resolved(path)
  for (const name of names) {
    const place = await placeOfEntry(join(root, name))
    if (place === undefined) continue
    if (place === path || (await resolved(place)) === wanted) return join(root, name)
  }
  return undefined
}

/** Where an entry says that its worktree lies; undefined where it says nothing. */
export async function placeOfEntry(entryDir: string): Promise<string | undefined> {
  const file = await readFile(join(entryDir, 'gitdir'), 'utf8').catch(() => undefined)
  return file === undefined ? undefined : dirname(resolve(entryDir, file.replace(/\r?\n$/, '')))
}

/** The real path; of what is not there, the real path of its nearest folder that is, and the rest. */
export async function resolved(path: string): Promise<string> {
  const parent = dirname(path)
  const real = await realpath(path).catch(() => undefined)
  if (real !== undefined) return real
  return parent === path ? path : join(await resolved(parent), path.slice(parent.length))
}

/** The entry of a worktree path, compared by real path. */
export async function entryAt(
  entries: readonly WorktreeEntry[],
  path: string,
): Promise<WorktreeEntry | undefined> {
  const exact = entries.find(entry => entry.path === path)
  if (exact) return exact
  const wanted = await resolved(path)
  for (const entry of entries) if ((await resolved(entry.path)) === wanted) return entry
  return undefined
}

const blank = { head: null, branch: null, bare: false, main: false, locked: null, prunable: null }

function fill(entry: WorktreeEntry, key: string, value: string): boolean {
  switch (key) {
    case 'HEAD':
      entry.head = /^0+$/.test(value) ? null : value
      return true
    case 'branch':
      entry.branch = value.replace(/^refs\/heads\//, '')
      return true
    case 'bare':
      entry.bare = true
      return true
    case 'detached':
      return true
    case 'locked':
      entry.locked = value
      return true
    case 'prunable':
      entry.prunable = value
      return true
    default:
      // A later git may say more.
      return true
  }
}
