// Directories that git's registry does not know, or knows elsewhere: what they hold, and how they come back.

import { readFile } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { type Loss } from '../core/event.ts'
import { type ArchiveItem, writeArchive } from './archive.ts'
import { type Git, git, reasonOf } from './git.ts'
import { gitDirOf } from './gitdir.ts'
import { isThere } from './checkout.ts'
import { resolved } from './list.ts'
import { shownPath } from './path.ts'
import { walk } from './walk.ts'
import { type RepositoryLock } from './worktree.ts'

export type Belonging =
  /** Git's entry names this very place. */
  | { is: 'registered'; entryDir: string }
  /** Its `.git` names an entry that has another place: it was moved by hand. */
  | { is: 'moved'; entryDir: string; from: string }
  /** Its `.git` names an entry of this repository that is gone. */
  | { is: 'orphan' }
  /** No worktree of this repository. */
  | { is: 'other' }

/** To whom a directory belongs, from its own `.git` file and git's entry. Changes nothing. */
export async function belongingOf(repo: Git, dir: string): Promise<Belonging> {
  const entryDir = await gitDirOf(dir).catch(() => undefined)
  if (entryDir === undefined) return { is: 'other' }
  const home = await resolved(join(repo.commonDir, 'worktrees'))
  if ((await resolved(dirname(entryDir))) !== home) return { is: 'other' }
  const text = await readFile(join(entryDir, 'gitdir'), 'utf8').catch(() => undefined)
  if (text === undefined) return (await isThere(entryDir)) ? { is: 'other' } : { is: 'orphan' }
  const place = dirname(resolve(entryDir, text.replace(/\r?\n$/, '')))
  const same = (await resolved(place)) === (await resolved(dir))
  return same ? { is: 'registered', entryDir } : { is: 'moved', entryDir, from: place }
}

/** Tells git where a worktree that was moved by hand is now. Returns why not, if not. */
export async function repairMoved(
  repo: Git,
  { dir, lock }: { dir: string; lock: RepositoryLock },
): Promise<string | undefined> {
  const result = await lock(repo.commonDir, () => git(repo, ['worktree', 'repair', dir], { lockMs: 10_000 }))
  if (result.code !== 0) return reasonOf(result)
  return (await belongingOf(repo, dir)).is === 'registered' ? undefined : `git did not take '${dir}' back`
}

/** Every file of a directory that git cannot compare with anything: each may be the only copy (case 33). */
export async function surveyFolder(dir: string): Promise<Loss[]> {
  try {
    const files = (await walk(dir, '')).filter(item => item.kind !== 'folder' && item.path !== '.git')
    if (files.length === 0) return []
    const examples = files.slice(0, 20).map(file => shownPath(file.path))
    return [{ kind: 'untracked', count: files.length, examples }]
  } catch (error) {
    return [{ kind: 'unknown', count: 1, examples: [error instanceof Error ? error.message : String(error)] }]
  }
}

/** Saves such a directory whole, as an archive that was read back. Throws what the disk throws. */
export async function archiveFolder(dir: string, archiveFile: string): Promise<{ skipped: string[] }> {
  const items: ArchiveItem[] = (await walk(dir, '')).map(item => ({
    path: item.path,
    from: join(dir, item.path),
  }))
  return writeArchive(archiveFile, items)
}
