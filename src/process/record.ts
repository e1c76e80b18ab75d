// What a run's folder says about its life: the lock, the spawn, the exit (decisions 38).

import {
  closeSync,
  constants,
  fsyncSync,
  ftruncateSync,
  linkSync,
  openSync,
  readFileSync,
  renameSync,
  unlinkSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import { type Identity, type ProcessInfo, platform } from '../platform/platform.ts'

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
  /** Processes of the run that could not be ended; command lines are redacted. */
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

const files = (runDir: string) => ({
  lock: join(runDir, 'lock.json'),
  spawn: join(runDir, 'spawn.json'),
  exit: join(runDir, 'exit.json'),
  /** Its blocks are taken at the start: an exit can be told on a full disk too. */
  reserve: join(runDir, 'exit.reserve'),
  socket: join(runDir, 'socket'),
})

/** Undefined while the run goes on, its tree is being ended included. */
export function readExit(runDir: string): ExitRecord | undefined {
  const exit = readJson<ExitRecord>(files(runDir).exit)
  return exit?.tree === 'ending' && lockHeld(runDir) ? undefined : exit
}

export function readSpawn(runDir: string): SpawnRecord {
  const spawn = readJson<Written>(files(runDir).spawn)
  // The lock is read after the record: a supervisor that ends in between has written all that it will.
  const held = lockHeld(runDir)
  if (spawn !== undefined) return { ...spawn, lockHeld: held }
  // The lock comes first: whoever has it may be about to spawn.
  return readJson(files(runDir).lock) === undefined ? { is: 'none' } : { is: 'spawning', lockHeld: held }
}

/** Where the supervisor of this run listens; it may be gone. */
export function readSocket(runDir: string): string | undefined {
  try {
    return readFileSync(files(runDir).socket, 'utf8').trim()
  } catch {
    return undefined
  }
}

/** A variant of SpawnRecord as it is written: the lock is a question of the moment. */
type Written =
  | { is: 'spawning' }
  | { is: 'spawned'; pid: number; start: string; at: number; supervisor: Identity }
  | { is: 'failed'; reason: string; missing: boolean }

/**
 * A run is started once, for good: its lock is taken by the first supervisor and never given back. It is held while
 * that supervisor lives. False: somebody was here before.
 */
export function takeRunLock(runDir: string, supervisor: Identity): boolean {
  const { lock } = files(runDir)
  const temp = `${lock}.${supervisor.pid}`
  writeFileSync(temp, JSON.stringify(supervisor), { mode: 0o600 })
  try {
    linkSync(temp, lock)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  } finally {
    unlinkSync(temp)
  }
}

export const writeSpawn = (runDir: string, record: Written): void =>
  replace(files(runDir).spawn, JSON.stringify(record))

export const writeSocket = (runDir: string, path: string): void => replace(files(runDir).socket, `${path}\n`)

const reserveBytes = 65_536

export function reserveExit(runDir: string): void {
  writeFileSync(files(runDir).reserve, Buffer.alloc(reserveBytes, 0x20), { mode: 0o600 })
}

/** Synced. The first call uses the reserve, so that a full disk does not swallow the exit; a later one replaces it. */
export function writeExit(runDir: string, exit: ExitRecord): void {
  const { exit: file, reserve } = files(runDir)
  const text = `${JSON.stringify(exit)}\n`
  const temp = `${file}.new`
  try {
    renameSync(reserve, temp)
  } catch {
    // Used before.
  }
  try {
    overwrite(temp, text)
  } catch (error) {
    // The disk is full and the reserve is used: the record that is there is overwritten where it stands.
    if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error
    return overwrite(file, text)
  }
  renameSync(temp, file)
}

/** Keeps the blocks that the file has: what is too long by now is cut only after it was written. */
function overwrite(file: string, text: string) {
  const bytes = Buffer.from(text)
  const handle = openSync(file, constants.O_RDWR | constants.O_CREAT, 0o600)
  try {
    for (let at = 0; at < bytes.length;) at += writeSync(handle, bytes, at, bytes.length - at, at)
    ftruncateSync(handle, bytes.length)
    fsyncSync(handle)
  } finally {
    closeSync(handle)
  }
}

function lockHeld(runDir: string): boolean {
  const holder = readJson<Identity>(files(runDir).lock)
  return holder !== undefined && platform.alive(holder.pid, holder.start)
}

function replace(file: string, text: string) {
  writeFileSync(`${file}.new`, text, { mode: 0o600 })
  renameSync(`${file}.new`, file)
}

/** Undefined if there is no such file; files here are always replaced whole. */
function readJson<T>(file: string): T | undefined {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '')) return undefined
    throw error
  }
  return JSON.parse(text) as T
}
