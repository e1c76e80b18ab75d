// Committing what an agent left uncommitted, without what a person must decide about.

import { lstat, readFile, readlink } from 'node:fs/promises'
import { join } from 'node:path'
import { BerthError } from '../core/errors.ts'
import { gitCall } from '../core/shellword.ts'
import { type Git, line } from './git.ts'
import { gitDirOf, operationIn } from './gitdir.ts'
import { freeIndexLock } from './indexlock.ts'
import { unnamedLinks } from './links.ts'
import { fsPath } from './path.ts'
import { commitTree, identityEnvironment, swapRef, treeOf, updateIndex } from './snapshot.ts'
import { readStatus, type Status, type StatusEntry } from './status.ts'
import { withTempFolder } from './temp.ts'

export type Identity = { name: string; email: string }

export type Withheld = {
  path: string
  why: 'large' | 'secret' | 'ledger' | 'operation' | 'nested'
  /** The agent committed it by itself: a link that nobody else can follow. */
  committed?: true
}

export type CommitRequest = {
  identity: Identity
  message: string
  /** Paths that setup copied or linked: never committed. */
  ledger: readonly string[]
  /** Whether bytes hold a known secret. */
  isSecret: (bytes: Uint8Array) => boolean
  /** Larger files are withheld. Default 5 MB. */
  maxFileBytes?: number
  signal?: AbortSignal
}

export type CommitLeft = {
  /** HEAD afterwards. */
  commit: string
  /** Committed; 0: nothing was left, or all was withheld. */
  files: number
  withheld: Withheld[]
  /** A dead lock of git was set aside, say. */
  notices: string[]
}

const maxFileBytes = 5_000_000
const linkMode = '160000'

/**
 * Commits what is left in a worktree, hooks off, as `identity` (docs/decisions/0020). The agent's index then agrees
 * with the new commit; what was withheld stays as it was: nested repositories and what is inside submodules too. Throws
 * BerthError (git-failed, git-busy).
 */
export async function commitLeft(worktree: Git, request: CommitRequest): Promise<CommitLeft> {
  const gitDir = await gitDirOf(worktree.dir)
  const [status, operation] = await Promise.all([
    readStatus(worktree, { signal: request.signal }),
    operationIn(gitDir),
  ])
  if (status.is === 'unknown') {
    throw new BerthError('git-failed', `'${worktree.dir}' cannot be read: ${status.reason}`)
  }
  const { left, nested } = await leftPaths(worktree, status)
  const { head } = status
  const nothing = (more: Withheld[], notices: string[] = []): CommitLeft => ({
    commit: headOrThrow(worktree, head),
    files: 0,
    withheld: [...more, ...nested],
    notices,
  })
  if (left.length === 0) return nothing([])
  if (operation !== null) return nothing(left.map(path => ({ path, why: 'operation' })))
  const lock = await freeIndexLock(worktree)
  if (lock.is === 'busy') throw indexBusy(worktree, lock)
  const notices = lock.is === 'cleared' ? [`a dead lock of git was set aside: '${lock.kept}'`] : []
  const { paths, withheld } = await sort(worktree, left, request)
  const commit = await commitPaths(worktree, { request, head, paths })
  if (commit === undefined) return nothing(withheld, notices)
  await updateIndex(worktree, paths, { lockMs: 2_000 })
  return { commit, files: paths.length, withheld: [...withheld, ...nested], notices }
}

/**
 * Everything that differs; repositories inside, links to them that `.gitmodules` does not name, and submodules that are
 * only dirty inside hold work of their own.
 */
async function leftPaths(worktree: Git, status: Status): Promise<{ left: string[]; nested: Withheld[] }> {
  const links = status.changed.filter(({ modes }) => modes.disk === linkMode).map(({ path }) => path)
  const found = await unnamedLinks(worktree, links, 'disk')
  if (found.is === 'unknown') {
    throw new BerthError('git-failed', `'.gitmodules' of '${worktree.dir}' cannot be read: ${found.reason}`)
  }
  const unnamed = new Set(found.paths)
  const isOwn = (entry: StatusEntry): boolean =>
    !unnamed.has(entry.path) &&
    (entry.submodule === 'N...' || entry.submodule[1] === 'C' || entry.index !== '.')
  const isRepository = (path: string): boolean => path.endsWith('/')
  const changed = status.changed.filter(isOwn).map(entry => entry.path)
  const inside = status.changed.filter(entry => !isOwn(entry)).map(entry => entry.path)
  return {
    left: [...changed, ...status.untracked.filter(path => !isRepository(path))],
    nested: [...inside, ...status.untracked.filter(isRepository)].map(path => ({ path, why: 'nested' })),
  }
}

async function commitPaths(
  worktree: Git,
  { request, head, paths }: { request: CommitRequest; head: string | null; paths: string[] },
): Promise<string | undefined> {
  if (paths.length === 0) return undefined
  const tree = await withTempFolder(folder => treeOf(worktree, { head, paths, folder }))
  if (head !== null && tree === (await line(worktree, ['rev-parse', `${head}^{tree}`]))) return undefined
  const env = identityEnvironment(request.identity, request.identity)
  const commit = await commitTree(worktree, {
    tree,
    parents: head === null ? [] : [head],
    message: request.message,
    env,
  })
  const moved = await swapRef(worktree, {
    ref: 'HEAD',
    from: head,
    to: commit,
    message: 'berth: uncommitted work',
  })
  if (moved) return commit
  throw new BerthError('git-busy', `HEAD of '${worktree.dir}' moved while its work was being committed`)
}

async function sort(
  worktree: Git,
  left: readonly string[],
  request: CommitRequest,
): Promise<{ paths: string[]; withheld: Withheld[] }> {
  const ledger = new Set(request.ledger)
  const paths: string[] = []
  const withheld: Withheld[] = []
  for (const path of left) {
    const why = ledger.has(path) ? 'ledger' : await reasonAgainst(join(worktree.dir, path), request)
    if (why === undefined) paths.push(path)
    else withheld.push({ path, why })
  }
  return { paths, withheld }
}

/** Why the content of a file must not be committed unasked. A file that is gone holds nothing. */
async function reasonAgainst(file: string, request: CommitRequest): Promise<'large' | 'secret' | undefined> {
  const place = fsPath(file)
  const stats = await lstat(place).catch(() => undefined)
  if (stats?.isSymbolicLink()) {
    return request.isSecret(await readlink(place, { encoding: 'buffer' })) ? 'secret' : undefined
  }
  if (!stats?.isFile()) return undefined
  if (stats.size > (request.maxFileBytes ?? maxFileBytes)) return 'large'
  return request.isSecret(await readFile(place)) ? 'secret' : undefined
}

function headOrThrow(worktree: Git, head: string | null): string {
  if (head !== null) return head
  throw new BerthError('git-failed', `HEAD of '${worktree.dir}' has no commit`)
}

const indexBusy = (worktree: Git, { lock, reason }: { lock: string; reason: string }): BerthError =>
  new BerthError('git-busy', `'${lock}' is there: ${reason}`, gitCall(worktree.dir, 'status'))
