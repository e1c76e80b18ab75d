// Listing what lies in a folder, bytes kept, links never followed; and finding repositories inside.

import { lstat, readdir } from 'node:fs/promises'
import { type Dirent } from 'node:fs'
import { join } from 'node:path'
import { fsPath, pathOf } from './path.ts'

export type Walked = {
  /** Relative to the root, `/` separated. */
  path: string
  kind: 'file' | 'link' | 'folder' | 'other'
  size: number
}

/**
 * Everything under `folder` (relative to `root`), folders before what is in them. Throws what the disk throws: a
 * folder that cannot be read is not empty.
 */
export async function walk(root: string, folder: string): Promise<Walked[]> {
  const found: Walked[] = []
  const waiting = [folder]
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    for (const item of await itemsOf(join(root, next))) {
      const path = next === '' ? item.name : `${next}/${item.name}`
      const kind = kindOf(item.entry)
      if (kind === 'folder') waiting.push(path)
      const size = kind === 'file' ? (await lstat(fsPath(join(root, path)))).size : 0
      found.push({ path, kind, size })
    }
  }
  return found
}

/** Folders under `folder`, itself included, that are repositories (a `.git`, or the parts of a bare one). */
export async function findRepositories(root: string, folder: string): Promise<string[]> {
  const found: string[] = []
  let level = [folder]
  while (level.length > 0) {
    const next: string[] = []
    for (let at = 0; at < level.length; at += wide) {
      const lists = await Promise.all(level.slice(at, at + wide).map(path => lookInto(root, path)))
      for (const { path, isRepository, folders } of lists) {
        if (isRepository) found.push(path)
        else next.push(...folders)
      }
    }
    level = next
  }
  return found
}

/** Folders read at the same time. */
const wide = 32

async function lookInto(
  root: string,
  path: string,
): Promise<{ path: string; isRepository: boolean; folders: string[] }> {
  const items = await itemsOf(join(root, path))
  const names = new Set(items.map(item => item.name))
  const isRepository = names.has('.git') || (names.has('HEAD') && names.has('objects') && names.has('refs'))
  const folders = items.filter(item => item.entry.isDirectory()).map(item => `${path}/${item.name}`)
  return { path, isRepository, folders }
}

async function itemsOf(folder: string): Promise<{ name: string; entry: Dirent<Buffer> }[]> {
  const entries = await readdir(fsPath(folder), { withFileTypes: true, encoding: 'buffer' })
  return entries.map(entry => ({ name: pathOf(entry.name), entry }))
}

function kindOf(entry: Dirent<Buffer>): Walked['kind'] {
  if (entry.isSymbolicLink()) return 'link'
  if (entry.isDirectory()) return 'folder'
  return entry.isFile() ? 'file' : 'other'
}
