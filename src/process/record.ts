// What a run's folder says about its life: the lock, the spawn, the exit (decisions 38).

import { type Identity, type ProcessInfo } from '../platform/platform.ts'

export type SpawnRecord =
  | { is: 'none' }
  /** Without `spawned` and without a live lock: unknown. Hunt by marker, close the attempt as lost. */
  | { is: 'spawning'; lockHeld: boolean }
  | { is: 'spawned'; pid: number; start: string; at: number; supervisor: Identity; lockHeld: boolean }
  /** There was no program, or the system refused. */
  | { is: 'failed'; reason: string; missing: boolean; lockHeld: boolean }

export type ExitRecord = {
  code: number | null
  signal: string | null
  /** ms since 1970. */
  endedAt: number
  spawned: Identity & { at: number }
  /** `ending`: the supervisor died while it ended the tree; whoever reads this must end it. */
  tree: 'ending' | 'ended'
  /** Processes of the run that could not be ended. */
  left: ProcessInfo[]
  /** Processes ended after the agent. */
  ended: number
  /** Somebody asked for the end. */
  asked: 'stop' | 'force' | null
  /** Bytes of output that were not kept. */
  dropped: number
  /** Where the output ends. */
  bytes: number
  /** Why logging ended before the agent did (a full disk). */
  logEnded: string | null
}

/** Undefined while the run goes on, its tree is being ended included. */
export declare function readExit(runDir: string): ExitRecord | undefined
export declare function readSpawn(runDir: string): SpawnRecord
