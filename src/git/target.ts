// The target branch and the base of a task: asked, not guessed; the rule that decided is returned.

import { type Repository } from './open.ts'

export type TargetRule = 'config' | 'remote-head' | 'ls-remote' | 'current-branch'

export type FoundTarget =
  | { is: 'target'; branch: string; rule: TargetRule; notices: string[] }
  | { is: 'missing'; what: string; hint: string }

/** What a caller keeps per repository between fetches: at most one a minute (docs/decisions/0017). */
export type FetchState = { at?: number; failed?: string; running?: Promise<string | undefined> }

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

/** The branch that tasks land on: configured, else the remote's HEAD, else asked of the remote, else current. */
export async function findTarget(
  repo: Repository,
  policy: { target: string | null; remote: string; timeoutMs?: number; signal?: AbortSignal },
): Promise<FoundTarget> {
  throw new Error(`not built: ${repo.dir} ${policy.remote}`)
}

/** The commit that a task starts from (docs/decisions/0018). */
export async function resolveBase(repo: Repository, request: BaseRequest): Promise<FoundBase> {
  throw new Error(`not built: ${repo.dir} ${request.target}`)
}

/** Brings the remote-tracking branch up to date. Returns why not, if not. */
export async function fetchTarget(
  repo: Repository,
  request: { target: string; remote: string; timeoutMs: number; signal?: AbortSignal },
): Promise<string | undefined> {
  throw new Error(`not built: ${repo.dir} ${request.target}`)
}

export type TargetMove =
  | { is: 'same' }
  | { is: 'forward'; tip: string; commits: number }
  /** The new tip does not contain the old: `left` are the commits that are gone from it, at most 20. */
  | { is: 'rewritten'; tip: string; left: string[] }
  | { is: 'gone' }
  | { is: 'unknown'; reason: string }

/** What became of a target since it was at `was` (docs/decisions/0022). */
export async function targetMove(repo: Repository, request: { target: string; was: string }): Promise<TargetMove> {
  throw new Error(`not built: ${repo.dir} ${request.target}`)
}
