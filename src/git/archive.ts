// Archives of saved files: plain tar files written, read back and unpacked here, so that they work everywhere.

import { createHash } from 'node:crypto'
import { type FileHandle, lstat, mkdir, open, readFile, readlink, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { bytesOf, fsPath, pathOf } from './path.ts'
import { parseHeader, type TarHeader, tarHeader, padding } from './tar.ts'

export type ArchiveItem = {
  /** Inside the archive, `/` separated. */
  path: string
  /** On disk. */
  from: string
  /** Instead of what is on disk. */
  bytes?: Buffer
}

export type Archived = { path: string; kind: TarHeader['kind']; digest: string }

/**
 * Writes an archive (0600, must not exist), reads it back and compares every entry. Sockets, pipes and devices are
 * skipped and named. Throws what the disk throws; then no archive is left half written by the caller's clean-up.
 */
export async function writeArchive(
  file: string,
  items: readonly ArchiveItem[],
): Promise<{ written: number; skipped: string[] }> {
  const handle = await open(file, 'wx', 0o600)
  const written: Archived[] = []
  const skipped: string[] = []
  try {
    for (const item of items) {
      const entry = await addItem(handle, item)
      if (entry) written.push(entry)
      else skipped.push(item.path)
    }
    await handle.write(Buffer.alloc(2 * blockBytes))
    await handle.sync()
  } finally {
    await handle.close()
  }
  await compare(file, written)
  return { written: written.length, skipped }
}

/** Every entry with the digest of what it holds. Throws where the archive is not whole. */
export async function readArchive(file: string): Promise<Archived[]> {
  const entries: Archived[] = []
  await eachEntry(file, async (header, read) => {
    const hash = createHash('sha256')
    for await (const part of read()) hash.update(part)
    entries.push({
      path: header.path,
      kind: header.kind,
      digest: header.kind === 'link' ? header.link : hash.digest('hex'),
    })
  })
  return entries
}

/** Paths of the files and links in it. Throws where the archive is not whole. */
export async function listArchive(file: string): Promise<string[]> {
  const paths: string[] = []
  await eachEntry(file, async ({ path, kind }) => void (kind === 'folder' || paths.push(path)))
  return paths
}

/**
 * Unpacks into `root`: never over a link, never out of it. Gives the paths that were left out: those below `skip`, and
 * what is there already with other content, unless its path is in `replace`.
 */
export async function unpackArchive(
  file: string,
  root: string,
  { replace, skip }: { replace: ReadonlySet<string>; skip: string },
): Promise<string[]> {
  const left: string[] = []
  await eachEntry(file, async (header, read) => {
    if (header.path === skip) return
    if (header.path.startsWith(`${skip}/`)) return void (header.kind === 'folder' || left.push(header.path))
    const parts: Buffer[] = []
    for await (const part of read()) parts.push(part)
    const done = await place(root, header, {
      content: Buffer.concat(parts),
      replace: replace.has(header.path),
    })
    if (!done) left.push(header.path)
  })
  return left
}

const blockBytes = 512
const chunkBytes = 1_000_000

/** Writes one entry; undefined for what no archive can hold. */
async function addItem(handle: FileHandle, item: ArchiveItem): Promise<Archived | undefined> {
  const place = fsPath(item.from)
  const stats = await lstat(place)
  const common = { path: item.path, mode: stats.mode & 0o777, mtime: Math.floor(stats.mtimeMs / 1000) }
  if (stats.isSymbolicLink()) {
    const link = pathOf(await readlink(place, { encoding: 'buffer' }))
    await handle.write(tarHeader({ ...common, kind: 'link', size: 0, link }))
    return { path: item.path, kind: 'link', digest: link }
  }
  if (stats.isDirectory()) {
    await handle.write(tarHeader({ ...common, kind: 'folder', size: 0, link: '' }))
    return { path: item.path, kind: 'folder', digest: createHash('sha256').digest('hex') }
  }
  if (!stats.isFile()) return undefined
  const size = item.bytes?.length ?? stats.size
  await handle.write(tarHeader({ ...common, kind: 'file', size, link: '' }))
  const digest = item.bytes
    ? await writeBytes(handle, item.bytes)
    : await copyFile(handle, { from: item.from, size })
  await handle.write(padding(size))
  return { path: item.path, kind: 'file', digest }
}

async function writeBytes(handle: FileHandle, bytes: Buffer): Promise<string> {
  await handle.write(bytes)
  return createHash('sha256').update(bytes).digest('hex')
}

async function copyFile(handle: FileHandle, { from, size }: { from: string; size: number }): Promise<string> {
  const source = await open(fsPath(from), 'r')
  const hash = createHash('sha256')
  let left = size
  try {
    while (left > 0) {
      const { bytesRead, buffer } = await source.read(Buffer.alloc(Math.min(chunkBytes, left)))
      if (bytesRead === 0) throw new Error(`'${from}' became shorter while it was saved`)
      const part = buffer.subarray(0, bytesRead)
      hash.update(part)
      await handle.write(part)
      left -= bytesRead
    }
    if ((await source.read(Buffer.alloc(1))).bytesRead > 0)
      throw new Error(`'${from}' became longer while it was saved`)
  } finally {
    await source.close()
  }
  return hash.digest('hex')
}

async function compare(file: string, written: readonly Archived[]): Promise<void> {
  const back = await readArchive(file)
  const same = (entry: Archived, at: number): boolean => {
    const other = back[at]
    return other?.path === entry.path && other.kind === entry.kind && other.digest === entry.digest
  }
  if (back.length !== written.length || !written.every(same))
    throw new Error(`'${file}' does not read back as it was written`)
}

/** Calls back with each entry; what the callback does not read is passed over. */
async function eachEntry(
  file: string,
  visit: (header: TarHeader, read: () => AsyncGenerator<Buffer>) => Promise<void>,
): Promise<void> {
  const handle = await open(file, 'r')
  let at = 0
  const take = async (length: number): Promise<Buffer> => {
    const bytes = Buffer.alloc(length)
    let got = 0
    while (got < length) {
      const { bytesRead } = await handle.read(bytes, got, length - got, at + got)
      if (bytesRead === 0) throw new Error(`'${file}' ends too early`)
      got += bytesRead
    }
    at += length
    return bytes
  }
  try {
    for (;;) {
      const header = await parseHeader(take)
      if (!header) return
      const end = at + header.size + padding(header.size).length
      let left = header.size
      await visit(header, async function* read() {
        while (left > 0) {
          const part = await take(Math.min(chunkBytes, left))
          left -= part.length
          yield part
        }
      })
      at = end
    }
  } finally {
    await handle.close()
  }
}

type Placing = { content: Buffer; replace: boolean }

/** Puts one entry where it belongs. False: something else is there. */
async function place(root: string, header: TarHeader, { content, replace }: Placing): Promise<boolean> {
  const parts = header.path.split('/')
  if (parts.some(part => part === '' || part === '.' || part === '..') || /^[a-z]:|\\/i.test(header.path))
    return false
  if (!(await makeFolders(root, header.kind === 'folder' ? header.path : dirname(header.path)))) return false
  const target = join(root, header.path)
  if (header.kind === 'folder') return true
  const there = await lstat(fsPath(target)).catch(() => undefined)
  if (there && !replace) return isSame(target, header, content)
  if (header.kind === 'link') {
    if (!there) await symlink(bytesOf(header.link), fsPath(target))
    return !there
  }
  if (there && !there.isFile()) return false
  await writeFile(fsPath(target), content, { mode: header.mode, flag: there ? 'w' : 'wx' })
  return true
}

async function isSame(target: string, header: TarHeader, content: Buffer): Promise<boolean> {
  const there = await lstat(fsPath(target))
  if (header.kind === 'link') {
    return (
      there.isSymbolicLink() &&
      (await readlink(fsPath(target), { encoding: 'buffer' })).equals(bytesOf(header.link))
    )
  }
  return there.isFile() && (await readFile(fsPath(target))).equals(content)
}

/** Makes the folders of a path; false where one of them is something else, a link above all. */
async function makeFolders(root: string, path: string): Promise<boolean> {
  if (path === '.' || path === '') return true
  let folder = root
  for (const part of path.split('/')) {
    folder = join(folder, part)
    const there = await lstat(fsPath(folder)).catch(() => undefined)
    if (there && !there.isDirectory()) return false
    if (!there) await mkdir(fsPath(folder))
  }
  return true
}
