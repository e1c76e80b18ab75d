// Ignored files that every workspace needs (`.env`, …): copied from the person's checkout, never over anything,
// never through a link; and the ledger of what was copied, by which a survey tells it from work.

import { createHash } from 'node:crypto'
import { constants, createReadStream } from 'node:fs'
import { copyFile, cp, lstat, mkdir, readlink, unlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { BerthError } from '../core/errors.ts'
import { type TaskName } from '../core/event.ts'
import { leadsOut } from '../core/names.ts'
import { git, inDirectory, ok } from '../git/git.ts'
import { bytesOf, fsPath, joinNul, shownPath, splitNul } from '../git/path.ts'
import { type KnownFile } from '../git/ignored.ts'
import { atomicWrite, privateDir, readIfThere } from '../store/files.ts'
import { makeTemp, removeTemp } from './place.ts'
import { digest, ledgerOf, reasonOf, type Site } from './site.ts'

export type Copied = {
  /** Relative paths, `/` separated. */
  files: string[]
  /** Folders cloned whole (`dependencies` with `how = "clone"`). */
  folders: string[]
  /** What was left out, and why: names, no content. */
  notes: string[]
}

/**
 * Copies what `copies` names and git ignores, in the person's checkout and in the new worktree alike; not from
 * inside rebuildable folders. Patterns are git's own (`.gitignore`). Throws BerthError `config` for a pattern that
 * leaves the repository, before anything is copied.
 */
export async function copyInto(site: Site, task: string, worktree: string): Promise<Copied> {
  const { policy, repo } = site
  for (const pattern of policy.copies) checkPattern(pattern)
  const copied: Copied = { files: [], folders: [], notes: [] }
  if (repo.bare) {
    if (policy.copies.length > 0) copied.notes.push('nothing was copied: a bare repository has no checkout')
    return copied
  }
  for (const { path, how } of policy.dependencies) {
    if (how === 'clone') await cloneFolder(site, worktree, path, copied)
  }
  const ledger: KnownFile[] = [...readLedger(site, task)]
  if (policy.copies.length > 0) {
    for (const path of await copyable(site, { task, worktree }, copied.notes)) {
      const known = await copyOne(repo.root, worktree, path, copied.notes)
      if (known !== undefined) ledger.push(known)
      if (known !== undefined) copied.files.push(path)
    }
  }
  writeLedger(site, task, ledger)
  return copied
}

/** What setup copied into the workspace of a task; a damaged ledger knows nothing, so that all counts as work. */
export function readLedger(site: Pick<Site, 'state' | 'project'>, task: string): KnownFile[] {
  try {
    const text = readIfThere(ledgerOf(site, task))?.toString('utf8')
    const value: unknown = text === undefined ? [] : JSON.parse(text)
    return Array.isArray(value) ? value.filter(isKnown) : []
  } catch {
    return []
  }
}

export async function forgetLedger(site: Pick<Site, 'state' | 'project'>, task: string): Promise<void> {
  await unlink(ledgerOf(site, task)).catch((error: { code?: string }) => {
    if (error.code !== 'ENOENT' && error.code !== 'ENOTDIR') throw error
  })
}

function writeLedger(site: Site, task: string, ledger: KnownFile[]): void {
  const file = ledgerOf(site, task)
  if (ledger.length === 0 && readIfThere(file) === undefined) return
  const byPath = new Map(ledger.map(known => [known.path, known]))
  privateDir(dirname(file))
  atomicWrite(file, JSON.stringify([...byPath.values()]))
}

const isKnown = (value: unknown): value is KnownFile => {
  const known = value as { path?: unknown; sha256?: unknown; link?: unknown } | null
  return (
    typeof known?.path === 'string' && (typeof known.sha256 === 'string' || typeof known.link === 'string')
  )
}

// Configuration refuses such a pattern by file and line; what was recorded before it did is not followed either.
function checkPattern(pattern: string): void {
  if (leadsOut(pattern))
    throw new BerthError(
      'config',
      `'${shownPath(pattern)}' in 'copies' leaves the repository`,
      'berth config',
    )
}

/** Paths to copy: ignored in both places, matched by a pattern, not inside a rebuildable folder, not tracked. */
async function copyable(
  site: Site,
  { task, worktree }: { task: TaskName; worktree: string },
  notes: string[],
): Promise<string[]> {
  const from = site.repo
  const roots = (
    await listed(from, ['ls-files', '-z', '--others', '--ignored', '--exclude-standard', '--directory'])
  ).filter(path => !isRebuildable(path, site.policy.rebuildable))
  if (roots.length === 0) return []
  const id = digest(`${worktree}\n${site.now()}`, 8)
  const patterns = join(makeTemp(site, { task, id }), 'patterns')
  try {
    await writeFile(patterns, `${site.policy.copies.join('\n')}\n`)
    const matching = await listed(from, [
      'ls-files',
      '-z',
      '--others',
      '--ignored',
      `--exclude-from=${patterns}`,
    ])
    const folders = roots.filter(path => path.endsWith('/'))
    const files = new Set(roots)
    const wanted = matching.filter(
      path =>
        !path.endsWith('/') &&
        !isRebuildable(path, site.policy.rebuildable) &&
        (files.has(path) || folders.some(folder => path.startsWith(folder))),
    )
    return await allowedThere(site, worktree, wanted, notes)
  } finally {
    await removeTemp(site, { task, id })
  }
}

/** In the new worktree the branch may track the path, or not ignore it: then it would end up in a commit. */
async function allowedThere(
  site: Site,
  worktree: string,
  paths: string[],
  notes: string[],
): Promise<string[]> {
  if (paths.length === 0) return []
  const there = inDirectory(site.repo, worktree)
  const args = ['check-ignore', '-z', '--stdin']
  const checked = await git(there, args, { input: joinNul(paths) })
  if (checked.code !== 0 && checked.code !== 1)
    throw new BerthError('git-failed', `'git check-ignore' failed in '${worktree}'`)
  const ignored = new Set(splitNul(checked.out))
  for (const path of paths) {
    if (!ignored.has(path)) notes.push(`'${shownPath(path)}' was not copied: the branch does not ignore it`)
  }
  return paths.filter(path => ignored.has(path))
}

const listed = async (at: Site['repo'], args: string[]): Promise<string[]> => splitNul(await ok(at, args))

function isRebuildable(path: string, rebuildable: string[]): boolean {
  const parts = path.replace(/\/$/, '').split('/')
  return rebuildable.some(name => {
    const words = name.split('/')
    return parts.some((_, i) => words.every((word, k) => parts[i + k] === word))
  })
}

/** Copies one file, mode kept; what it gives is for the ledger. */
async function copyOne(
  from: string,
  to: string,
  path: string,
  notes: string[],
): Promise<KnownFile | undefined> {
  const source = at(from, path)
  const target = at(to, path)
  const shown = shownPath(path)
  try {
    const stat = await lstat(source)
    if (stat.isSymbolicLink()) {
      const link = await readlink(source)
      notes.push(`'${shown}' was not copied: it is a link to '${link}'`)
      return undefined
    }
    if (!stat.isFile()) {
      notes.push(`'${shown}' was not copied: it is no file`)
      return undefined
    }
    if (!(await makeFolders(to, path))) {
      notes.push(`'${shown}' was not copied: its folder is a link in the new worktree`)
      return undefined
    }
    await copyFile(source, target, constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE)
    return { path, sha256: await digestOfFile(target) }
  } catch (error) {
    const code = (error as { code?: string }).code
    notes.push(`'${shown}' was not copied: ${code === 'EEXIST' ? 'it is there already' : reasonOf(error)}`)
    return undefined
  }
}

/** The folders of a path below `root`, each a real directory: a link there would lead the copy elsewhere. */
async function makeFolders(root: string, path: string): Promise<boolean> {
  const parts = path.split('/').slice(0, -1)
  let way = ''
  for (const part of parts) {
    way = way === '' ? part : `${way}/${part}`
    await mkdir(at(root, way)).catch((error: { code?: string }) => {
      if (error.code !== 'EEXIST') throw error
    })
    if (!(await lstat(at(root, way))).isDirectory()) return false
  }
  return true
}

async function cloneFolder(site: Site, worktree: string, path: string, copied: Copied): Promise<void> {
  checkPattern(path)
  const folder = path.replace(/\/+$/, '')
  const source = join(site.repo.root, folder)
  const target = join(worktree, folder)
  const stat = await lstat(source).catch(() => undefined)
  if (stat?.isDirectory() !== true) {
    copied.notes.push(`'${folder}' was not cloned: the checkout has no such folder`)
    return
  }
  const ignored = await git(inDirectory(site.repo, worktree), ['check-ignore', '-q', `${folder}/`])
  if (ignored.code !== 0 || (await lstat(target).catch(() => undefined)) !== undefined) {
    const why = ignored.code === 0 ? 'it is there already' : 'the branch does not ignore it'
    copied.notes.push(`'${folder}' was not cloned: ${why}`)
    return
  }
  if (!(await makeFolders(worktree, folder))) return
  // Copy-on-write where the file system can; links are copied as they are.
  await cp(source, target, { recursive: true, verbatimSymlinks: true, mode: constants.COPYFILE_FICLONE })
  copied.folders.push(folder)
}

const at = (root: string, path: string): string | Buffer => {
  const inside = fsPath(path)
  return typeof inside === 'string' ? join(root, inside) : Buffer.concat([bytesOf(`${root}/`), inside])
}

async function digestOfFile(file: string | Buffer): Promise<string> {
  const hash = createHash('sha256')
  for await (const chunk of createReadStream(file)) hash.update(chunk as Buffer)
  return hash.digest('hex')
}
