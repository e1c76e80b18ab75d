// One removal under way: what it knows, and how its steps are spoken.

import { type Fact, type Holder, type TaskName, type TeardownMode, type TeardownStep } from '../core/event.ts'
import { type WorktreeEntry } from '../git/list.ts'
import { type Trash } from './aside.ts'
import { type Asked } from './keep.ts'
import { type Refusal } from './refuse.ts'
import { type RunRecord, type Site, type Voice, type WorkspaceRecord } from './site.ts'

export type TeardownInput = Site & {
  task: TaskName
  mode: TeardownMode
  workspace: WorkspaceRecord
  runs: RunRecord[]
  /** Where `rm` was typed: a removal from inside the worktree is refused. */
  cwd?: string
  /** It was removed before: what is asked for is its branch. */
  gone?: boolean
  /** Recorded by an earlier attempt: fact `workspace.aside`. */
  trash?: string
  /** The last commit that Berth recorded for the branch: work at another tip is never deleted with it. */
  commit?: string
  /** Short name of the branch that its work lands on; empty if unknown, and then no branch is deleted. */
  target: string
  /** Values that must not reach what is kept of the engine's sessions. */
  secrets?: string[]
  /** Awake ms for ending processes, for moving aside, for deleting. */
  killMs?: number
  asideMs?: number
  deleteMs?: number
}

export type Work = {
  input: TeardownInput
  voice: Voice
  /** Facts on their way; all are durable before anything is changed. */
  pending: Promise<void>[]
  step?: TeardownStep
  trash?: Trash
  /** From the marker, where the records do not say. */
  base?: string
  target?: string
  asked: Asked
  /** As git listed them at the beginning. */
  known?: readonly WorktreeEntry[]
  /** Git's own lock of a creation that was cut off: ours to open. */
  halfMade?: boolean
  /** Processes of a person that are named and left alone. */
  named: Holder[]
}

export const beginWork = (input: TeardownInput, voice: Voice): Work => ({
  input,
  voice,
  pending: [],
  asked: new Map(),
  named: [],
})

export function say(work: Work, step: TeardownStep, detail?: string): void {
  const { project, task } = work.input
  const more = detail === undefined ? {} : { detail }
  speak(work, { kind: 'teardown.stepped', project, task, step, ...more })
}

/** Not waited for here: `settle` does that before anything is changed, and there a failure is thrown. */
export function speak(work: Work, fact: Fact): void {
  const spoken = work.voice.onFact(fact)
  spoken.catch(() => undefined)
  work.pending.push(spoken)
}

export function said(work: Work, step: TeardownStep, detail: string): undefined {
  say(work, step, detail)
}

export async function settle(work: Work): Promise<void> {
  const pending = work.pending
  work.pending = []
  await Promise.all(pending)
}

export const refused = ({ input }: Work, refusal: Refusal): Fact => ({
  kind: 'teardown.refused',
  project: input.project,
  task: input.task,
  ...refusal,
})

export const stuck = ({ input }: Work, step: string, reason: string, holders: Holder[]): Fact => ({
  kind: 'workspace.stuck',
  project: input.project,
  task: input.task,
  step,
  reason,
  holders,
})
