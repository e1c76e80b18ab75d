// What the parts of the imperative shell share: built once by daemon.ts and handed to each.

import { type ProjectId, type RunId, type TaskName } from '../core/event.ts'
import { type Fleet } from '../core/fleet.ts'
import { type Task } from '../core/task.ts'
import { type StatePaths } from '../store/paths.ts'
import { type Store } from '../store/store.ts'
import { type Environment } from '../workspace/environment.ts'
import { type Installation } from './installation.ts'
import { type Loop } from './loop.ts'
import { type Watch } from './observe.ts'
import { type Calls } from './calls.ts'
import { type Looks } from './looks.ts'
import { type Passed } from './passed.ts'
import { type Repositories } from './repositories.ts'
import { type Spares } from './spares.ts'
import { type Turns } from './turns.ts'
import { type Tokens } from './token.ts'

export type Clock = {
  /** ms since 1970. */
  wall(): number
  /** ms that the host was awake, continued over restarts (docs/decisions/0026). */
  awake(): number
}

export type Shell = {
  stateId: string
  paths: StatePaths
  /** Of the process that hosts the loop. */
  env: Environment
  host: string
  windows: boolean
  /** Where sockets and temp folders of runs go: `<runtime dir>`. */
  runtimeDir: string
  /** `<runtime dir>/berth-<8 hex of state id>`. */
  socketDir: string
  clock: Clock
  uuid: () => string
  installation: Installation
  supervisorFile: string
  binDir: string
  tokens: Tokens
  passed: Passed
  calls: Calls
  looks: Looks
  repositories: Repositories
  store: Store
  loop: Loop
  watch: Watch
  spares: Spares
  turns: Turns
  /** A person stops the loop and all runs with it: who waits for one learns that, and not how it rests. */
  stopping: boolean
  /** Runs whose call was interrupted twice: they are killed at once. */
  forced: Set<RunId>
  /** Where a removal was typed: a removal from inside the worktree is refused. */
  typedAt: Map<string, string>
  /** Questions that a program waits for at this moment. */
  asking: Set<string>
  /** Aborted when this loop ends: what is under way stops and is done again by the next. */
  ended: AbortSignal
}

export const fleetOf = (shell: Shell): Fleet => shell.loop.fleet()

export const taskOf = (shell: Shell, of: { project: ProjectId; task: TaskName }): Task | undefined =>
  fleetOf(shell).tasks.get(`${of.project}/${of.task}`)

export const markerOf = (shell: { stateId: string }, run: RunId): string => `${shell.stateId}:${run}`

export type OfTask = { project: ProjectId; task: TaskName }
export type OfRun = OfTask & { run: RunId }
