// Files that are whole or not there: atomic replace, exclusive create, private folders, and the reserve.

import {
  accessSync,
  chmodSync,
  closeSync,
  constants as fileConstants,
  existsSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  statfsSync,
  statSync,
  unlinkSync,
  writeSync,
} from 'node:fs'
import { createHash } from 'node:crypto'
import { constants } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { BerthError } from '../core/errors.ts'
import { shellWord } from '../core/shellword.ts'

export const privateFileMode = 0o600
export const privateDirMode = 0o700
export const reserveBytes = 16 * 1024 * 1024

const sqliteReadOnly = 8
const sqliteIo = 10
const sqliteFull = 13
const sqliteIndexSize = 4874

/** Replaces `file` by `bytes`, synced: a reader, or a crash, finds the old or the new content whole. */
export function atomicWrite(file: string, bytes: string | Uint8Array, mode = privateFileMode): void {
  const temp = writeTemp(file, bytes, mode)
  try {
    renameSync(temp, file)
  } catch (error) {
    dropTemp(temp)
    throw storageError(error, file)
  }
  syncDir(dirname(file))
}

/** Makes `file` with `bytes`, synced, unless it exists. Nobody ever sees it half written. */
export function exclusiveCreate(
  file: string,
  bytes: string | Uint8Array,
  mode = privateFileMode,
): 'made' | 'exists' {
  const temp = writeTemp(file, bytes, mode)
  try {
    linkSync(temp, file)
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return 'exists'
    throw storageError(error, file)
  } finally {
    dropTemp(temp)
  }
  syncDir(dirname(file))
  return 'made'
}

/** The content of `file`, or undefined when there is none. Any other failure is thrown. */
export function readIfThere(file: string): Buffer | undefined {
  try {
    return readFileSync(file)
  } catch (error) {
    if (isMissing(error)) return undefined
    throw error
  }
}

/** Makes `dir` and its parents, and makes `dir` itself the owner's alone. */
export function privateDir(dir: string): string {
  try {
    // Node reports a missing folder where a whole file system is read-only: asked first, the answer is the true one.
    if (!existsSync(dir)) accessSync(nearestFolder(dir), fileConstants.W_OK)
    mkdirSync(dir, { recursive: true, mode: privateDirMode })
    if ((statSync(dir).mode & 0o077) !== 0) chmodSync(dir, privateDirMode)
  } catch (error) {
    throw storageError(error, dir)
  }
  return dir
}

/** `dir`, or the nearest of its parents that exists. */
export function nearestFolder(dir: string): string {
  let at = dir
  while (!existsSync(at) && dirname(at) !== at) at = dirname(at)
  return at
}

/** Removes a file; a missing one is fine. */
export function removeIfThere(file: string): void {
  try {
    unlinkSync(file)
  } catch (error) {
    if (!isMissing(error)) throw error
  }
}

/**
 * Sets `bytes` of the disk aside in `file`, to be given up when it is full (docs/decisions/0010). Never
 * fails: where less than twice that is free there is no reserve.
 */
export function makeReserve(file: string, bytes = reserveBytes): 'there' | 'no-room' {
  if (sizeIfThere(file) === bytes) return 'there'
  const { bavail, bsize } = statfsSync(dirname(file))
  if (bavail * bsize < 2 * bytes) return 'no-room'
  // Bytes that no file system can compress away; always the same, so that no randomness is asked for.
  const block = createHash('shake256', { outputLength: Math.min(bytes, 1024 * 1024) })
    .update('reserve')
    .digest()
  try {
    const fd = openSync(file, 'w', privateFileMode)
    try {
      for (let done = 0; done < bytes; done += block.length) writeAll(fd, block)
    } finally {
      closeSync(fd)
    }
    return 'there'
  } catch {
    dropTemp(file)
    return 'no-room'
  }
}

/** Gives the reserve up. `none`: it was given up before. */
export function releaseReserve(file: string): 'released' | 'none' {
  if (sizeIfThere(file) === undefined) return 'none'
  removeIfThere(file)
  return 'released'
}

/** Whether `error`, of the file system or of SQLite, says that the disk or the quota is full. */
export function isFull(error: unknown): boolean {
  const { code, errcode, systemErrno } = (error ?? {}) as {
    code?: string
    errcode?: number
    systemErrno?: number
  }
  if (code === 'ENOSPC' || code === 'EDQUOT') return true
  // SQLite says "full" only for a failed write; a failed sync, or growing its shared index, is an input or
  // output error.
  return (
    sqliteCode(error) === sqliteFull ||
    errcode === sqliteIndexSize ||
    (sqliteCode(error) === sqliteIo &&
      (systemErrno === constants.errno.ENOSPC || systemErrno === constants.errno.EDQUOT))
  )
}

/** Whether `error`, of the file system or of SQLite, says that nothing may be written there. */
export const isReadOnly = (error: unknown): boolean =>
  ['EROFS', 'EACCES', 'EPERM'].includes(codeOf(error) ?? '') || sqliteCode(error) === sqliteReadOnly

export const isMissing = (error: unknown): boolean =>
  codeOf(error) === 'ENOENT' || codeOf(error) === 'ENOTDIR'

/** What a person can act on, where `error` is that; else `error` itself. */
export function storageError(error: unknown, file: string): unknown {
  if (isFull(error)) return new BerthError('disk-full', `no space left to write '${file}'`, 'df -h')
  if (isReadOnly(error)) {
    const folder = statSync(file, { throwIfNoEntry: false })?.isDirectory() === true ? file : dirname(file)
    return new BerthError('state-read-only', `cannot write '${file}'`, `ls -ld ${shellWord(folder)}`)
  }
  return error
}

/** SQLite's primary result code, or undefined when `error` is none of its errors. */
export function sqliteCode(error: unknown): number | undefined {
  const code = (error as { errcode?: unknown } | null)?.errcode
  return typeof code === 'number' ? code & 0xff : undefined
}

/** Writes all of `bytes`: a single `write` may stop short. */
export function writeAll(fd: number, bytes: Uint8Array, position: number | null = null): void {
  let done = 0
  while (done < bytes.length) {
    done += writeSync(fd, bytes, done, bytes.length - done, position === null ? null : position + done)
  }
}

/** Makes a rename or a new name in `dir` durable. Windows cannot sync a folder and does not need it. */
export function syncDir(dir: string): void {
  let fd: number | undefined
  try {
    fd = openSync(dir, 'r')
    fsyncSync(fd)
  } catch (error) {
    if (!['EISDIR', 'EPERM', 'EACCES', 'EINVAL', 'EBADF'].includes(codeOf(error) ?? '')) throw error
  } finally {
    if (fd !== undefined) closeSync(fd)
  }
}

export function sizeIfThere(file: string): number | undefined {
  return statSync(file, { throwIfNoEntry: false })?.size
}

let temps = 0

function writeTemp(file: string, bytes: string | Uint8Array, mode: number): string {
  const temp = join(dirname(file), `.${basename(file)}.${process.pid}.${++temps}.tmp`)
  try {
    const fd = openSync(temp, 'w', mode)
    try {
      writeAll(fd, typeof bytes === 'string' ? Buffer.from(bytes) : bytes)
      fsyncSync(fd)
    } finally {
      closeSync(fd)
    }
  } catch (error) {
    dropTemp(temp)
    throw storageError(error, file)
  }
  return temp
}

/** What made the write fail may also forbid this: the first error is the one to tell. */
function dropTemp(temp: string): void {
  try {
    unlinkSync(temp)
  } catch {
    // It may never have been made.
  }
}

const codeOf = (error: unknown): string | undefined => (error as { code?: string } | null)?.code
