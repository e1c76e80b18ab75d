// An index.lock that is in the way: set aside when nobody's git works there, respected when somebody's does.

import { lstat, rename } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { platform } from '../platform/platform.ts'
import { type Git } from './git.ts'
import { gitDirOf } from './gitdir.ts'

export type FreedIndex =
  | { is: 'free' }
  /** The lock was dead. It may be a complete newer index: it is kept as `kept`. */
  | { is: 'cleared'; kept: string }
  | { is: 'busy'; lock: string; reason: string }

/**
 * Sees to it that the index of a worktree can be written (case 39). Age proves nothing: the lock goes only when no
 * git process has its working directory or an open file in the worktree or in its git directory.
 */
export async function freeIndexLock(worktree: Git): Promise<FreedIndex> {
  const gitDir = await gitDirOf(worktree.dir)
  const lock = join(gitDir, 'index.lock')
  if (!(await lstat(lock).catch(() => undefined))) return { is: 'free' }
  for (const place of [worktree.dir, gitDir]) {
    const { ours, tied, unknown } = platform.holdersOf(place, {})
    const [why] = unknown
    if (why !== undefined) return { is: 'busy', lock, reason: `it cannot be told who works there: ${why}` }
    const worker = [...ours, ...tied].find(process => isGit(process.command) || process.path === lock)
    if (worker) return { is: 'busy', lock, reason: `git is busy there (pid ${worker.pid})` }
  }
  const kept = await freeName(lock)
  await rename(lock, kept)
  return { is: 'cleared', kept }
}

/** The program's own name: `git`, `git-…`, with a path or without. Never its arguments. */
export function isGit(command: string): boolean {
  const program = command.split(/[\s\0]/)[0] ?? ''
  return /^git(-[a-z-]+)?(\.exe)?$/i.test(basename(program.replaceAll('\\', '/')))
}

async function freeName(lock: string): Promise<string> {
  for (let count = 1; ; count++) {
    const name = `${lock}.dead-${count}`
    if (!(await lstat(name).catch(() => undefined))) return name
  }
}
