// The git directory of a worktree and what its files say: read as files, without a process.

import { lstat, readdir, readFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { BerthError } from '../core/errors.ts'
import { isThere } from './checkout.ts'
import { type Git } from './git.ts'

/** The git directory that `<dir>/.git` is or names. Throws BerthError git-failed where there is none. */
export async function gitDirOf(dir: string): Promise<string> {
  const place = join(dir, '.git')
  const stats = await lstat(place).catch(() => undefined)
  if (stats?.isDirectory()) return place
  const text = stats?.isFile() ? await readFile(place, 'utf8').catch(() => '') : ''
  const named = /^gitdir: ([^\0]+?)\r?\n?$/.exec(text)?.[1]
  if (named === undefined) throw new BerthError('git-failed', `'${dir}' has no '.git' that can be read`)
  return resolve(dir, named)
}

/** The operation in progress in a worktree (`rebase`, `merge`, …), or null. Throws BerthError git-failed. */
export async function operationInProgress(worktree: Git): Promise<string | null> {
  return operationIn(await gitDirOf(worktree.dir))
}

/** The same for a git directory. */
export async function operationIn(gitDir: string): Promise<string | null> {
  for (const [file, name] of operations) if (await isThere(join(gitDir, file))) return name
  return null
}

/** The operation in progress that left `branch` and goes back to it, or undefined. */
export async function operationOfBranch(gitDir: string, branch: string): Promise<string | undefined> {
  for (const [file, name] of headNames) {
    const text = await readFile(join(gitDir, file), 'utf8').catch(() => '')
    if (text.trimEnd().replace(/^refs\/heads\//, '') === branch) return name
  }
  return undefined
}

const headNames = [
  ['rebase-merge/head-name', 'rebase'],
  ['rebase-apply/head-name', 'rebase'],
  ['BISECT_START', 'bisect'],
] as const

/** Commits and the like that an operation's files name: whole object ids only. */
export async function operationCommits(gitDir: string): Promise<string[]> {
  const texts = await Promise.all(
    operationFiles.map(file => readFile(join(gitDir, file), 'utf8').catch(() => '')),
  )
  return texts.join('\n').match(/\b[0-9a-f]{40}(?:[0-9a-f]{24})?\b/g) ?? []
}

/** Files and folders of an operation in progress, relative to the git directory. */
export async function operationState(gitDir: string): Promise<string[]> {
  const names = await readdir(gitDir)
  return names.filter(name => operations.some(([file]) => file === name) || stateFiles.includes(name))
}

const operations = [
  ['rebase-merge', 'rebase'],
  ['rebase-apply', 'rebase'],
  ['MERGE_HEAD', 'merge'],
  ['CHERRY_PICK_HEAD', 'cherry-pick'],
  ['REVERT_HEAD', 'revert'],
  ['BISECT_LOG', 'bisect'],
  ['sequencer', 'sequence'],
] as const

const stateFiles = [
  'MERGE_MSG',
  'MERGE_MODE',
  'AUTO_MERGE',
  'ORIG_HEAD',
  'BISECT_NAMES',
  'BISECT_START',
  'BISECT_TERMS',
]

const operationFiles = [
  'MERGE_HEAD',
  'CHERRY_PICK_HEAD',
  'REVERT_HEAD',
  'ORIG_HEAD',
  'rebase-merge/orig-head',
  'rebase-merge/onto',
  'rebase-merge/stopped-sha',
  'rebase-merge/done',
  'rebase-merge/autostash',
  'rebase-apply/orig-head',
  'rebase-apply/onto',
  'rebase-apply/autostash',
  'BISECT_LOG',
]
