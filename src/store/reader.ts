// The embedded store, for reading alone: beside a live writer or without one, and from the segments when
// the database cannot be read. Writes nothing.

import { join } from 'node:path'
import { statSync } from 'node:fs'
import { type Event, isObservation } from '../core/event.ts'
import { sqliteCode } from './files.ts'
import { type StatePaths } from './paths.ts'
import { pathsOf, wallOf } from './record.ts'
import { schemaOf, schemaVersion } from './schema.ts'
import { printOf } from './seal.ts'
import { lastInSegments, readSegment, segmentNames } from './segments.ts'
import { openDatabase } from './sqlite.ts'
import { type StateId, newer } from './state.ts'
import { type DamageReport, type Query, type Store } from './store.ts'
import { lastReader, select, selectState } from './tables.ts'

type Source = {
  select(query: Query): Iterable<Event>
  state(after: number): Iterable<Event>
  last(): Event | undefined
  close(): void
}

/** How long a read waits for a writer that is just starting or stopping. */
const busyMs = 2_000

/** Opens the store read-only. `damage` then says why the segments are read, and nothing was mended. */
export function openReader(paths: StatePaths, id: StateId): Store {
  const source = chooser(paths)
  const whole = (query: Query): Iterable<Event> => resumable(source, from => from.select, query)
  return {
    id: id.stateId,
    get damage() {
      return source.damage()
    },
    append() {
      throw new Error('the store was opened read-only')
    },
    read: query => whole(query ?? {}),
    state: () => resumable(source, from => query => from.state((query.from ?? 1) - 1), {}),
    last: () => source.ask(from => from.last()),
    changedSince: seq => (source.ask(from => from.last())?.seq ?? 0) > seq,
    reserveUsed: () => false,
    restoreReserve: () => 'no-room',
    close: source.close,
  }
}

type Chooser = {
  current(): Source
  /** Asks the source, and the segments when the database cannot answer. */
  ask<T>(question: (from: Source) => T): T
  giveUp(error: unknown): Source
  damage(): DamageReport | undefined
  close(): void
}

/** The database while it can be read. One that was swapped for another since is opened again. */
function chooser(paths: StatePaths): Chooser {
  const segments = segmentSource(paths.facts)
  let database: { inode: string; source: Source | undefined; why: string } | undefined
  const closeDatabase = () => {
    database?.source?.close()
    database = undefined
  }
  const current = (): Source => {
    const inode = inodeOf(paths.database)
    if (database?.inode !== inode) {
      closeDatabase()
      database = { inode, ...openSource(paths) }
    }
    return database?.source ?? segments
  }
  const giveUp = (error: unknown): Source => {
    if (!isUnreadable(error)) throw error
    database?.source?.close()
    database = { inode: inodeOf(paths.database), source: undefined, why: (error as Error).message }
    return segments
  }
  return {
    current,
    giveUp,
    ask(question) {
      try {
        return question(current())
      } catch (error) {
        return question(giveUp(error))
      }
    },
    damage() {
      current()
      if (database === undefined || database.source !== undefined || database.why === '') return undefined
      return { what: `berth.db: ${database.why}`, kept: paths.database, recovered: 0, missing: '' }
    },
    close: closeDatabase,
  }
}

/** Goes on from the segments, behind the last event given, when the database fails on the way. */
function* resumable(
  source: Chooser,
  ask: (from: Source) => (query: Query) => Iterable<Event>,
  query: Query,
): Iterable<Event> {
  let given = 0
  let seq = 0
  let from = source.current()
  try {
    for (const event of ask(from)(query)) {
      given += 1
      seq = event.seq
      yield event
    }
    return
  } catch (error) {
    from = source.giveUp(error)
  }
  yield* ask(from)(given === 0 ? query : behind(query, seq, given))
}

/** What is left of a query after so many events, the last of them with this seq. */
function behind(query: Query, seq: number, given: number): Query {
  const rest = query.newestFirst === true ? { ...query, to: seq - 1 } : { ...query, from: seq + 1 }
  return query.limit === undefined ? rest : { ...rest, limit: query.limit - given }
}

function openSource(paths: StatePaths): { source: Source | undefined; why: string } {
  // Asked first: a writer commits before it appends, so the database may never be behind what stands here.
  const copied = lastInSegments(paths.facts)
  try {
    const database = openDatabase(paths.database, { readOnly: true, busyMs })
    const schema = schemaOf(database)
    const close = () => database.close()
    if (schema !== schemaVersion) {
      close()
      if (schema > schemaVersion) throw newer(paths.dir, schema)
      // The segments have no older form. A database without tables is one that is being made.
      return { source: undefined, why: '' }
    }
    const last = lastReader(database)
    const source: Source = {
      select: query => select(database, query),
      state: after => selectState(database, after),
      last,
      close,
    }
    const at = last()?.seq ?? 0
    if (at >= copied) return { source, why: '' }
    close()
    return { source: undefined, why: `ends at ${at}, the segments at ${copied}` }
  } catch (error) {
    if (!isUnreadable(error)) throw error
    const there = inodeOf(paths.database) !== ''
    return { source: undefined, why: there ? (error as Error).message : copied > 0 ? 'missing' : '' }
  }
}

/**
 * Everything SQLite says is a reason to read the segments: also that it is busy, or may not recover
 * read-only.
 */
const isUnreadable = (error: unknown): boolean =>
  sqliteCode(error) !== undefined || error instanceof SyntaxError

function inodeOf(file: string): string {
  const stat = statSync(file, { bigint: true, throwIfNoEntry: false })
  return stat === undefined ? '' : `${stat.dev} ${stat.ino}`
}

function segmentSource(dir: string): Source {
  const events = segmentEvents(dir)
  return {
    *select(query) {
      const order = query.newestFirst === true ? events().toReversed() : events()
      let left = query.limit ?? Infinity
      for (const event of order) {
        if (left <= 0) return
        if (!matches(event, query)) continue
        left -= 1
        yield event
      }
    },
    *state(after) {
      for (const event of events()) if (event.seq > after && !isObservation(event)) yield event
    },
    last: () => events().at(-1),
    close() {},
  }
}

/** All events of all segments, in order, each once; read again only when a file has changed. */
function segmentEvents(dir: string): () => Event[] {
  let seen = ''
  let events: Event[] = []
  return () => {
    const names = segmentNames(dir)
    const prints = JSON.stringify(names.map(name => [name, printOf(join(dir, name))]))
    if (prints === seen) return events
    const bySeq = new Map<number, Event>()
    for (const name of names)
      for (const { event } of readSegment(dir, name).kept)
        if (!bySeq.has(event.seq)) bySeq.set(event.seq, event)
    events = [...bySeq.values()].sort((a, b) => a.seq - b.seq)
    seen = prints
    return events
  }
}

function matches(event: Event, query: Query): boolean {
  const field = (name: 'project' | 'task' | 'run') => (event as { [field: string]: unknown })[name]
  return (
    event.seq >= (query.from ?? 1) &&
    event.seq <= (query.to ?? Infinity) &&
    wallOf(event) >= (query.since ?? -Infinity) &&
    wallOf(event) <= (query.until ?? Infinity) &&
    (query.kinds === undefined || query.kinds.includes(event.kind)) &&
    (query.project === undefined || field('project') === query.project) &&
    (query.task === undefined || field('task') === query.task) &&
    (query.run === undefined || field('run') === query.run) &&
    (query.file === undefined || pathsOf(event).includes(query.file))
  )
}
