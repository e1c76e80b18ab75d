// Reading a snapshot back and comparing it with the files it was made of.

import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { lstat } from 'node:fs/promises'
import { join } from 'node:path'
import { type Git, inRepository, ok } from './git.ts'
import { fsPath, shownPath, splitNul } from './path.ts'
import { bytesAt } from './tracked.ts'

/** Bytes that are compared in one go. Larger files are compared by their ids. */
const groupBytes = 16_000_000
const groupFiles = 200

/**
 * Compares every path of a snapshot with what is on disk. Returns those whose bytes git would not give back exactly
 * (line endings, filters): they belong into the archive. Throws where something is missing.
 */
export async function readBack(
  worktree: Git,
  { commit, paths }: { commit: string; paths: readonly string[] },
): Promise<string[]> {
  const at = inRepository(worktree)
  const rows = await rowsOf(at, commit)
  const odd: string[] = []
  let group: Pair[] = []
  let bytes = 0
  const flush = async (): Promise<void> => {
    odd.push(...(await differing(at, worktree.dir, group)))
    group = []
    bytes = 0
  }
  for (const path of paths) {
    const oid = rows.get(path)
    const stats = await lstat(fsPath(join(worktree.dir, path))).catch(() => undefined)
    const isContent = stats?.isFile() === true || stats?.isSymbolicLink() === true
    if (!isContent) continue
    if (oid === undefined) throw new Error(`'${shownPath(path)}' is not in the snapshot`)
    if (stats.size > groupBytes) {
      if ((await streamedId(join(worktree.dir, path), { size: stats.size, length: oid.length })) !== oid)
        odd.push(path)
      continue
    }
    group.push({ path, oid })
    bytes += stats.size
    if (bytes > groupBytes || group.length >= groupFiles) await flush()
  }
  await flush()
  return odd
}

type Pair = { path: string; oid: string }

async function rowsOf(at: Git, commit: string): Promise<Map<string, string>> {
  const rows = new Map<string, string>()
  for (const row of splitNul(await ok(at, ['ls-tree', '-r', '-z', '--full-tree', commit]))) {
    const tab = row.indexOf('\t')
    rows.set(row.slice(tab + 1), row.slice(0, tab).split(' ')[2] ?? '')
  }
  return rows
}

async function differing(at: Git, root: string, group: readonly Pair[]): Promise<string[]> {
  if (group.length === 0) return []
  const out = await ok(at, ['cat-file', '--batch'], { input: `${group.map(pair => pair.oid).join('\n')}\n` })
  const odd: string[] = []
  let from = 0
  for (const { path, oid } of group) {
    const end = out.indexOf(10, from)
    const [id, type, size] = out.toString('latin1', from, end).split(' ')
    if (id !== oid || type !== 'blob') throw new Error(`'${shownPath(path)}' cannot be read back`)
    const content = out.subarray(end + 1, end + 1 + Number(size))
    const bytes = await bytesAt(join(root, path))
    if (!bytes) throw new Error(`'${shownPath(path)}' went away while it was saved`)
    if (!bytes.equals(content)) odd.push(path)
    from = end + 1 + Number(size) + 1
  }
  return odd
}

async function streamedId(file: string, { size, length }: { size: number; length: number }): Promise<string> {
  const hash = createHash(length === 64 ? 'sha256' : 'sha1').update(`blob ${size}\0`)
  for await (const part of createReadStream(fsPath(file))) hash.update(part as Buffer)
  return hash.digest('hex')
}
