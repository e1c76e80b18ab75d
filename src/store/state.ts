// The state directory as a whole: whether this Berth may use it, and its id.

import { accessSync, constants, existsSync, readdirSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { BerthError } from '../core/errors.ts'
import { shellWord } from '../core/shellword.ts'
import {
  atomicWrite,
  exclusiveCreate,
  nearestFolder,
  privateDir,
  readIfThere,
  storageError,
} from './files.ts'
import { type StatePaths, statePaths } from './paths.ts'
import { schemaVersion } from './schema.ts'

/** `schema`: of database and segments; a newer one is refused, every older one is read. */
export type StateId = { stateId: string; schema: number; madeAt: number }

export type StateOptions = { isNetworkFileSystem?: (path: string) => boolean } & (
  | { readOnly: true }
  | { readOnly?: false; now: () => number; newId: () => string }
)

/**
 * Checks the state directory and makes it with its id if it is new; read-only it makes nothing. Throws
 * BerthError `state-newer` (written by a newer Berth), `state-network` (docs/decisions/0036),
 * `path-refused` (a folder of something else), `state-read-only`, `disk-full`, and read-only also
 * `not-found` (nothing was ever recorded there).
 */
export function openState(dir: string, options: StateOptions): { id: StateId; paths: StatePaths } {
  const paths = statePaths(resolve(dir))
  if (options.isNetworkFileSystem?.(nearestFolder(paths.dir)) === true)
    throw new BerthError(
      'state-network',
      `'${paths.dir}' is on a network file system`,
      'export BERTH_STATE_DIR=/some/local/folder',
    )
  const found = readId(paths)
  if (found !== undefined && found.schema > schemaVersion) throw newer(paths.dir, found.schema)
  if (options.readOnly === true) {
    if (found === undefined)
      throw new BerthError('not-found', `nothing was ever recorded in '${paths.dir}'`, 'berth run')
    return { id: found, paths }
  }
  if (found === undefined) refuseForeign(paths.dir)
  try {
    for (const made of [paths.dir, paths.facts, paths.private]) privateDir(made)
    accessSync(paths.dir, constants.W_OK)
  } catch (error) {
    throw storageError(error, paths.dir)
  }
  if (found !== undefined) return { id: found, paths }
  return {
    id: firstId(paths, { stateId: options.newId(), schema: schemaVersion, madeAt: options.now() }),
    paths,
  }
}

/** The id of a new state directory: of several Berths that make it in the same moment, that of the first. */
function firstId(paths: StatePaths, id: StateId): StateId {
  if (exclusiveCreate(idCopy(paths), textOf(id)) === 'exists') {
    const theirs = readId(paths)
    if (theirs !== undefined) return theirs
  }
  writeId(paths, id)
  return id
}

/** Throws `path-refused` or `state-read-only` where `openState` would because of the place, and makes nothing. */
export function requireWritable(dir: string): void {
  const paths = statePaths(resolve(dir))
  if (readId(paths) === undefined) refuseForeign(paths.dir)
  try {
    accessSync(nearestFolder(paths.dir), constants.W_OK)
  } catch (error) {
    throw storageError(error, paths.dir)
  }
}

/**
 * Says in the state directory which schema it has now. Twice, so that one damaged file does not cost the
 * identity.
 */
export function writeId(paths: StatePaths, id: StateId): void {
  const text = textOf(id)
  atomicWrite(idCopy(paths), text)
  atomicWrite(paths.id, text)
}

const textOf = (id: StateId): string => `${JSON.stringify(id)}\n`

export const newer = (dir: string, schema: number): BerthError =>
  new BerthError(
    'state-newer',
    `'${dir}' was written by a newer berth (schema ${schema}, this one knows ${schemaVersion})`,
    'npm install -g berth@latest',
  )

function readId(paths: StatePaths): StateId | undefined {
  return [paths.id, idCopy(paths)].map(parseId).find(id => id !== undefined)
}

function parseId(file: string): StateId | undefined {
  const bytes = readIfThere(file)
  if (bytes === undefined) return undefined
  try {
    const id = JSON.parse(bytes.toString()) as StateId | null
    return typeof id?.stateId === 'string' && Number.isInteger(id.schema) ? id : undefined
  } catch {
    return undefined
  }
}

const idCopy = (paths: StatePaths): string => join(paths.private, 'id.json')

/** Everything Berth itself puts into a state directory, and what file systems put at their root. */
const ownNames = [
  /^(id\.json|berth\.db.*|sealed\.json|lock\.db.*|daemon\..*|reserve|facts|damaged|private|runs|homes)$/,
  /^(supervisor|empty-hooks|bin|worktrees|lost\+found|\..*\.tmp)$/,
]

/** A folder with other things in it is not made private and filled with ours. */
function refuseForeign(dir: string): void {
  if (!existsSync(dir)) return
  const foreign = readdirSync(dir).find(name => !ownNames.some(own => own.test(name)))
  if (foreign !== undefined)
    throw new BerthError(
      'path-refused',
      `'${dir}' is no state directory: it holds '${foreign}'`,
      `export BERTH_STATE_DIR=${shellWord(join(dir, 'berth'))}`,
    )
}
