// What was changed in a worktree since a commit, for views: files, lines, commits.

import { lstat, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Git, git, type GitResult, reasonOf } from './git.ts'
import { gitDirOf } from './gitdir.ts'
import { fsPath, splitNul } from './path.ts'
import { refTip } from './refs.ts'
import { readStatus, type Status } from './status.ts'

export type ChangedPath = {
  path: string
  change: 'added' | 'modified' | 'deleted' | 'renamed' | 'type'
  /** Null for binary files and for files too large to count. */
  insertions: number | null
  deletions: number | null
  from?: string
  /** Not known to git yet. */
  untracked?: boolean
  /** A commit of another repository (mode 160000): a submodule, or a repository that was added as such. */
  link?: true
}

export type Changes =
  | {
      is: 'changes'
      /** What it is compared with: the base that was asked for, or what of the target has come in since. */
      since: string
      head: string
      branch: string | null
      files: number
      insertions: number
      deletions: number
      /** Commits of HEAD that `since` lacks. */
      commits: number
      /** Something is not committed. */
      dirty: boolean
      paths: ChangedPath[]
    }
  | { is: 'unknown'; reason: string }

const plain = ['--no-ext-diff', '--no-textconv', '--ignore-submodules=dirty']

/** Lines of larger untracked files are not counted. */
const countLimit = 1_000_000
/** More untracked files than this are listed without their lines. */
const countedFiles = 500

/**
 * Everything that differs from `base`, uncommitted and untracked included. Where `target`, a ref, has been merged or
 * rebased on since, what came with it is left out. `status`: as it was read just now. Never writes the agent's index.
 */
export async function changesSince(
  worktree: Git,
  base: string,
  options: { signal?: AbortSignal; target?: string | undefined; status?: Status } = {},
): Promise<Changes> {
  const signal = options.signal ? { signal: options.signal } : {}
  const status = options.status ?? (await readStatus(worktree, signal))
  if (status.is === 'unknown') return status
  if (status.head === null) return { is: 'unknown', reason: 'HEAD has no commit' }
  // Most looks find nothing new: then one question is enough.
  const moved = base !== 'HEAD' && base !== status.head
  const since =
    options.target === undefined
      ? base
      : await startOf(worktree, base, { head: status.head, target: options.target })
  const diff = ['diff', '--raw', '--numstat', '-z', '-M', ...plain, since]
  const [differing, count] = await Promise.all([
    moved || status.changed.length > 0 ? git(worktree, diff, signal) : undefined,
    moved ? git(worktree, ['rev-list', '--count', `${since}..HEAD`], signal) : undefined,
  ])
  const bad = [differing, count].find(result => result && (result.code !== 0 || result.truncated))
  if (bad) return { is: 'unknown', reason: reasonOf(bad) }
  const tracked = differing === undefined ? [] : parseDiff(differing.out)
  const paths = [...tracked, ...(await untrackedPaths(worktree.dir, status.untracked))]
  return {
    is: 'changes',
    since,
    head: status.head,
    branch: status.branch,
    files: paths.length,
    insertions: paths.reduce((sum, path) => sum + (path.insertions ?? 0), 0),
    deletions: paths.reduce((sum, path) => sum + (path.deletions ?? 0), 0),
    commits: count === undefined ? 0 : Number(count.out.toString('utf8')),
    dirty: status.changed.length > 0 || status.untracked.length > 0,
    paths,
  }
}

/** The paths that differ between two commits, with their lines. */
export async function changesBetween(
  at: Git,
  from: string,
  to: string,
): Promise<{ is: 'paths'; paths: ChangedPath[] } | { is: 'unknown'; reason: string }> {
  const result = await git(at, ['diff', '--raw', '--numstat', '-z', '-M', ...plain, from, to])
  if (result.code !== 0 || result.truncated) return { is: 'unknown', reason: reasonOf(result) }
  return { is: 'paths', paths: parseDiff(result.out) }
}

/** Parses `git diff --raw --numstat -z`: first every raw record, then every count. */
export function parseDiff(out: Buffer): ChangedPath[] {
  const fields = splitNul(out)
  const paths: ChangedPath[] = []
  const byPath = new Map<string, ChangedPath>()
  for (let at = 0; at < fields.length; at++) {
    const field = fields[at] ?? ''
    if (field.startsWith(':')) {
      const letter = field.slice(field.lastIndexOf(' ') + 1)
      const two = letter[0] === 'R' || letter[0] === 'C'
      const from = fields[++at] ?? ''
      const path = two ? (fields[++at] ?? '') : from
      const entry: ChangedPath = {
        path,
        change: changeOf(letter[0] ?? ''),
        insertions: null,
        deletions: null,
      }
      if (letter[0] === 'R') entry.from = from
      if (field.split(' ')[1] === '160000') entry.link = true
      paths.push(entry)
      byPath.set(path, entry)
      continue
    }
    const [insertions = '-', deletions = '-', ...rest] = field.split('\t')
    let path = rest.join('\t')
    if (path === '') {
      path = fields[at + 2] ?? ''
      at += 2
    }
    const entry = byPath.get(path)
    if (entry && insertions !== '-')
      Object.assign(entry, { insertions: Number(insertions), deletions: Number(deletions) })
  }
  return paths
}

/**
 * Where the work at `head` begins: `base`, or the younger commit of `target` that it was merged with or rebased on. A
 * merge in progress counts as made. `base` also where `head` is in the target, and where git cannot tell.
 */
export async function startOf(
  at: Git,
  base: string,
  { head, target }: { head: string; target: string },
): Promise<string> {
  const merging = await mergeHeads(at)
  if (head === base && merging.length === 0) return base
  const result = await git(at, ['merge-base', target, head, ...merging])
  const common = textOf(result)
  if (result.code !== 0 || common === base || common === head) return base
  const older = await git(at, ['merge-base', '--is-ancestor', common, base])
  return older.code === 1 ? common : base
}

/** What a merge in progress brings in. */
async function mergeHeads({ dir }: Git): Promise<string[]> {
  const gitDir = await gitDirOf(dir).catch(() => undefined)
  const text = gitDir && (await readFile(join(gitDir, 'MERGE_HEAD'), 'utf8').catch(() => undefined))
  return text?.split('\n').filter(Boolean) ?? []
}

export type HeadState =
  | { is: 'head'; commit: string; branch: string | null }
  | { is: 'unborn'; branch: string }
  | { is: 'unknown'; reason: string }

/** Where HEAD of a worktree is. */
export async function headOf(worktree: Git): Promise<HeadState> {
  const read = await headInFiles(worktree)
  if (read) return read
  const [symbolic, commit] = await Promise.all([
    git(worktree, ['symbolic-ref', '--quiet', 'HEAD']),
    git(worktree, ['rev-parse', '--verify', '--quiet', 'HEAD^{commit}']),
  ])
  const branch = symbolic.code === 0 ? textOf(symbolic).replace(/^refs\/heads\//, '') : null
  if (commit.code === 0) return { is: 'head', commit: textOf(commit), branch }
  if (branch !== null && commit.code === 1) return { is: 'unborn', branch }
  return { is: 'unknown', reason: reasonOf(commit) }
}

/** On a branch, or detached, as git's own files say; undefined where only git can tell. */
async function headInFiles({ dir, commonDir }: Git): Promise<HeadState | undefined> {
  const gitDir = await gitDirOf(dir).catch(() => undefined)
  const text = gitDir && (await readFile(join(gitDir, 'HEAD'), 'utf8').catch(() => undefined))
  const ref = /^ref: (refs\/heads\/\S+)\n$/.exec(text ?? '')?.[1]
  const tip = ref === undefined ? undefined : await refTip(commonDir, ref)
  if (ref === undefined || tip?.is !== 'found') return undefined
  return { is: 'head', commit: tip.value, branch: ref.slice('refs/heads/'.length) }
}

/**
 * Commits of a branch that are in no other branch, tag or remote-tracking branch (case 23); undefined where git
 * cannot tell.
 */
export async function commitsOnlyOn(at: Git, branch: string): Promise<string[] | undefined> {
  // `--exclude` counts for the next pattern only, and begins at refs/heads/ there.
  const not = ['--not', `--exclude=${branch}`, '--branches', '--tags', '--remotes']
  const result = await git(at, ['rev-list', `refs/heads/${branch}`, ...not])
  return result.code === 0 ? textOf(result).split('\n').filter(Boolean) : undefined
}

/**
 * What the commits that `by`, an e-mail address, made between two commits touch; empty where git cannot tell. Merges
 * are left out.
 */
export async function pathsCommittedBy(at: Git, by: string, from: string, to: string): Promise<string[]> {
  const whose = ['--fixed-strings', `--committer=<${by}>`, '--no-merges']
  const what = ['--format=', '--name-only', '-z', '--no-ext-diff', '--no-textconv', '--no-renames']
  const result = await git(at, ['log', ...whose, ...what, `${from}..${to}`])
  if (result.code !== 0) return []
  const names = result.out.toString('utf8').split(/[\0\n]/)
  return [...new Set(names)].filter(Boolean)
}

const textOf = (result: GitResult): string => result.out.toString('utf8').trimEnd()

function changeOf(letter: string): ChangedPath['change'] {
  switch (letter) {
    case 'A':
    case 'C':
      return 'added'
    case 'D':
      return 'deleted'
    case 'R':
      return 'renamed'
    case 'T':
      return 'type'
    default:
      return 'modified'
  }
}

async function untrackedPaths(root: string, paths: readonly string[]): Promise<ChangedPath[]> {
  return Promise.all(
    paths.map(async (path, index) => ({
      path,
      change: 'added' as const,
      insertions: index < countedFiles ? await linesOf(join(root, path)) : null,
      deletions: 0,
      untracked: true,
    })),
  )
}

async function linesOf(file: string): Promise<number | null> {
  const place = fsPath(file)
  const stats = await lstat(place).catch(() => undefined)
  if (!stats?.isFile() || stats.size > countLimit) return null
  const bytes = await readFile(place).catch(() => undefined)
  if (!bytes || bytes.subarray(0, 8_000).includes(0)) return null
  let lines = 0
  for (let at = bytes.indexOf(10); at >= 0; at = bytes.indexOf(10, at + 1)) lines += 1
  return bytes.length > 0 && bytes.at(-1) !== 10 ? lines + 1 : lines
}
