// The SQL over the embedded tables: rows in, events out. Nothing else knows the columns.

import { type Event, isObservation } from '../core/event.ts'
import { type Kept, pathsOf, wallOf } from './record.ts'
import { type Database, type Row, type SqlValue } from './sqlite.ts'
import { type Query } from './store.ts'

/** Rows fetched at once: no statement stays open between two of them. */
const pageRows = 1000

export type Inserter = (kept: Kept) => void

/** Inserts a record; `ifMissing` keeps the one that has its seq already. */
export function inserter(database: Database, how: 'new' | 'ifMissing'): Inserter {
  const or = how === 'new' ? '' : 'or ignore '
  const fact = database.prepare(
    `insert ${or}into facts (seq, at, kind, project, task, run, state, body) values (?, ?, ?, ?, ?, ?, ?, ?)`,
  )
  const path = database.prepare('insert or ignore into fact_paths (path, seq) values (?, ?)')
  return ({ event, line }) => {
    const state = isObservation(event) ? 0 : 1
    fact.run(
      event.seq,
      wallOf(event),
      event.kind,
      name(event, 'project'),
      name(event, 'task'),
      name(event, 'run'),
      state,
      line,
    )
    for (const file of pathsOf(event)) path.run(file, event.seq)
  }
}

/** Reads by pages; each starts after the last event given, so that writing may go on meanwhile. */
export function* select(database: Database, query: Query): Iterable<Event> {
  const { sql, values } = statementOf(query)
  const statement = database.prepare(sql)
  const down = query.newestFirst === true
  const [first, last] = rangeOf(database, query)
  let cursor = down ? last + 1 : first - 1
  let left = query.limit ?? Infinity
  while (left > 0) {
    const rows = Math.min(left, pageRows)
    const page = statement.all(...values, cursor, rows).map(eventOf)
    yield* page
    if (page.length < rows) return
    cursor = page.at(-1)?.seq ?? cursor
    left -= page.length
  }
}

/** Every state fact after `cursor`, in order. */
export function* selectState(database: Database, cursor = 0): Iterable<Event> {
  const statement = database.prepare(
    'select body from facts where state = 1 and seq > ? order by seq limit ?',
  )
  for (;;) {
    const page = statement.all(cursor, pageRows).map(eventOf)
    yield* page
    if (page.length < pageRows) return
    cursor = page.at(-1)?.seq ?? cursor
  }
}

/** The text of every fact after `cursor`, in order. */
export function* selectLines(database: Database, cursor: number): Iterable<{ seq: number; line: string }> {
  const statement = database.prepare('select seq, body from facts where seq > ? order by seq limit ?')
  for (;;) {
    const page = statement
      .all(cursor, pageRows)
      .map(row => ({ seq: Number(row['seq']), line: String(row['body']) }))
    yield* page
    if (page.length < pageRows) return
    cursor = page.at(-1)?.seq ?? cursor
  }
}

export function lastReader(database: Database): () => Event | undefined {
  const statement = database.prepare('select body from facts order by seq desc limit 1')
  return () => {
    const row = statement.get()
    return row && eventOf(row)
  }
}

const eventOf = (row: Row): Event => JSON.parse(String(row['body'])) as Event

/** Whether a number from 1 to the last is neither there nor trimmed: by counting, so that it is cheap. */
export function hasGaps(database: Database): boolean {
  const row = database.prepare('select count(*) as n, max(seq) as last from facts').get()
  const trimmed = trimmedOf(database).reduce((sum, { from, to }) => sum + to - from + 1, 0)
  return Number(row?.['n'] ?? 0) + trimmed < Number(row?.['last'] ?? 0)
}

/** Ranges of seq from 1 to `highest` that no row has, but for those that `log.trimmed` accounts for. */
export function gapsOf(database: Database, highest: number): Range[] {
  const last = Number(database.prepare('select max(seq) as last from facts').get()?.['last'] ?? 0)
  const gaps = database
    .prepare(
      `select before + 1 as "from", seq - 1 as "to" from (
         select seq, lag(seq, 1, 0) over (order by seq) as before from facts) where seq > before + 1`,
    )
    .all()
    .map(row => ({ from: Number(row['from']), to: Number(row['to']) }))
  if (highest > last) gaps.push({ from: last + 1, to: highest })
  return trimmedOf(database).reduce((left, cut) => left.flatMap(gap => without(gap, cut)), gaps)
}

type Range = { from: number; to: number }

const trimmedOf = (database: Database): Range[] =>
  [...select(database, { kinds: ['log.trimmed'] })].filter(event => event.kind === 'log.trimmed')

function without(gap: Range, cut: Range): Range[] {
  if (cut.to < gap.from || cut.from > gap.to) return [gap]
  return [
    { from: gap.from, to: cut.from - 1 },
    { from: cut.to + 1, to: gap.to },
  ].filter(({ from, to }) => from <= to)
}

/** Between which numbers the query can find anything. By time exactly, once: the clock may have gone back. */
function rangeOf(database: Database, query: Query): [number, number] {
  const edge = (sql: string, at: number) => database.prepare(sql).get(at)?.['seq'] ?? undefined
  const since =
    query.since === undefined
      ? 1
      : edge('select min(seq) as seq from facts indexed by facts_at where at >= ?', query.since)
  const until =
    query.until === undefined
      ? lastPossible
      : edge('select max(seq) as seq from facts indexed by facts_at where at <= ?', query.until)
  const first = Math.max(query.from ?? 1, Number(since ?? lastPossible))
  return [first, Math.min(query.to ?? lastPossible, Number(until ?? 0))]
}

const lastPossible = Number.MAX_SAFE_INTEGER - 1

/** The statement of a query. Its last two values are where the page begins and how many rows it may have. */
function statementOf(query: Query): { sql: string; values: SqlValue[] } {
  const down = query.newestFirst === true
  const conditions: [string, SqlValue][] = []
  const add = (sql: string, value: SqlValue | undefined) =>
    value !== undefined && conditions.push([sql, value])
  add('p.path = ?', query.file)
  add('f.task = ?', query.task)
  add('f.run = ?', query.run)
  add('f.project = ?', query.project)
  add('f.at >= ?', query.since)
  add('f.at <= ?', query.until)
  add(down ? 'f.seq >= ?' : 'f.seq <= ?', down ? query.from : query.to)
  const values = conditions.map(([, value]) => value)
  const where = conditions.map(([sql]) => sql)
  if (query.kinds !== undefined) {
    // The index by kind has the state facts alone: observations are so many that a scan soon meets one.
    // Beside a task, a run or a file it is no help: the plus keeps it out.
    const narrow = query.task !== undefined || query.run !== undefined || query.file !== undefined
    if (!narrow && query.kinds.every(isStateKind)) where.push('f.state = 1')
    where.push(`${narrow ? '+' : ''}f.kind in (${query.kinds.map(() => '?').join(', ')})`)
    values.push(...query.kinds)
  }
  // The path index is in order of seq: it leads, and the page ends where it has enough.
  const order = query.file === undefined ? 'f.seq' : 'p.seq'
  const from = query.file === undefined ? 'facts f' : 'fact_paths p cross join facts f on f.seq = p.seq'
  where.push(`${order} ${down ? '<' : '>'} ?`)
  const rows = `select f.body from ${from} where ${where.join(' and ')}`
  return { sql: `${rows} order by ${order} ${down ? 'desc' : 'asc'} limit ?`, values }
}

const isStateKind = (kind: Event['kind']): boolean => !isObservation({ kind } as Event)

function name(event: Event, field: 'project' | 'task' | 'run'): string | null {
  const value = (event as { [field: string]: unknown })[field]
  return typeof value === 'string' ? value : null
}
