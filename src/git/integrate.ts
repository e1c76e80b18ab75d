// Integration: the merge built off to the side, and the target moved by compare-and-swap.

import { lstat, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { BerthError } from '../core/errors.ts'
import { tipOf } from './branch.ts'
import { isThere } from './checkout.ts'
import { type Identity } from './commit.ts'
import {
  failure,
  type Git,
  git,
  type GitOptions,
  type GitResult,
  inDirectory,
  line,
  lockFileOf,
  reasonOf,
} from './git.ts'
import { operationIn } from './gitdir.ts'
import { entryDirOf, listWorktrees, type WorktreeEntry } from './list.ts'
import { mergeTrees } from './merge-trees.ts'
import { type Repository } from './open.ts'
import { fsPath, isWithin, splitNul } from './path.ts'
import { commitTree, identityEnvironment } from './snapshot.ts'
import { readStatus } from './status.ts'
import { hiddenEdits, readTracked } from './tracked.ts'

export type MergeRequest = {
  /** The target's commit. */
  tip: string
  commit: string
  /** The first line of the merge commit's message. */
  subject: string
  trailers: { [name: string]: string }
  author: Identity
  /** Undefined: the git identity of the person who runs Berth. */
  committer?: Identity
  signal?: AbortSignal
}

export type MergeOutcome =
  | { is: 'merged'; commit: string }
  | { is: 'conflict'; paths: string[] }
  /** The target contains it already. */
  | { is: 'already' }
  | { is: 'failed'; step: string; reason: string }

/**
 * Merges with a merge commit always, in an integration worktree of Berth's own, which then stands at the result with
 * clean files, whatever an earlier, cut-off merge left there (case 58). Throws BerthError where git cannot do that.
 */
export async function mergeInto(integration: Git, request: MergeRequest): Promise<MergeOutcome> {
  const { tip, commit, signal } = request
  const contained = await git(integration, ['merge-base', '--is-ancestor', commit, tip])
  if (contained.code === 0) return { is: 'already' }
  if (contained.code !== 1) return { is: 'failed', step: 'ask', reason: reasonOf(contained) }
  const merged = await mergeTrees(integration, tip, commit, signal ? { signal } : {})
  if (merged.is === 'conflict') return merged
  if (merged.is === 'failed') return { is: 'failed', step: 'merge', reason: merged.reason }
  const made = await commitMerge(integration, request, merged.tree)
  if (made.is === 'failed') return made
  await standAt(integration, made.commit, signal)
  return made
}

/**
 * Brings a worktree of Berth's own to a commit: HEAD detached there, no operation, no changes, nothing untracked;
 * ignored files stay. Never for a worktree that anybody works in. Throws BerthError (`git-failed`, `git-busy`,
 * `timeout`).
 */
export async function standAt(integration: Git, commit: string, signal?: AbortSignal): Promise<void> {
  const options = { timeoutMs: 30 * 60_000, lockMs: lockWaitMs, ...(signal ? { signal } : {}) }
  const commands = [
    ['checkout', '--detach', '--force', '--quiet', '--no-recurse-submodules', commit],
    ['clean', '-ffd', '--quiet'],
  ]
  for (const args of commands) {
    const result = await overDeadLock(integration, args, options)
    if (result.code !== 0) throw failure(integration, args, result)
  }
}

export type MoveRequest = {
  target: string
  from: string
  to: string
  /** Whose branch the target stands for where there is no local one yet. */
  remote?: string
  reason?: string
  signal?: AbortSignal
  /** Waits at most this long for a lock that another program holds. */
  lockMs?: number
}

export type MoveOutcome =
  | { is: 'moved' }
  /** The checkout of the target has something in the way: nothing moved (docs/decisions/0021). */
  | { is: 'busy'; paths: string[]; reason: string }
  | { is: 'moved-meanwhile'; tip: string | null }
  | { is: 'failed'; step: string; reason: string }

/**
 * Moves the local target branch from one commit to a later one, or says why not. Where only the remote has it, it is
 * made here, as a `git switch` to it would.
 */
export async function moveTarget(repo: Repository, request: MoveRequest): Promise<MoveOutcome> {
  const ref = `refs/heads/${request.target}`
  const tip = await tipOf(repo, ref)
  if (tip.is === 'unknown') return { is: 'failed', step: 'ask', reason: tip.reason }
  const begins = tip.commit === undefined && (await isRemoteTip(repo, request))
  if (tip.commit !== request.from && !begins) return { is: 'moved-meanwhile', tip: tip.commit ?? null }
  const list = await listWorktrees(repo)
  if (list.is === 'unknown') return { is: 'failed', step: 'list', reason: list.reason }
  const users = await usersOf(repo, list.entries, request.target)
  const [user, second] = users
  if (second)
    return {
      is: 'busy',
      paths: users,
      reason: `'${request.target}' is checked out in more than one worktree`,
    }
  if (user !== undefined) return moveCheckedOut(inDirectory(repo, user), request)
  const message = request.reason ?? 'berth: landed'
  // With an empty old value git makes the ref, and only if it is still not there.
  const old = begins ? '' : request.from
  const lockMs = request.lockMs ?? targetLockMs
  const result = await git(repo, ['update-ref', '-m', message, ref, request.to, old], { lockMs })
  if (result.code === 0) return { is: 'moved' }
  const now = await tipOf(repo, ref)
  if (now.is === 'tip' && now.commit !== request.from)
    return { is: 'moved-meanwhile', tip: now.commit ?? null }
  return { is: 'failed', step: 'move', reason: reasonOf(result) }
}

async function isRemoteTip(repo: Repository, { remote, target, from }: MoveRequest): Promise<boolean> {
  if (remote === undefined) return false
  const tip = await tipOf(repo, `refs/remotes/${remote}/${target}`)
  return tip.is === 'tip' && tip.commit === from
}

const lockWaitMs = 2_000
const targetLockMs = 5_000
const lockStepMs = 50

/** Nobody but the one landing works in this worktree: a lock that stays is of a git that was killed there. */
async function overDeadLock(integration: Git, args: string[], options: GitOptions): Promise<GitResult> {
  const result = await git(integration, args, options)
  const lock = lockFileOf(result.err)
  const entryDir = await entryDirOf(integration, integration.dir)
  if (result.code === 0 || lock === undefined || entryDir === undefined || !isWithin(lock, entryDir))
    return result
  await rm(lock, { force: true })
  return git(integration, args, options)
}

/** Committed by the person who runs Berth; by the author where git knows no such person. */
async function commitMerge(
  integration: Git,
  request: MergeRequest,
  tree: string,
): Promise<{ is: 'merged'; commit: string } | { is: 'failed'; step: string; reason: string }> {
  const parents = [request.tip, request.commit]
  const as = (committer: Identity | undefined): Promise<string> => {
    const env = identityEnvironment(request.author, committer)
    return commitTree(integration, { tree, parents, message: messageOf(request), env })
  }
  try {
    return {
      is: 'merged',
      commit: await as(request.committer).catch(() => as(request.committer ?? request.author)),
    }
  } catch (error) {
    if (!(error instanceof BerthError)) throw error
    return { is: 'failed', step: 'commit', reason: error.message }
  }
}

/** Worktrees that are on the branch, or in the middle of something that will write it. */
async function usersOf(
  repo: Repository,
  entries: readonly WorktreeEntry[],
  target: string,
): Promise<string[]> {
  const users: string[] = []
  for (const entry of entries) {
    if (entry.bare) continue
    if (entry.branch === target) users.push(entry.path)
    else if (entry.branch === null && (await rebases(repo, entry, target))) users.push(entry.path)
  }
  return users
}

async function rebases(repo: Repository, entry: WorktreeEntry, target: string): Promise<boolean> {
  const gitDir = entry.main ? repo.commonDir : await entryDirOf(repo, entry.path)
  if (gitDir === undefined) return false
  const names = await Promise.all(
    ['rebase-merge/head-name', 'rebase-apply/head-name', 'BISECT_START'].map(name =>
      readName(join(gitDir, name)),
    ),
  )
  return names.some(name => name === `refs/heads/${target}` || name === target)
}

/** A lock that is there for a moment, as of an editor that asks for the status, is waited out. */
async function moveCheckedOut(checkout: Git, request: MoveRequest): Promise<MoveOutcome> {
  for (let left = request.lockMs ?? targetLockMs; ; left -= lockStepMs) {
    const outcome = await tryCheckedOut(checkout, request)
    if (outcome.is !== 'locked') return outcome
    if (left <= 0 || request.signal?.aborted)
      return { is: 'busy', paths: [outcome.lock], reason: `git is busy in '${checkout.dir}'` }
    await setTimeout(lockStepMs)
  }
}

async function tryCheckedOut(
  checkout: Git,
  request: MoveRequest,
): Promise<MoveOutcome | { is: 'locked'; lock: string }> {
  const busy = (reason: string, paths: string[] = []): MoveOutcome => ({ is: 'busy', paths, reason })
  if (!(await isThere(checkout.dir)))
    return busy(`'${checkout.dir}' is on '${request.target}', and is not there`)
  const gitDir = await line(checkout, ['rev-parse', '--absolute-git-dir']).catch(() => undefined)
  if (gitDir === undefined) return busy(`'${checkout.dir}' cannot be read`)
  const operation = await operationIn(gitDir)
  if (operation !== null) return busy(`a ${operation} is in progress in '${checkout.dir}'`)
  const indexLock = join(gitDir, 'index.lock')
  if (await isThere(indexLock)) return { is: 'locked', lock: indexLock }
  const inTheWay = await pathsInTheWay(checkout, request)
  if (typeof inTheWay === 'string') return busy(inTheWay)
  if (inTheWay.length > 0)
    return busy(`'${checkout.dir}' has work where '${request.target}' would change`, inTheWay)
  const flags = [
    '--ff-only',
    '--no-overwrite-ignore',
    '--no-autostash',
    '--no-verify-signatures',
    '--no-stat',
    '--quiet',
  ]
  const result = await git(checkout, ['merge', ...flags, request.to], {
    config: ['submodule.recurse=false'],
    env: { GIT_REFLOG_ACTION: request.reason ?? 'berth: landed' },
    timeoutMs: 30 * 60_000,
  })
  const now = await tipOf(checkout, `refs/heads/${request.target}`)
  if (now.is === 'tip' && now.commit === request.to) return { is: 'moved' }
  if (now.is === 'tip' && now.commit !== request.from)
    return { is: 'moved-meanwhile', tip: now.commit ?? null }
  const lock = lockFileOf(result.err)
  if (lock !== undefined) return { is: 'locked', lock }
  return busy(`git would not go on in '${checkout.dir}': ${reasonOf(result)}`)
}

/** Paths of the merge that are modified, hidden, untracked or ignored in the checkout; a sentence if unknown. */
async function pathsInTheWay(checkout: Git, { from, to }: MoveRequest): Promise<string[] | string> {
  const [diff, status, tracked] = await Promise.all([
    git(checkout, [
      'diff',
      '--name-status',
      '-z',
      '--no-renames',
      '--no-ext-diff',
      '--no-textconv',
      from,
      to,
    ]),
    readStatus(checkout),
    readTracked(checkout),
  ])
  if (diff.code !== 0) return reasonOf(diff)
  if (status.is === 'unknown') return status.reason
  if (tracked.is === 'unknown') return tracked.reason
  if (status.head !== from) return `'${checkout.dir}' is at another commit`
  const merge = mergePaths(splitNul(diff.out))
  const hidden = await hiddenEdits(
    checkout,
    tracked.flagged.filter(row => merge.all.has(row.path)),
  )
  const dirty = new Set([...status.changed.map(entry => entry.path), ...hidden])
  const found = new Set<string>(
    [...dirty].filter(path => merge.all.has(path) || foldersOf(path).some(folder => merge.all.has(folder))),
  )
  for (const path of merge.all) for (const folder of foldersOf(path)) if (dirty.has(folder)) found.add(folder)
  for (const path of merge.added) {
    const there = await strangerAt(checkout, path)
    if (there !== undefined && !merge.deleted.some(gone => isWithin(gone, there))) found.add(there)
  }
  return [...found].toSorted()
}

type MergePaths = { all: Set<string>; added: string[]; deleted: string[] }

function mergePaths(fields: readonly string[]): MergePaths {
  const paths: MergePaths = { all: new Set(), added: [], deleted: [] }
  for (let at = 0; at + 1 < fields.length; at += 2) {
    const path = fields[at + 1] ?? ''
    paths.all.add(path)
    if (fields[at] === 'A') paths.added.push(path)
    if (fields[at] === 'D') paths.deleted.push(path)
  }
  return paths
}

/** `a` and `a/b` for `a/b/c`. */
function foldersOf(path: string): string[] {
  const parts = path.split('/')
  return parts.slice(1).map((_, index) => parts.slice(0, index + 1).join('/'))
}

/** What stands where a new file goes: the path itself, or a file where it needs a folder. */
async function strangerAt(checkout: Git, path: string): Promise<string | undefined> {
  const parts = path.split('/')
  for (let count = 1; count <= parts.length; count++) {
    const place = parts.slice(0, count).join('/')
    const stats = await lstat(fsPath(join(checkout.dir, place))).catch(() => undefined)
    if (!stats) return undefined
    if (count === parts.length || !stats.isDirectory()) return place
  }
  return undefined
}

async function readName(file: string): Promise<string | undefined> {
  return (await readFile(file, 'utf8').catch(() => undefined))?.trimEnd()
}

function messageOf({ subject, trailers }: MergeRequest): string {
  const rows = Object.entries(trailers).map(([name, value]) => `${name}: ${value.replace(/[\r\n]+/g, ' ')}`)
  return `${subject}\n${rows.length === 0 ? '' : `\n${rows.join('\n')}\n`}`
}
