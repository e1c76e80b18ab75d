// The index as a whole: submodules, and edits that flags hide from `git status`.

import { createHash } from 'node:crypto'
import { lstat, readFile, readlink } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { type Git, git, reasonOf } from './git.ts'
import { type IndexFile, readIndexFile } from './indexfile.ts'
import { fsPath, pathOf } from './path.ts'

export type IndexRow = { tag: string; mode: string; oid: string; path: string }

export type Tracked = {
  is: 'tracked'
  /** Paths of submodules and of repositories added as such. */
  links: string[]
  /** Rows with skip-worktree or assume-unchanged. */
  flagged: IndexRow[]
  /** Whether anything tracked lies under a folder (relative, no `/` at the end). */
  hasUnder: (folder: string) => boolean
}

/** Reads the index once. Only the rows that matter become strings: an index may have 50,000. */
export async function readTracked(
  worktree: Git,
  signal?: AbortSignal,
): Promise<Tracked | { is: 'unknown'; reason: string }> {
  const file = await readIndexFile(worktree.dir)
  if (file !== undefined) return trackedIn(file)
  return askTracked(worktree, signal)
}

function trackedIn({ special, has }: IndexFile): Tracked {
  const rows = special.map(({ mode, oid, path, assumed, skipped }): IndexRow => {
    const tag = skipped ? 'S' : 'H'
    return { tag: assumed ? tag.toLowerCase() : tag, mode, oid, path }
  })
  return trackedOf(rows, folder => has(Buffer.from(`${folder}/`)))
}

function trackedOf(rows: IndexRow[], hasUnder: Tracked['hasUnder']): Tracked {
  return {
    is: 'tracked',
    links: rows.filter(row => row.mode === '160000').map(row => row.path),
    flagged: rows.filter(row => row.mode !== '160000' && /^[a-zS]$/.test(row.tag)),
    hasUnder,
  }
}

/** Exported for the test that compares both. */
export async function askTracked(
  worktree: Git,
  signal?: AbortSignal,
): Promise<Tracked | { is: 'unknown'; reason: string }> {
  const result = await git(worktree, ['ls-files', '-v', '-s', '-z'], signal ? { signal } : {})
  if (result.code !== 0 || result.truncated) return { is: 'unknown', reason: reasonOf(result) }
  const { out } = result
  const rows: IndexRow[] = []
  for (let from = 0; from < out.length;) {
    const end = out.indexOf(0, from)
    const stop = end < 0 ? out.length : end
    if (out[from] !== plainTag || isLinkMode(out, from + 2)) rows.push(rowOf(out.subarray(from, stop)))
    from = stop + 1
  }
  return trackedOf(rows, folder => out.includes(Buffer.from(`\t${folder}/`)))
}

/** Of the flagged rows, those whose file is there and differs from the index. Throws what the disk throws. */
export async function hiddenEdits(worktree: Git, flagged: readonly IndexRow[]): Promise<string[]> {
  const folders = new Map<string, boolean>()
  const edits: string[] = []
  for (const row of flagged) {
    if (!(await folderIsThere(worktree.dir, dirname(row.path), folders))) continue
    const bytes = await bytesAt(join(worktree.dir, row.path))
    if (bytes === undefined || blobId(bytes, row.oid.length) === row.oid) continue
    if (!(await isSameFiltered(worktree, row, bytes))) edits.push(row.path)
  }
  return edits
}

/** What git would call these bytes, unfiltered. */
export function blobId(bytes: Uint8Array, length: number): string {
  const hash = createHash(length === 64 ? 'sha256' : 'sha1')
  return hash.update(`blob ${bytes.length}\0`).update(bytes).digest('hex')
}

/** The bytes of a file or of a link's text; undefined where neither is there. */
export async function bytesAt(path: string): Promise<Buffer | undefined> {
  const place = fsPath(path)
  const stats = await lstat(place).catch(() => undefined)
  if (stats?.isSymbolicLink()) return readlink(place, { encoding: 'buffer' })
  return stats?.isFile() ? readFile(place) : undefined
}

const plainTag = 'H'.charCodeAt(0)

const isLinkMode = (out: Buffer, at: number): boolean => out[at] === 0x31 && out[at + 1] === 0x36

/** `H 100644 oid 0<TAB>path`. */
function rowOf(bytes: Buffer): IndexRow {
  const tab = bytes.indexOf(9)
  const [tag = '', mode = '', oid = ''] = bytes.toString('latin1', 0, tab).split(' ')
  return { tag, mode, oid, path: pathOf(bytes.subarray(tab + 1)) }
}

/** A sparse worktree lacks whole folders: each is looked for once. */
async function folderIsThere(root: string, folder: string, seen: Map<string, boolean>): Promise<boolean> {
  if (folder === '.' || folder === '') return true
  const known = seen.get(folder)
  if (known !== undefined) return known
  const found =
    (await folderIsThere(root, dirname(folder), seen)) &&
    ((await lstat(fsPath(join(root, folder))).catch(() => undefined))?.isDirectory() ?? false)
  seen.set(folder, found)
  return found
}

/** The same file after line endings and filters. */
async function isSameFiltered(worktree: Git, row: IndexRow, bytes: Buffer): Promise<boolean> {
  if (row.mode === '120000' || row.path.includes('\n')) return false
  const result = await git(worktree, ['hash-object', '--stdin', '--path', row.path], { input: bytes })
  return result.code === 0 && result.out.toString('utf8').trimEnd() === row.oid
}
