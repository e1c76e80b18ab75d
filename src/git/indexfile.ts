// The index as its own file says it, at no process's cost. Whatever is unusual is left for git to answer.

import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { gitDirOf } from './gitdir.ts'
import { pathOf } from './path.ts'

export type IndexEntry = {
  mode: string
  oid: string
  path: string
  /** `git update-index --assume-unchanged`, and `--skip-worktree`. */
  assumed: boolean
  skipped: boolean
}

export type IndexFile = {
  /** Those that carry a flag or are no file or link of their own. */
  special: IndexEntry[]
  /** Whether a tracked path begins with these bytes. */
  has: (prefix: Buffer) => boolean
}

/**
 * Undefined: only git can tell (another version or hash, a split or sparse index, conflicts, no checksum).
 * Format: `gitformat-index(5)`.
 */
export async function readIndexFile(dir: string): Promise<IndexFile | undefined> {
  const bytes = await gitDirOf(dir)
    .then(gitDir => readFile(join(gitDir, 'index')))
    .catch(() => undefined)
  return bytes && parseIndex(bytes)
}

/** As `readIndexFile`, of the file's bytes. */
export function parseIndex(bytes: Buffer): IndexFile | undefined {
  const body = bytes.length - hashBytes
  if (body < headBytes || bytes.toString('latin1', 0, 4) !== 'DIRC') return undefined
  const version = bytes.readUInt32BE(4)
  if (version !== 2 && version !== 3) return undefined
  const sum = createHash('sha1').update(bytes.subarray(0, body)).digest()
  if (!sum.equals(bytes.subarray(body))) return undefined
  const count = bytes.readUInt32BE(8)
  const special: IndexEntry[] = []
  const paths = new Uint32Array(count)
  let at = headBytes
  for (let i = 0; i < count; i++) {
    if (at + entryBytes > body) return undefined
    const flags = bytes.readUInt16BE(at + entryBytes - 2)
    const more = (flags & extended) === 0 ? 0 : bytes.readUInt16BE(at + entryBytes)
    const from = at + entryBytes + ((flags & extended) === 0 ? 0 : 2)
    const end = bytes.indexOf(0, from)
    const mode = bytes.readUInt32BE(at + modeAt)
    if (end < 0 || end >= body || (flags & stages) !== 0 || mode >> 12 === folder) return undefined
    paths[i] = from
    if ((flags & assumeValid) !== 0 || (more & skipWorktree) !== 0 || mode >> 12 === link)
      special.push({
        mode: mode.toString(8),
        oid: bytes.toString('hex', at + oidAt, at + oidAt + hashBytes),
        path: pathOf(bytes.subarray(from, end)),
        assumed: (flags & assumeValid) !== 0,
        skipped: (more & skipWorktree) !== 0,
      })
    at = end + 8 - ((end - at) % 8)
  }
  if (!extensionsAreOptional(bytes, at, body)) return undefined
  return {
    special,
    has: prefix =>
      paths.some(from => bytes.compare(prefix, 0, prefix.length, from, from + prefix.length) === 0),
  }
}

const headBytes = 12
const hashBytes = 20
const modeAt = 24
const oidAt = 40
/** Up to and with the flags. */
const entryBytes = 62
const assumeValid = 0x8000
const extended = 0x4000
const stages = 0x3000
const skipWorktree = 0x4000
const folder = 0o04
const link = 0o16

/** A name that begins with a small letter must be understood: a split index, a sparse one. */
function extensionsAreOptional(bytes: Buffer, from: number, end: number): boolean {
  let at = from
  while (at + 8 <= end) {
    const first = bytes[at] ?? 0
    if (first < 0x41 || first > 0x5a) return false
    at += 8 + bytes.readUInt32BE(at + 4)
  }
  return at === end
}
