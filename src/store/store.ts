// The store's interface: what every backend offers, and the way in to the embedded one.

import { type Event, type Fact, type ProjectId, type RunId, type TaskName } from '../core/event.ts'
import { storageError } from './files.ts'
import { openReader } from './reader.ts'
import { openState } from './state.ts'
import { openWriter } from './writer.ts'

/** What to read. All given conditions must hold; order is by `seq`. */
export type Query = {
  /** Sequence numbers, both included. */
  from?: number
  to?: number
  /** Wall clock, ms since 1970, both included. */
  since?: number
  until?: number
  kinds?: readonly Fact['kind'][]
  project?: ProjectId
  task?: TaskName
  run?: RunId
  /**
   * A path as the facts name it: `file.changed` (also what it was renamed from), `tool.called`,
   * `trespass.seen`.
   */
  file?: string
  limit?: number
  newestFirst?: boolean
}

/** The fields of the fact `store.damaged`, which the daemon records. */
export type DamageReport = { what: string; kept: string; recovered: number; missing: string }

/** A fact to append; `because` is the seq of the fact that led to it. */
export type NewFact = Fact & { because?: number }

export type Store = {
  /** The state id. */
  readonly id: string
  /**
   * Records the batch, whole or not at all. With a state fact in it, it is synced when this returns.
   * Returns the facts with their stamps. Throws BerthError `disk-full` or `state-read-only`; then nothing
   * was recorded.
   */
  append(facts: readonly NewFact[], stamp: { at: number; awake: number }): Event[]
  /** Facts in order of `seq`. A read that is under way also gives what is appended meanwhile. */
  read(query?: Query): Iterable<Event>
  /** The state facts alone, oldest first: what a replay folds. */
  state(): Iterable<Event>
  last(): { seq: number; at: number; awake: number } | undefined
  /** Whether anything was recorded after `seq`. Cheap enough to ask on each tick. */
  changedSince(seq: number): boolean
  /** Damage that was found and mended and that no fact `store.damaged` tells of yet. */
  readonly damage: DamageReport | undefined
  /** The disk was full and the reserve has been given up to go on: close admission. */
  reserveUsed(): boolean
  /** Makes the reserve again if there is room; says whether it is there. */
  restoreReserve(): 'there' | 'no-room'
  close(): void
}

export type OpenOptions = {
  /** Wall clock, ms since 1970. */
  now: () => number
  /** Stamped on every fact. */
  host: string
  isNetworkFileSystem?: (path: string) => boolean
} & ({ readOnly: true } | { readOnly?: false; /** A fresh UUID. */ newId: () => string })

/**
 * Opens the store in the state directory `dir`. The caller holds the loop's lock unless `readOnly`.
 * Read-only works beside a live writer and without one, never writes, and reads the segments if the
 * database is damaged. Throws BerthError `state-newer`, `state-network`, `state-read-only`, `disk-full`,
 * `not-found` (read-only, no state).
 */
export function openStore(dir: string, options: OpenOptions): Store {
  const network = options.isNetworkFileSystem && { isNetworkFileSystem: options.isNetworkFileSystem }
  if (options.readOnly === true) {
    const { id, paths } = openState(dir, { readOnly: true, ...network })
    return openReader(paths, id)
  }
  const { id, paths } = openState(dir, { now: options.now, newId: options.newId, ...network })
  try {
    return openWriter(paths, id, options)
  } catch (error) {
    throw storageError(error, paths.dir)
  }
}
