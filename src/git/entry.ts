// Taking back an entry of the registry that Berth itself was just making.

import { rm } from 'node:fs/promises'
import { git } from './git.ts'
import { entryAt, entryDirOf, listWorktrees } from './list.ts'
import { type Repository } from './open.ts'

/** Takes out this one entry, also when git itself cannot read it. Under the repository's lock. */
export async function dropEntry(repo: Repository, path: string): Promise<boolean> {
  const list = await listWorktrees(repo)
  const entry = list.is === 'list' ? await entryAt(list.entries, path) : undefined
  if (entry?.main) return false
  if (entry?.locked !== undefined && entry?.locked !== null)
    await git(repo, ['worktree', 'unlock', entry.path])
  if (entry) await git(repo, ['worktree', 'remove', '--force', entry.path], { lockMs: 10_000 })
  const left = await entryDirOf(repo, path)
  if (left === undefined) return true
  await rm(left, { recursive: true, force: true }).catch(() => undefined)
  return (await entryDirOf(repo, path)) === undefined
}
