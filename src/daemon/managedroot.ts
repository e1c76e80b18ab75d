// Where the worktrees of a repository go if nothing is said: beside it, unless its neighbourhood does not do.

import { accessSync, constants, existsSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { type Repository } from '../git/open.ts'
import { type StatePaths } from '../store/paths.ts'

export type ManagedRoot = { root: string; /** Why it is not beside the repository. */ notice?: string }

/** Read by agents from every parent folder: a worktree below would get another project's instructions. */
const instructions = ['CLAUDE.md', 'AGENTS.md', 'GEMINI.md', 'CLAUDE.local.md']
const synced =
  /^(Dropbox.*|OneDrive.*|iCloud.*|Google ?Drive.*|GoogleDrive.*|Mobile Documents|Nextcloud|pCloud.*)$/i

/** Docs/decisions/0034. Looks, makes nothing. */
export function managedRoot(repo: Pick<Repository, 'root' | 'id' | 'bare'>, paths: StatePaths): ManagedRoot {
  const parent = dirname(repo.root)
  const name = basename(repo.root).replace(/\.git$/, '') || 'repository'
  const reason = objection(parent)
  if (reason === undefined) return { root: join(parent, `${name}.berths`) }
  return {
    root: paths.worktrees(repo.id),
    notice: `worktrees go to '${paths.worktrees(repo.id)}': ${reason}`,
  }
}

function objection(parent: string): string | undefined {
  if (!isWritable(parent)) return `'${parent}' is not writable`
  for (let folder = parent; ; folder = dirname(folder)) {
    if (existsSync(join(folder, '.git'))) return `'${parent}' lies inside the repository '${folder}'`
    const found = instructions.find(name => existsSync(join(folder, name)))
    if (found !== undefined) return `'${join(folder, found)}' would speak to every agent`
    if (synced.test(basename(folder))) return `'${folder}' is a synced folder`
    if (dirname(folder) === folder) return undefined
  }
}

function isWritable(folder: string): boolean {
  try {
    accessSync(folder, constants.W_OK)
    return true
  } catch {
    return false
  }
}
