// Removing a workspace: ten steps, each recorded and verified, each safe to do twice (docs/what-it-deletes.md).

import { type Fact, type TaskName, type TeardownMode } from '../core/event.ts'
import { type RunRecord, type Site, type Voice, type WorkspaceRecord } from './site.ts'

export type TeardownInput = Site & {
  task: TaskName
  mode: TeardownMode
  workspace: WorkspaceRecord
  runs: RunRecord[]
  /** Where `rm` was typed: a removal from inside the worktree is refused. */
  cwd?: string
  /** Recorded by an earlier attempt: fact `workspace.aside`. */
  trash?: string
  /** The last commit that Berth recorded for the branch, if any: another tip keeps the branch. */
  commit?: string
  target: string
  /** Kept 10 minutes at most for steps that wait. */
  killMs?: number
  deleteMs?: number
}

/**
 * Goes on from wherever an earlier attempt stopped: what is already gone counts as done. Speaks
 * `teardown.stepped`, `work.saved`, `workspace.aside`, `branch.deleted` or `branch.kept`; returns
 * `teardown.refused` (nothing changed), `workspace.stuck` (the entry stays) or `workspace.removed` (verified).
 * A caller that waits for no deletion may answer once `teardown.stepped {step: 'unregister'}` was spoken.
 */
export async function teardown(_input: TeardownInput, _voice: Voice): Promise<Fact[]> {
  throw new Error('not built')
}
