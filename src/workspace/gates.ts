// Gates: the commands that must pass on exactly one commit before a task may land.

import { type GatePolicy } from '../core/config.ts'
import { type Fact, type RunId, type TaskName } from '../core/event.ts'
import { type Site, type Voice, type WorkspaceRecord } from './site.ts'

export type VerifyInput = Site & {
  workspace: WorkspaceRecord
  task: TaskName
  commit: string
  gates: GatePolicy[]
  /** Berth committed what the agent left (reasonCode `uncommitted-work`). */
  uncommitted: boolean
  target: string
  run?: RunId
  attempt: number
  secrets: string[]
  pass: string[]
}

/**
 * Effect `verify`: runs the gates in the task's workspace on exactly `commit`. Speaks `gate.started` and
 * `gate.exited`; returns `task.ready`, `task.red` or `task.withdrawn` (HEAD or the worktree is no longer that
 * commit; docs/decisions/0019). Cancelled: returns no fact, and may be asked again.
 */
export async function verify(_input: VerifyInput, _voice: Voice): Promise<Fact[]> {
  throw new Error('not built')
}
