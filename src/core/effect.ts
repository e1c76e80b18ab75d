// Everything the core may ask of the world. Each is safe to ask twice: a crash may come between doing and recording.

import { type Fact, type ProjectId, type RunId, type TaskName } from './event.ts'

type OfTask = { project: ProjectId; task: TaskName }

/**
 * `key` is unique among effects in flight. `claim` is recorded, durably, before the effect is performed.
 * An effect ends by returning facts; it never throws for what the world can do to it.
 */
export type Effect = { key: string; claim?: Fact } & (
  | ({ do: 'prepare' } & OfTask)
  | ({ do: 'start'; run: RunId } & OfTask)
  | ({ do: 'end'; run: RunId; why: 'stopped' | 'timeout' | 'budget' | 'interrupted' | 'removal' } & OfTask)
  | ({ do: 'collect'; run: RunId } & OfTask)
  | ({ do: 'verify'; commit: string } & OfTask)
  | ({ do: 'integrate'; commit: string } & OfTask)
  | ({ do: 'land'; commit: string; tip: string; merge: string } & OfTask)
  | ({ do: 'teardown' } & OfTask)
)

/** When `decide` wants to be asked again although nothing happened: by either clock, ms. */
export type Deadline = { wall?: number; awake?: number }
