// Making a workspace: worktree, home, copies, ports, setup; and taking back what a failed creation made.

import { type Fact, type TaskName, type TaskSpec } from '../core/event.ts'
import { type Site, type Voice } from './site.ts'

/** From where the task starts (docs/decisions/0018). */
export type Start =
  | { is: 'target' }
  | { is: 'revision'; revision: string }
  /** The ready commits of its dependencies, under `--land never`. */
  | { is: 'dependencies'; commits: { task: TaskName; commit: string }[] }

export type PrepareInput = Site & {
  task: TaskName
  spec: TaskSpec
  start: Start
  /** As claimed: fact `workspace.claimed`. */
  path: string
  branch: string
  home: string
  /** Wall ms of the first claim. */
  since: number
  /** Ports that other live workspaces of this state directory hold. */
  portsTaken: number[]
  /** Ports it had before, to be kept. */
  ports: number[]
  /** Values that must not reach the output of setup commands. */
  secrets: string[]
  /** Names of the call's variables that are passed through. */
  pass: string[]
}

/**
 * Makes the workspace, or finds that it is made. In between it speaks `setup.started`, `setup.exited` and
 * `notice.given`; it returns the end: `workspace.ready`, `workspace.failed` (taken back, except that a failed
 * setup keeps the workspace, so that `berth retry` runs setup again), `workspace.stuck`, or `task.held`.
 */
export async function prepare(_input: PrepareInput, _voice: Voice): Promise<Fact[]> {
  throw new Error('not built')
}
