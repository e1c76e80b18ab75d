// What every operation of this room needs to know about where it works, and how it speaks while it does.

import { type ProjectPolicy } from '../core/config.ts'
import { type Fact, type ProjectId, type RunId, type TaskName } from '../core/event.ts'
import { type StatePaths } from '../store/paths.ts'
import { type Environment } from './environment.ts'

export type Repository = {
  commonDir: string
  /** The main worktree, or the bare repository. */
  root: string
  bare: boolean
  gitDir: string
  worktree: string | undefined
  id: ProjectId
}

/** Holds the repository's cross-process lock while `fn` runs (docs/decisions/0037). */
export type RepositoryLock = <T>(commonDir: string, fn: () => Promise<T>) => Promise<T>

/** One repository, as this Berth sees it. */
export type Site = {
  repo: Repository
  lock: RepositoryLock
  state: StatePaths
  stateId: string
  project: ProjectId
  policy: ProjectPolicy
  /**
   * The person's environment: that of the call, or inside a run the recorded one. HOME in it is where the
   * person's own configuration is looked for, never where Berth stores anything.
   */
  caller: Environment
  /** Wall clock, ms since 1970. */
  now: () => number
}

/** What the records say about one workspace (facts `workspace.claimed` and `workspace.ready`). */
export type WorkspaceRecord = {
  task: TaskName
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
