// Everything the core may ask of the world. Each is safe to ask twice: a crash may come between doing and recording.

import { type Fact, type ProjectId, type RunId, type TaskName, type TeardownMode } from './event.ts'

type OfTask = { project: ProjectId; task: TaskName }

/**
 * `key` is unique among effects in flight. `claim` is recorded, durably, before the effect is performed.
 * An effect ends by returning facts; it never throws for what the world can do to it.
 */
export type Effect = { key: string; claim?: Fact } &
  /** Ends with `workspace.ready`, `.failed` or `.stuck`, or with `task.held` and nothing made. */
  (
    | ({ do: 'prepare' } & OfTask)
    /**
     * `adopt`: nothing may be spawned now; find out whether it was. Ends with `run.started`, `run.exited`, or
     * `run.lost` (reason `never-started` if nothing was spawned).
     */
    | ({ do: 'start'; run: RunId; adopt: boolean } & OfTask)
    /** Ends with `run.exited` or `run.lost`, also for a run that was claimed and never started. */
    | ({ do: 'end'; run: RunId; why: EndWhy } & OfTask)
    /** Ends with `run.collected`. */
    | ({ do: 'collect'; run: RunId } & OfTask)
    /** Ends with `task.ready` or `task.red`. */
    | ({ do: 'verify'; commit: string } & OfTask)
    /** Ends with `landing.tested`, `landing.failed`, or `landing.landed` if it is in the target already. */
    | ({
        do: 'integrate'
        commit: string
        /** A person let its protected paths pass. */ approved: boolean
      } & OfTask)
    /** Ends with `landing.landed` or `landing.failed`. */
    | ({ do: 'land'; commit: string; tip: string; merge: string } & OfTask)
    /** Ends with `workspace.removed`, `workspace.stuck` or `teardown.refused`. */
    | ({ do: 'teardown'; mode: TeardownMode } & OfTask)
  )

export type EndWhy = 'stopped' | 'timeout' | 'budget' | 'interrupted' | 'removal'

/** When `decide` wants to be asked again although nothing happened: by either clock, ms. */
export type Deadline = { wall?: number; awake?: number }
