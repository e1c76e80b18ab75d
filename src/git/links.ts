// Links to commits of other repositories (mode 160000), and which of them nobody but this worktree could follow.

import { join } from 'node:path'
import { type Git, git, reasonOf } from './git.ts'
import { splitNul } from './path.ts'

export type Unnamed = { is: 'unnamed'; paths: string[] } | { is: 'unknown'; reason: string }

/**
 * The links that `.gitmodules` of a commit, or the one on disk, does not name: their commits are in no repository that
 * a clone could find. A `.gitmodules` that is missing or cannot be parsed names nothing. Asks git only if there is a
 * link.
 */
export async function unnamedLinks(at: Git, links: readonly string[], of: string | 'disk'): Promise<Unnamed> {
  if (links.length === 0) return { is: 'unnamed', paths: [] }
  const source = of === 'disk' ? ['--file', join(at.dir, '.gitmodules')] : ['--blob', `${of}:.gitmodules`]
  const result = await git(at, ['config', ...source, '-z', '--get-regexp', '^submodule\\..*\\.path$'])
  if (result.code === null || result.truncated) return { is: 'unknown', reason: reasonOf(result) }
  const named = new Set(result.code === 0 ? splitNul(result.out).map(pathIn) : [])
  return { is: 'unnamed', paths: links.filter(path => !named.has(path)) }
}

/** `name LF value`, as git prints a setting; a folder may be named with a `/` at its end. */
const pathIn = (setting: string): string => setting.slice(setting.indexOf('\n') + 1).replace(/\/+$/, '')
