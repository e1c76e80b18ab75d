// Locks between processes: an exclusive SQLite transaction held open. The system frees it the moment its
// holder dies.

import { statSync, truncateSync, writeFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  exclusiveCreate,
  privateDir,
  readIfThere,
  removeIfThere,
  sizeIfThere,
  sqliteCode,
  storageError,
} from './files.ts'
import { type Database, openDatabase } from './sqlite.ts'

export type Lock = { release(): void }

/** Who holds a lock, as the holder wrote it down: for messages only, it decides nothing. */
export type LockHolder = { pid: number; what?: string; since?: number }

const pollMaxMs = 25
const sqliteBusy = 5
const sqliteNotADatabase = 26

/**
 * Takes the lock `file` (made if missing), or gives undefined when it is still held after `waitMs`, or when
 * `signal` comes first. Waiters of one process queue in order and do not poll. Nobody else may open `file`:
 * closing any other handle to it would free the lock of this process. Throws BerthError `state-read-only`
 * or `disk-full` when the file cannot be made.
 */
export async function takeLock(
  file: string,
  options: { waitMs: number; signal?: AbortSignal; holder?: LockHolder },
): Promise<Lock | undefined> {
  const path = resolve(file)
  const deadline = AbortSignal.any([
    AbortSignal.timeout(options.waitMs),
    ...(options.signal ? [options.signal] : []),
  ])
  const leaveQueue = await enterQueue(path, options.waitMs > 0 ? deadline : AbortSignal.abort())
  if (leaveQueue === undefined) return undefined
  try {
    const database = await begin(path, deadline)
    if (database === undefined) {
      leaveQueue()
      return undefined
    }
    if (options.holder !== undefined) note(path, options.holder)
    return held(path, database, leaveQueue)
  } catch (error) {
    leaveQueue()
    throw storageError(error, path)
  }
}

/** Who holds `file`, or undefined when nobody left a note. After a crash the note is the dead holder's. */
export function lockHolder(file: string): LockHolder | undefined {
  try {
    const bytes = readIfThere(noteOf(resolve(file)))
    return bytes === undefined ? undefined : (JSON.parse(bytes.toString()) as LockHolder)
  } catch {
    return undefined
  }
}

function held(path: string, database: Database, leaveQueue: () => void): Lock {
  let released = false
  return {
    release() {
      if (released) return
      released = true
      try {
        removeIfThere(noteOf(path))
      } catch {
        // Only a note: a folder that has become read-only must not keep the lock held.
      }
      database.close()
      leaveQueue()
    },
  }
}

/** A file that was taken away while it was waited for locks nobody out: then the new one is waited for. */
async function begin(path: string, deadline: AbortSignal): Promise<Database | undefined> {
  for (;;) {
    const began = await beginOn(path, deadline)
    if (began === undefined || fileAt(path) === began.file) return began?.database
    began.database.close()
  }
}

/** Which file lies at a path; undefined where there is none. */
function fileAt(path: string): string | undefined {
  const stats = statSync(path, { bigint: true, throwIfNoEntry: false })
  return stats && `${stats.dev}:${stats.ino}`
}

async function beginOn(
  path: string,
  deadline: AbortSignal,
): Promise<{ database: Database; file: string | undefined } | undefined> {
  if (sizeIfThere(path) === undefined) {
    if (sizeIfThere(dirname(path)) === undefined) privateDir(dirname(path))
    exclusiveCreate(path, '')
  }
  const file = fileAt(path)
  const database = openDatabase(path, { busyMs: 0 })
  try {
    for (let pauseMs = 1; ; pauseMs = Math.min(pauseMs * 2, pollMaxMs)) {
      if (beginOnce(path, database)) return { database, file }
      if (deadline.aborted) break
      await sleep(pauseMs)
    }
  } catch (error) {
    database.close()
    throw error
  }
  database.close()
  return undefined
}

function beginOnce(path: string, database: Database): boolean {
  try {
    database.exec('begin exclusive')
    return true
  } catch (error) {
    if (sqliteCode(error) === sqliteBusy) return false
    if (sqliteCode(error) !== sqliteNotADatabase) throw error
    // Something was written into the lock's file, which never holds data. The holder's lock is not of its
    // content.
    truncateSync(path, 0)
    return false
  }
}

function note(path: string, holder: LockHolder): void {
  try {
    writeFileSync(noteOf(path), `${JSON.stringify(holder)}\n`, { mode: 0o600 })
  } catch {
    // For messages only.
  }
}

const noteOf = (path: string): string => `${path}.holder`

/** Per lock of this process: those who wait for their turn. The key is there while somebody has the turn. */
const queues = new Map<string, (() => void)[]>()

async function enterQueue(path: string, deadline: AbortSignal): Promise<(() => void) | undefined> {
  const queue = queues.get(path)
  if (queue === undefined) queues.set(path, [])
  else if (!(await turnComes(queue, deadline))) return undefined
  return () => {
    const next = queues.get(path)?.shift()
    if (next === undefined) queues.delete(path)
    else next()
  }
}

function turnComes(queue: (() => void)[], deadline: AbortSignal): Promise<boolean> {
  if (deadline.aborted) return Promise.resolve(false)
  return new Promise(resolve => {
    const turn = () => {
      deadline.removeEventListener('abort', giveUp)
      resolve(true)
    }
    const giveUp = () => {
      queue.splice(queue.indexOf(turn), 1)
      resolve(false)
    }
    deadline.addEventListener('abort', giveUp, { once: true })
    queue.push(turn)
  })
}
