// What every operation of this room needs to know about where it works, and how it speaks while it does.

import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { BerthError } from '../core/errors.ts'
import { type ProjectPolicy } from '../core/config.ts'
import { type Fact, type Holder, type ProjectId, type RunId, type TaskName } from '../core/event.ts'
import { type Repository } from '../git/open.ts'
import { type FetchState } from '../git/target.ts'
import { type RepositoryLock } from '../git/worktree.ts'
import { type ProcessInfo, type Tie, type Tied } from '../platform/platform.ts'
import { privateDir } from '../store/files.ts'
import { takeLock } from '../store/lock.ts'
import { type StatePaths } from '../store/paths.ts'
import { type Environment } from './environment.ts'
import { type PersonGit } from './home.ts'

/** One repository, as this Berth sees it. */
export type Site = {
  repo: Repository
  lock: RepositoryLock
  state: StatePaths
  stateId: string
  /** `<runtime dir>/berth-<8 hex of the state id>`: temp folders of runs lie in it (docs/decisions/0004). */
  runtimeDir: string
  project: ProjectId
  policy: ProjectPolicy
  /**
   * The person's environment: that of the call, or inside a run the recorded one. HOME in it is where the
   * person's own configuration is looked for, never where Berth stores anything.
   */
  caller: Environment
  person: Person
  /** Variables of all engines that hold a place or another account: never inherited. */
  engineNames: string[]
  /** Kept by the caller between preparations, so that a fetch is made at most once a minute. */
  fetchState: FetchState
  /** Wall clock, ms since 1970. */
  now: () => number
}

/** What of the person's own set-up a task's environment needs; read once per call (home.ts `readPerson`). */
export type Person = { git: PersonGit; toolHomes: { [name: string]: string } }

/** What the records say about one workspace (facts `workspace.claimed` and `workspace.ready`). */
export type WorkspaceRecord = {
  path: string
  branch: string
  home: string
  /** Known once it is ready. */
  base?: string
  ports: number[]
  /** Wall ms of the claim: a process that started before it never counts as ours by place alone. */
  since: number
}

/** How an effect of this room speaks while it works. */
export type Voice = {
  /** Cancels: the tree of a running command is ended first. */
  signal: AbortSignal
  /** Durable before it resolves. */
  onFact: (fact: Fact) => Promise<void>
}

/** A run of the task, for finding and ending its processes. */
export type RunRecord = { run: RunId; dir: string; live: boolean }

/** Lies in git's own entry of the worktree: invisible to status, gone with the entry (case 33). */
export type Marker = {
  stateId: string
  project: ProjectId
  task: TaskName
  path: string
  branch: string | null
  base: string
  baseRule: string
  /** Short name of the branch that its work lands on. */
  target: string
  /** Wall ms. */
  madeAt: number
}

export type FoundMarker =
  | { is: 'marker'; marker: Marker }
  | { is: 'none' }
  | { is: 'unreadable'; reason: string }

export const markerText = (marker: Marker): string => `${JSON.stringify(marker)}\n`

/** The marker in a git entry. What cannot be read proves nothing. */
export async function readMarker(entryDir: string): Promise<FoundMarker> {
  let text: string
  try {
    text = await readFile(join(entryDir, 'berth.json'), 'utf8')
  } catch (error) {
    const code = (error as { code?: string }).code
    return code === 'ENOENT' || code === 'ENOTDIR'
      ? { is: 'none' }
      : { is: 'unreadable', reason: String(error) }
  }
  try {
    const value = JSON.parse(text) as Partial<Marker>
    const whole = [value.stateId, value.project, value.task, value.path, value.base].every(
      each => typeof each === 'string',
    )
    return whole ? { is: 'marker', marker: value as Marker } : { is: 'unreadable', reason: 'it is not whole' }
  } catch {
    return { is: 'unreadable', reason: 'it is not JSON' }
  }
}

/**
 * One id for all processes of a workspace, shaped as a run id and put before the run's own in BERTH_RUN: setup
 * commands, gates and every run carry it, so that removal finds what any of them left behind.
 */
export function workspaceId(project: ProjectId, task: TaskName): string {
  const hex = digest(`${project}/${task}`, 32)
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-')
}

export const workspaceMark = (site: Pick<Site, 'stateId' | 'project'>, task: TaskName): string =>
  `${site.stateId}:${workspaceId(site.project, task)}`

/** How the temp folders of a task begin: those that a killed Berth left behind are found by it. */
export const tempPrefix = (site: Pick<Site, 'project'>, task: TaskName): string =>
  `t-${workspaceId(site.project, task).slice(0, 8)}-`

/** The temp folder of a run, a setup command or a gate of a task. */
export const tempOf = (
  site: Pick<Site, 'runtimeDir' | 'project'>,
  { task, id }: { task: TaskName; id: string },
): string => join(site.runtimeDir, `${tempPrefix(site, task)}${id.slice(0, 8)}`)

/** Of a branch, as people name it. */
export const shortName = (ref: string): string => ref.replace(/^refs\/heads\//, '')

/** Where a task's work lands: the local branch, or what was last fetched of the remote's. */
export const targetRef = ({ policy, target }: Pick<Site, 'policy'> & { target: string }): string =>
  policy.mode === 'local'
    ? `refs/heads/${shortName(target)}`
    : `refs/remotes/${policy.remote}/${shortName(target)}`

/** What setup copied into a workspace, with digests (copies.ts). Agents cannot reach it. */
export const ledgerOf = (site: Pick<Site, 'state' | 'project'>, task: TaskName): string =>
  join(site.state.private, 'ledgers', site.project, `${task}.json`)

/** Where the whole output of setup commands and gates is kept. */
export const outputOf = (site: Pick<Site, 'state' | 'project'>, task: TaskName, name: string): string =>
  join(
    site.state.runs,
    `${site.project}-${task}`,
    `${name.replace(/[^A-Za-z0-9._-]+/g, '-').slice(0, 60)}.log`,
  )

/** Of the managed root. */
export const trashOf = (root: string): string => join(root, '.trash')

/** First `length` hex digits of the SHA-256. */
export const digest = (text: string, length: number): string =>
  createHash('sha256').update(text).digest('hex').slice(0, length)

/** The repository's lock over all Berths of this machine (docs/decisions/0037). Waits `waitMs`, then `git-busy`. */
export const makeRepositoryLock =
  (waitMs: number): RepositoryLock =>
  async (commonDir, fn) => {
    const lock = await takeLock(join(privateDir(join(commonDir, 'berth')), 'lock.db'), { waitMs })
    if (lock === undefined)
      throw new BerthError(
        'git-busy',
        `another Berth holds the lock of '${commonDir}'`,
        'berth daemon status',
      )
    try {
      return await fn()
    } finally {
      lock.release()
    }
  }

/** Processes as the facts name them. */
export const holdersFrom = (processes: (ProcessInfo | Tied)[], whose: Holder['whose']): Holder[] =>
  processes.map(each => ({
    pid: each.pid,
    command: each.command.slice(0, 200),
    ...(each.startedAt === undefined ? {} : { startedAt: each.startedAt }),
    whose,
    what: 'what' in each && each.what !== undefined ? `${ties[each.what]} ${each.path}` : 'process',
  }))

const ties: { [tie in Tie]: string } = {
  cwd: 'works in',
  open: 'has open',
  'open-for-writing': 'writes to',
}

/** An error in one line, for a fact. */
export const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

export const hintOf = (error: unknown): { hint: string } | object =>
  error instanceof BerthError && error.hint !== undefined ? { hint: error.hint } : {}
