// Making a worktree: asked first, made under the lock, filled outside it, verified, rolled back.

import { lstat, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { BerthError, type ErrorCode } from '../core/errors.ts'
import { gitCall, shellWord } from '../core/shellword.ts'
import { foldName } from '../core/names.ts'
import { deleteBranch, operationOn } from './branch.ts'
import { fillWorktree, filterProblem, isThere, noticesOf, runPostCheckout } from './checkout.ts'
import { type Settings } from './config.ts'
import { dropEntry } from './entry.ts'
import { failure, type Git, git, type GitResult, inDirectory, ok, reasonOf } from './git.ts'
import { entryAt, entryDirOf, listWorktrees, resolved } from './list.ts'
import { type Repository } from './open.ts'
import { isWithin } from './path.ts'
import { currentSettings } from './settings.ts'

/** One at a time per repository, over processes (docs/decisions/0037). Injected: git may not import the store. */
export type RepositoryLock = <T>(commonDir: string, fn: () => Promise<T>) => Promise<T>

export type AddRequest = {
  /** Absolute; must not exist. */
  path: string
  /** Short name; null makes a detached worktree (the integration workspace). */
  branch: string | null
  /** Commit id the branch is made at, or that is checked out detached. */
  commit: string
  lock: RepositoryLock
  /** Take up a branch that is there already, with its commits, unless it is checked out somewhere. */
  takeUp: boolean
  /** Written to `<entry>/berth.json` as soon as the entry exists: the proof that it is ours. */
  marker?: string
  /** Waits this long for a lock of a foreign program. Default 10 s. */
  lockMs?: number
  signal?: AbortSignal
}

export type AddRefusal =
  | 'branch'
  | 'branch-checked-out'
  | 'branch-busy'
  | 'branch-clash'
  | 'path'
  | 'path-registered'
  | 'path-folds'
  | 'path-inside'
  | 'filter'
  | 'commit'

export type Refused = {
  is: 'refused'
  what: AddRefusal
  code: ErrorCode
  message: string
  hint: string
  /** The worktree that has the branch. */
  at?: string
}

export type AddOutcome =
  | {
      is: 'made'
      path: string
      branch: string | null
      /** HEAD of the new worktree. */
      head: string
      /** Its git directory: `<common dir>/worktrees/<id>`. */
      entryDir: string
      /** Commits beyond `commit` on a branch that was taken up; undefined if it was made here. */
      tookUp?: number
      notices: string[]
    }
  | Refused
  /** Rolled back; `left` names what could not be. */
  | { is: 'failed'; step: string; reason: string; hint?: string; code: ErrorCode; left: string[] }

const lockWaitMs = 10_000
const addMs = 120_000

/** Makes a worktree: asked first, made under the lock, filled outside it, verified, rolled back on failure. */
export async function addWorktree(repo: Repository, request: AddRequest): Promise<AddOutcome> {
  const refusal = await refuseForPath(repo, request.path)
  if (refusal) return refusal
  const made: Made = { path: false }
  try {
    const settings = await currentSettings(repo)
    const problem = await filterProblem(repo, { settings, commit: request.commit })
    if (problem) return refused('filter', problem.code, problem.message, problem.hint ?? '')
    const branch = await claimBranch(repo, request, made)
    if (branch.is === 'refused') return branch
    const registered = await register(repo, request, made)
    if (registered.is === 'refused') return (await rollBack(repo, request, made), registered)
    const filled = await fill(repo, { request, settings, entryDir: registered.entryDir, head: branch.tip })
    return {
      is: 'made',
      path: request.path,
      branch: request.branch,
      head: branch.tip,
      entryDir: registered.entryDir,
      ...(branch.tookUp === undefined ? {} : { tookUp: branch.tookUp }),
      notices: filled,
    }
  } catch (error) {
    const left = await rollBack(repo, request, made)
    return failed(error, left)
  }
}

/** What this call made, for the way back. */
type Made = { branch?: { name: string; commit: string }; path: boolean; entryDir?: string | undefined }

class StepError extends BerthError {
  constructor(
    readonly step: string,
    cause: BerthError,
  ) {
    super(cause.code, cause.message, cause.hint)
  }
}

/** What git or the disk did becomes an outcome; anything else is a bug and is thrown on. */
function failed(error: unknown, left: string[]): AddOutcome {
  if (error instanceof BerthError) {
    const step = error instanceof StepError ? error.step : 'ask'
    const hint = error.hint === undefined ? {} : { hint: error.hint }
    return { is: 'failed', step, reason: error.message, ...hint, code: error.code, left }
  }
  if (!(error instanceof Error) || !('code' in error)) throw error
  const code = error.code === 'ENOSPC' ? 'disk-full' : 'failed'
  return { is: 'failed', step: 'files', reason: error.message, code, left }
}

const refused = (what: AddRefusal, code: ErrorCode, message: string, hint: string): Refused => ({
  is: 'refused',
  what,
  code,
  message,
  hint,
})

/** Questions to the disk: is it taken, would it fold into a neighbour, does it lie inside the repository. */
async function refuseForPath(repo: Repository, path: string): Promise<Refused | undefined> {
  const parent = dirname(path)
  const [real, root, common] = await Promise.all([
    resolved(parent),
    resolved(repo.root),
    resolved(repo.commonDir),
  ])
  const place = slashed(join(real, basename(path)))
  if (isWithin(place, slashed(common)) || (!repo.bare && isWithin(place, slashed(root)))) {
    const message = `'${path}' lies inside the repository '${repo.root}'`
    return refused('path-inside', 'path-refused', message, 'berth config')
  }
  const name = basename(path)
  for (const other of await readdir(real).catch(() => [])) {
    if (other === name)
      return refused('path', 'name-taken', `'${path}' is there already`, `ls -la ${shellWord(path)}`)
    if (foldName(other) === foldName(name)) {
      const message = `'${path}' and '${join(parent, other)}' are one on disks that ignore letter case`
      return refused('path-folds', 'name-taken', message, 'berth run --name NAME "BRIEF"')
    }
  }
  return undefined
}

type Claimed = { is: 'branch'; tip: string; tookUp?: number } | Refused

/** Makes the branch, or takes it up. One command when nothing is in the way; the questions come when it is. */
async function claimBranch(repo: Repository, request: AddRequest, made: Made): Promise<Claimed> {
  const { branch, commit } = request
  if (branch === null) return { is: 'branch', tip: commit }
  const zero = '0'.repeat(commit.length)
  const args = ['update-ref', '-m', 'berth: new branch', `refs/heads/${branch}`, commit, zero]
  const result = await git(repo, args, waiting(request))
  if (result.code === 0) {
    made.branch = { name: branch, commit }
    return { is: 'branch', tip: commit }
  }
  const exists = await git(repo, [
    'for-each-ref',
    '--format=%(refname) %(objectname)',
    `refs/heads/${branch}`,
  ])
  const rows = exists.out.toString('utf8').split('\n')
  const own = rows.find(row => row.startsWith(`refs/heads/${branch} `))
  if (exists.code === 0 && own) return takeUp(repo, request, own.slice(`refs/heads/${branch} `.length))
  const clash = rows.find(row => row !== '')?.split(' ')[0] ?? (await parentRef(repo, branch))
  if (clash) {
    const other = clash.replace(/^refs\/heads\//, '')
    const message = `the branch '${branch}' cannot stand beside the branch '${other}'`
    return refused('branch-clash', 'name-taken', message, 'berth run --name NAME "BRIEF"')
  }
  if ((await git(repo, ['cat-file', '-e', `${commit}^{commit}`])).code !== 0) {
    return refused(
      'commit',
      'not-found',
      `there is no commit '${commit}'`,
      gitCall(repo.dir, 'log', '--oneline', '--all'),
    )
  }
  throw stepFailure('branch', repo, args, result)
}

async function takeUp(repo: Repository, request: AddRequest, tip: string): Promise<Claimed> {
  const { branch } = request
  const list = await listWorktrees(repo)
  if (list.is === 'unknown') throw new StepError('branch', new BerthError('git-failed', list.reason))
  const user = list.entries.find(entry => entry.branch === branch)
  if (user) {
    const message = `the branch '${branch}' is checked out in '${user.path}'`
    const refusal = refused('branch-checked-out', 'name-taken', message, 'berth run --name NAME "BRIEF"')
    return { ...refusal, at: user.path }
  }
  const busy = branch === null ? undefined : await operationOn(repo, list.entries, branch)
  if (busy) {
    const message = `a ${busy.operation} of the branch '${branch}' is not finished in '${busy.path}'`
    return {
      ...refused('branch-busy', 'name-taken', message, gitCall(busy.path, 'status')),
      at: busy.path,
    }
  }
  if (!request.takeUp) {
    const message = `the branch '${branch}' is there already`
    return refused('branch', 'name-taken', message, 'berth run --name NAME "BRIEF"')
  }
  const count = await ok(repo, ['rev-list', '--count', `${request.commit}..${tip}`])
  return { is: 'branch', tip, tookUp: Number(count.toString('utf8')) }
}

/** A branch named like a folder of the wanted one: `feat` for `feat/x`. */
async function parentRef(repo: Repository, branch: string): Promise<string | undefined> {
  const parts = branch.split('/')
  for (let count = 1; count < parts.length; count++) {
    const ref = `refs/heads/${parts.slice(0, count).join('/')}`
    if ((await git(repo, ['show-ref', '--verify', '--quiet', ref])).code === 0) return ref
  }
  return undefined
}

/** Registers the worktree without its files: the only part that needs the repository's lock. */
async function register(
  repo: Repository,
  request: AddRequest,
  made: Made,
): Promise<{ is: 'registered'; entryDir: string } | Refused> {
  const { path, branch, commit } = request
  const what = branch === null ? ['--detach', path, commit] : [path, branch]
  const args = ['worktree', 'add', '--no-checkout', '--quiet', ...what]
  const result = await request.lock(repo.commonDir, async () => {
    if (request.signal?.aborted) {
      throw new StepError('register', new BerthError('interrupted', 'it was cancelled'))
    }
    if (await lstat(path).catch(() => undefined)) return undefined
    const added = await git(repo, args, { ...waiting(request), timeoutMs: addMs })
    await noteMade(repo, { request, made, result: added })
    if (made.entryDir && request.marker !== undefined) {
      await writeFile(join(made.entryDir, 'berth.json'), request.marker)
    }
    return added
  })
  if (!result) return refused('path', 'name-taken', `'${path}' is there already`, `ls -la ${shellWord(path)}`)
  if (result.code === 0 && made.entryDir) return { is: 'registered', entryDir: made.entryDir }
  if (!made.entryDir && (await isRegistered(repo, path))) {
    const message = `git still lists a worktree at '${path}', which is not there`
    return refused('path-registered', 'name-taken', message, 'berth reconcile')
  }
  throw stepFailure('register', repo, args, result)
}

/**
 * Git takes back what it made when it fails by itself, so a path that is there then is somebody else's. Only after
 * success, or when git was killed, is it ours: while an entry says so that is on our branch.
 */
async function noteMade(
  repo: Repository,
  { request, made, result }: { request: AddRequest; made: Made; result: GitResult },
): Promise<void> {
  const { path, branch } = request
  if (result.code === 0) {
    made.path = true
    made.entryDir = await entryNamedBy(path)
  } else if (result.code === null && !result.missing) {
    const entryDir = await entryDirOf(repo, path)
    const head = entryDir ? await readFile(join(entryDir, 'HEAD'), 'utf8').catch(() => '') : undefined
    if (
      entryDir === undefined ||
      (head !== '' && branch !== null && head?.trimEnd() !== `ref: refs/heads/${branch}`)
    )
      return
    made.entryDir = entryDir
    made.path = await isThere(path)
  }
}

async function isRegistered(repo: Repository, path: string): Promise<boolean> {
  const list = await listWorktrees(repo)
  return list.is === 'list' && (await entryAt(list.entries, path)) !== undefined
}

/** The entry that a worktree's `.git` file names. */
async function entryNamedBy(path: string): Promise<string | undefined> {
  const text = await readFile(join(path, '.git'), 'utf8').catch(() => '')
  const named = /^gitdir: ([^\0]+?)\r?\n?$/.exec(text)?.[1]
  return named === undefined ? undefined : resolve(path, named)
}

type Filling = { request: AddRequest; settings: Settings; entryDir: string; head: string }

/** Files, hook, and the proof that all is there. Returns what a person should know. */
async function fill(repo: Repository, { request, settings, entryDir, head }: Filling): Promise<string[]> {
  const at = inDirectory(repo, request.path)
  const result = await fillWorktree(at, request.signal)
  if (result.code !== 0) throw fillFailure(at, result)
  const warning = await runPostCheckout(at, { settings, commit: head, signal: request.signal })
  await verify(repo, { request, entryDir, head })
  const notices = await noticesOf(request.path, settings)
  return warning === undefined ? notices : [warning, ...notices]
}

/** Registered at that path, HEAD as wanted, index there: read from git's own files, at no process's cost. */
async function verify(
  repo: Repository,
  { request, entryDir, head }: { request: AddRequest; entryDir: string; head: string },
): Promise<void> {
  const wrong = (what: string): StepError =>
    new StepError('verify', new BerthError('git-failed', `the new worktree '${request.path}' ${what}`))
  const [headFile, index, back] = await Promise.all([
    readFile(join(entryDir, 'HEAD'), 'utf8').catch(() => ''),
    isThere(join(entryDir, 'index')),
    readFile(join(entryDir, 'gitdir'), 'utf8').catch(() => ''),
  ])
  if (!index) throw wrong('has no index')
  const gitFile = resolve(entryDir, back.trimEnd())
  if ((await resolved(dirname(gitFile))) !== (await resolved(request.path)))
    throw wrong('is registered elsewhere')
  const wanted = request.branch === null ? head : `ref: refs/heads/${request.branch}`
  if (headFile.trimEnd() === wanted) return
  // Other ref storages than files keep HEAD elsewhere: ask.
  const at = inDirectory(repo, request.path)
  const found = await git(at, ['rev-parse', 'HEAD', '--symbolic-full-name', 'HEAD'])
  const second = request.branch === null ? 'HEAD' : `refs/heads/${request.branch}`
  if (found.code !== 0 || found.out.toString('utf8') !== `${head}\n${second}\n`)
    throw wrong('has another HEAD')
}

function fillFailure(at: Git, result: GitResult): StepError {
  const filter = /external filter '([^']+)' failed|(?:smudge|clean) filter '?([^'\s]+)'? failed/.exec(
    result.err,
  )
  if (!filter) return stepFailure('checkout', at, ['reset'], result)
  const name = filter[1] ?? filter[2] ?? ''
  const text = `a filter that the files need failed: '${name}' (${reasonOf(result)})`
  return new StepError(
    'checkout',
    new BerthError('filter-missing', text, gitCall(at.dir, 'config', '--get-regexp', '^filter')),
  )
}

function stepFailure(step: string, at: Git, args: string[], result: GitResult): StepError {
  if (result.code === null && !result.timedOut && !result.truncated && !result.missing) {
    return new StepError(step, new BerthError('interrupted', `'git ${args[0] ?? ''}' was ended`))
  }
  const error = failure(at, args, result)
  return new StepError(step, error)
}

/** Takes back, in reverse order, only what this call made. Returns what is left behind. */
async function rollBack(repo: Repository, request: AddRequest, made: Made): Promise<string[]> {
  const left: string[] = []
  if (made.path) {
    await rm(request.path, { recursive: true, force: true, maxRetries: 3 }).catch(() => undefined)
    if (await lstat(request.path).catch(() => undefined)) left.push(request.path)
  }
  if (made.entryDir && left.length === 0) {
    const dropped = await request.lock(repo.commonDir, () => dropEntry(repo, request.path)).catch(() => false)
    if (!dropped) left.push(made.entryDir)
  }
  if (made.branch && left.length === 0) {
    const deleted = await deleteBranch(repo, { branch: made.branch.name, commit: made.branch.commit })
    if (deleted.is === 'kept') left.push(`refs/heads/${made.branch.name}`)
  } else if (made.branch) left.push(`refs/heads/${made.branch.name}`)
  return left
}

const waiting = (request: AddRequest): { lockMs: number; signal?: AbortSignal } => ({
  lockMs: request.lockMs ?? lockWaitMs,
  ...(request.signal ? { signal: request.signal } : {}),
})

const slashed = (path: string): string => path.replaceAll('\\', '/')
