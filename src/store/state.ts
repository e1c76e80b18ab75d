// The state directory as a whole: whether this Berth may use it, and its id.

import { type StatePaths } from './paths.ts'

export type StateId = { stateId: string; schema: number; madeAt: number }

export type StateOptions = { isNetworkFileSystem?: (path: string) => boolean } & (
  | { readOnly: true }
  | { readOnly?: false; now: () => number; newId: () => string }
)

/**
 * Checks the state directory and makes it with its id if it is new; read-only it makes nothing. Throws BerthError
 * `state-newer` (written by a newer Berth), `state-network` (docs/decisions/0036), `state-read-only`, `disk-full`, and
 * read-only also `not-found` (nothing was ever recorded there).
 */
export function openState(dir: string, options: StateOptions): { id: StateId; paths: StatePaths } {
  throw new Error(`not built yet: ${dir} ${String(options.readOnly)}`)
}
