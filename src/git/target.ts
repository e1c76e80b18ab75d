// The target branch and the base of a task: asked, not guessed; the rule that decided is returned.

import { gitCall } from '../core/shellword.ts'
import { tipOf } from './branch.ts'
import { type Git, git, reasonOf } from './git.ts'
import { type Repository } from './open.ts'
import { symbolicRef } from './refs.ts'
import { fetchTarget, remoteHead } from './remote.ts'
import { currentSettings } from './settings.ts'

export type TargetRule = 'config' | 'remote-head' | 'ls-remote' | 'current-branch'

export type FoundTarget =
  | { is: 'target'; branch: string; rule: TargetRule; notices: string[] }
  | { is: 'missing'; what: string; hint: string }

/** What a caller keeps per repository between fetches: at most one a minute (docs/decisions/0017). */
export type FetchState = {
  at?: number
  failed?: string | undefined
  running?: Promise<string | undefined> | undefined
}

export type BaseRequest = {
  target: string
  remote: string
  mode: 'local' | 'push' | 'pr'
  /** A revision the person named. */
  base?: string
  /** Undefined: never fetch. `now`: ms. */
  fetch?: { state: FetchState; now: number; timeoutMs: number }
  signal?: AbortSignal
}

export type BaseRule = 'option' | 'local' | 'remote'

export type FoundBase =
  | {
      is: 'base'
      commit: string
      /** Which ref decided: the local branch, its remote-tracking branch, or the option. */
      rule: BaseRule
      /** Commits that the local branch lacks. */
      behind: number
      notices: string[]
    }
  | { is: 'diverged'; local: string; remote: string; ahead: number; behind: number }
  | { is: 'missing'; what: string; hint: string }
  | { is: 'unknown'; reason: string }

const lsRemoteMs = 10_000
const fetchEveryMs = 60_000

/**
 * The branch that tasks land on: configured, else the remote's HEAD as it is known here, else asked of the remote,
 * else the current branch with a notice; never `init.defaultBranch` (docs/safety.md, "Creation"). Without `remote` the
 * usual one.
 */
export async function findTarget(
  repo: Repository,
  policy: { target: string | null; remote?: string; timeoutMs?: number; signal?: AbortSignal },
): Promise<FoundTarget> {
  const notices: string[] = []
  const found = (branch: string, rule: TargetRule): FoundTarget => ({ is: 'target', branch, rule, notices })
  if (policy.target !== null) return found(policy.target.replace(/^refs\/heads\//, ''), 'config')
  const remote = policy.remote ?? (await usualRemote(repo))
  const prefix = `refs/remotes/${remote}/`
  const name = (await namedBy(repo, `${prefix}HEAD`)) ?? ''
  if (name.startsWith(prefix)) return found(name.slice(prefix.length), 'remote-head')
  if (await hasRemote(repo, remote)) {
    const asked = await remoteHead(repo, {
      remote,
      timeoutMs: policy.timeoutMs ?? lsRemoteMs,
      signal: policy.signal,
    })
    if (asked.branch !== undefined) return found(asked.branch, 'ls-remote')
    notices.push(`the default branch of '${remote}' could not be asked: ${asked.reason ?? 'no answer'}`)
  }
  const current = await namedBy(repo, 'HEAD')
  if (!current?.startsWith('refs/heads/')) {
    return {
      is: 'missing',
      what: `there is no target branch: HEAD of '${repo.root}' is detached, and none is configured`,
      hint: gitCall(repo.root, 'switch', 'BRANCH'),
    }
  }
  const branch = current.slice('refs/heads/'.length)
  if (notices.length > 0) notices.push(`the target is the current branch '${branch}'`)
  return found(branch, 'current-branch')
}

/** The commit that a task starts from: the tip of the target as Berth would land on it (docs/decisions/0018). */
export async function resolveBase(repo: Repository, request: BaseRequest): Promise<FoundBase> {
  if (request.base !== undefined) return namedBase(repo, request.base)
  const notices = await refreshed(repo, request)
  const [local, remote] = await Promise.all([
    tipOf(repo, `refs/heads/${request.target}`),
    tipOf(repo, `refs/remotes/${request.remote}/${request.target}`),
  ])
  if (local.is === 'unknown') return local
  if (remote.is === 'unknown') return remote
  const missing: FoundBase = {
    is: 'missing',
    what: `there is no target branch '${request.target}'`,
    hint: gitCall(repo.root, 'branch', '--all'),
  }
  const remoteFirst = request.mode !== 'local'
  if (!local.commit && !remote.commit) return missing
  if (!local.commit || !remote.commit) {
    const rule = local.commit ? 'local' : 'remote'
    if (rule === 'local' && remoteFirst)
      notices.push(`'${request.remote}' has no branch '${request.target}' yet`)
    return { is: 'base', commit: local.commit ?? remote.commit ?? '', rule, behind: 0, notices }
  }
  const counted = await aheadBehind(repo, local.commit, remote.commit)
  if (counted.is === 'unknown') return counted
  const { ahead, behind } = counted
  if (remoteFirst) return { is: 'base', commit: remote.commit, rule: 'remote', behind, notices }
  if (ahead > 0 && behind > 0)
    return { is: 'diverged', local: local.commit, remote: remote.commit, ahead, behind }
  return behind > 0
    ? { is: 'base', commit: remote.commit, rule: 'remote', behind, notices }
    : { is: 'base', commit: local.commit, rule: 'local', behind: 0, notices }
}

export type TargetMove =
  | { is: 'same' }
  | { is: 'forward'; tip: string; commits: number }
  /** The new tip does not contain the old: `left` are the commits that are gone from it, at most 20. */
  | { is: 'rewritten'; tip: string; left: string[] }
  | { is: 'gone' }
  | { is: 'unknown'; reason: string }

/** What became of a target since it was at `was` (docs/decisions/0022). `ref`: another ref than the local branch. */
export async function targetMove(
  repo: Git,
  request: { target: string; was: string; ref?: string },
): Promise<TargetMove> {
  const tip = await tipOf(repo, request.ref ?? `refs/heads/${request.target}`)
  if (tip.is === 'unknown') return tip
  if (tip.commit === undefined) return { is: 'gone' }
  if (tip.commit === request.was) return { is: 'same' }
  const left = await git(repo, ['rev-list', '--max-count=20', `${tip.commit}..${request.was}`])
  if (left.code !== 0) return { is: 'unknown', reason: reasonOf(left) }
  const commits = left.out.toString('utf8').split('\n').filter(Boolean)
  if (commits.length > 0) return { is: 'rewritten', tip: tip.commit, left: commits }
  const count = await git(repo, ['rev-list', '--count', `${request.was}..${tip.commit}`])
  if (count.code !== 0) return { is: 'unknown', reason: reasonOf(count) }
  return { is: 'forward', tip: tip.commit, commits: Number(count.out.toString('utf8')) }
}

/** A revision that a person named: a branch before a tag of the same name. */
export async function namedBase(repo: Repository, base: string): Promise<FoundBase> {
  for (const name of [`refs/heads/${base}`, `refs/remotes/${base}`, `refs/tags/${base}`, base]) {
    const args = ['rev-parse', '--verify', '--quiet', '--end-of-options', `${name}^{commit}`]
    const result = await git(repo, args)
    if (result.code === 0) {
      return {
        is: 'base',
        commit: result.out.toString('utf8').trimEnd(),
        rule: 'option',
        behind: 0,
        notices: [],
      }
    }
  }
  const hint = gitCall(repo.root, 'log', '--oneline', '--all')
  return { is: 'missing', what: `there is no revision '${base}'`, hint }
}

/** What a symbolic ref names; undefined where it names nothing. */
async function namedBy(repo: Repository, name: string): Promise<string | undefined> {
  const read = await symbolicRef(repo.commonDir, name)
  if (read) return read.is === 'found' ? read.value : undefined
  const asked = await git(repo, ['symbolic-ref', '--quiet', name])
  return asked.code === 0 ? asked.out.toString('utf8').trimEnd() : undefined
}

/** The remote that is meant if nothing is said: `origin`, or the only one that there is. */
export async function usualRemote(repo: Repository): Promise<string> {
  const settings = await currentSettings(repo)
  const names = settings.all.flatMap(({ name }) => /^remote\.(.+)\.url$/.exec(name)?.[1] ?? [])
  const [only, ...others] = new Set(names)
  return only === undefined || others.length > 0 ? 'origin' : only
}

const hasRemote = async (repo: Repository, remote: string): Promise<boolean> =>
  (await currentSettings(repo)).get(`remote.${remote}.url`) !== undefined

/** Fetches if the last time is long enough ago; those who come meanwhile wait for the same answer. */
async function refreshed(repo: Repository, request: BaseRequest): Promise<string[]> {
  const { fetch } = request
  if (!fetch) return []
  if (!(await hasRemote(repo, request.remote))) return []
  const { state } = fetch
  if (!state.running && (state.at === undefined || fetch.now - state.at >= fetchEveryMs)) {
    state.at = fetch.now
    const { remote, target, signal } = request
    state.running = fetchTarget(repo, { remote, target, timeoutMs: fetch.timeoutMs, signal }).finally(() => {
      state.running = undefined
    })
    state.failed = await state.running
  } else if (state.running) state.failed = await state.running
  return state.failed === undefined
    ? []
    : [`the target '${request.target}' could not be refreshed from '${request.remote}': ${state.failed}`]
}

async function aheadBehind(
  repo: Git,
  local: string,
  remote: string,
): Promise<{ is: 'counted'; ahead: number; behind: number } | { is: 'unknown'; reason: string }> {
  if (local === remote) return { is: 'counted', ahead: 0, behind: 0 }
  const result = await git(repo, ['rev-list', '--left-right', '--count', `${local}...${remote}`])
  if (result.code !== 0) return { is: 'unknown', reason: reasonOf(result) }
  const [ahead = 0, behind = 0] = result.out.toString('utf8').trim().split(/\s+/).map(Number)
  return { is: 'counted', ahead, behind }
}
