// The embedded store, for writing: commits to SQLite, then appends the same facts to the segments.

import { join } from 'node:path'
import { BerthError } from '../core/errors.ts'
import { type Event, isObservation } from '../core/event.ts'
import { isFull, makeReserve, releaseReserve, removeIfThere, storageError } from './files.ts'
import { isDamage, openMended } from './mend.ts'
import { type StatePaths } from './paths.ts'
import { lineOf, stamped } from './record.ts'
import { schemaVersion } from './schema.ts'
import { type Seal, printOf, writeSeal } from './seal.ts'
import { type SegmentWriter, openSegments, segmentNames } from './segments.ts'
import { type Database, transaction } from './sqlite.ts'
import { type StateId, writeId } from './state.ts'
import { type NewFact, type Store } from './store.ts'
import { inserter, lastReader, select, selectLines, selectState } from './tables.ts'

/** Opens the store for writing and mends what is damaged. The caller holds the loop's lock. */
export function openWriter(
  paths: StatePaths,
  id: StateId,
  options: { now: () => number; host: string },
): Store {
  const { database, sealed, segmentsLast, next, damage, schemaBefore } = openMended(paths, options.now)
  database.exec('pragma journal_mode = wal; pragma synchronous = normal; pragma journal_size_limit = 4194304')
  if (schemaBefore !== schemaVersion || id.schema !== schemaVersion)
    writeId(paths, { ...id, schema: schemaVersion })
  const copies = openCopies(paths, database, sealed, segmentsLast)
  const commit = committer(paths, database)
  const last = lastReader(database)
  let sound = true
  const orDamaged = (error: unknown): unknown => {
    if (!isDamage(error) && !(error instanceof SyntaxError)) return error
    sound = false
    return unseal(paths, error)
  }
  let nextSeq = next
  let reserve = makeReserve(paths.reserve)
  const giveUpReserve = () => {
    reserve = 'no-room'
    return releaseReserve(paths.reserve) === 'released'
  }

  return {
    id: id.stateId,
    damage,
    append(facts: readonly NewFact[], stamp) {
      const events = facts.map((fact, index) =>
        stamped(fact, { seq: nextSeq + index, ...stamp, host: options.host }),
      )
      if (events.length === 0) return []
      const lines = events.map(lineOf)
      guarded(() => withReserve(() => commit(events, lines), giveUpReserve), orDamaged)
      nextSeq += events.length
      copies.append(lines, nextSeq - 1, giveUpReserve)
      return events
    },
    read: query => guardedEach(select(database, query ?? {}), orDamaged),
    state: () => guardedEach(selectState(database), orDamaged),
    last: () => guarded(last, orDamaged),
    changedSince: seq => nextSeq - 1 > seq,
    reserveUsed: () => reserve === 'no-room',
    restoreReserve: () => (reserve = makeReserve(paths.reserve)),
    close: () => closeInOrder(paths, database, copies, () => sound),
  }
}

/** Writes one batch in one transaction, synced if it has a state fact. */
function committer(paths: StatePaths, database: Database): (events: Event[], lines: string[]) => void {
  const insert = inserter(database, 'new')
  let synced = false
  return (events, lines) => {
    const durable = events.some(event => !isObservation(event))
    try {
      if (durable !== synced) database.exec(`pragma synchronous = ${durable ? 'full' : 'normal'}`)
      synced = durable
      transaction(database, () =>
        events.forEach((event, index) => insert({ event, line: lines[index] ?? '' })),
      )
    } catch (error) {
      throw storageError(error, paths.database)
    }
  }
}

/** Tries again once on the room that the reserve gives. */
function withReserve(work: () => void, giveUpReserve: () => boolean): void {
  try {
    work()
  } catch (error) {
    const full = isFull(error) || (error instanceof BerthError && error.code === 'disk-full')
    if (!full || !giveUpReserve()) throw error
    work()
  }
}

/** Lines written at once when the segments are behind. */
const catchUpLines = 1000

type Copies = {
  /**
   * Never throws: the facts are safe in the database, and what is missing here is appended with the next
   * batch.
   */
  append(lines: string[], last: number, giveUpReserve: () => boolean): void
  /** Brings the segments up to the database; then their seals are as given back. */
  close(): Seal['segments']
}

function openCopies(
  paths: StatePaths,
  database: Database,
  sealed: Seal['segments'],
  segmentsLast: number,
): Copies {
  const seals = { ...sealed }
  let written = segmentsLast
  const seal = (name: string, last: number) => {
    const print = printOf(join(paths.facts, name))
    if (print !== undefined) seals[name] = { ...print, last }
  }
  const writer: SegmentWriter = openSegments(paths.facts, (name, last) => {
    seal(name, last)
    writeSeal(paths.sealed, { segments: seals })
  })
  const catchUp = () => {
    let page: string[] = []
    let last = written
    const flush = () => {
      if (page.length > 0) writer.append(page, last)
      written = last
      page = []
    }
    for (const { seq, line } of selectLines(database, written)) {
      page.push(line)
      last = seq
      if (page.length === catchUpLines) flush()
    }
    flush()
  }
  catchUp()
  return {
    append(lines, last, giveUpReserve) {
      try {
        withReserve(() => {
          if (written < last - lines.length) return catchUp()
          writer.append(lines, last)
          written = last
        }, giveUpReserve)
      } catch {
        // Behind, and brought up later: at the next batch, at the close, or at the next start.
      }
    },
    close() {
      try {
        catchUp()
      } catch {
        // The next start does it.
      }
      writer.close()
      const name = segmentNames(paths.facts).at(-1)
      if (name !== undefined) seal(name, written)
      return seals
    },
  }
}

/**
 * Leaves one plain database file behind that readers open without making files of their own, and seals it: unless
 * damage was seen.
 */
function closeInOrder(paths: StatePaths, database: Database, copies: Copies, sound: () => boolean): void {
  const segments = copies.close()
  try {
    database.exec('pragma busy_timeout = 100; pragma wal_checkpoint(truncate); pragma journal_mode = delete')
  } catch {
    // A reader is in the middle of it: the log stays, and the next start checks.
  }
  database.close()
  try {
    const print = sound() ? printOf(paths.database) : undefined
    writeSeal(paths.sealed, { segments, ...(print && { database: print }) })
  } catch {
    // Without a seal the next start checks everything.
  }
}

function guarded<T>(work: () => T, orDamaged: (error: unknown) => unknown): T {
  try {
    return work()
  } catch (error) {
    throw orDamaged(error)
  }
}

function* guardedEach<T>(events: Iterable<T>, orDamaged: (error: unknown) => unknown): Iterable<T> {
  try {
    yield* events
  } catch (error) {
    throw orDamaged(error)
  }
}

/** Damage that shows only now: whatever the seal says, the next start must check. */
function unseal(paths: StatePaths, error: unknown): BerthError {
  removeIfThere(paths.sealed)
  const hint = 'berth daemon stop && berth ls'
  return new BerthError('state-damaged', `'${paths.database}': ${(error as Error).message}`, hint)
}
