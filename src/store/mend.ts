// The start of a writer: is the database sound, do the segments agree with it, and if not, each is mended
// from the other.

import { closeSync, existsSync, fsyncSync, openSync, readFileSync, renameSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { type Repair, type Report, openRepair, reports } from './damage.ts'
import { removeIfThere, sizeIfThere, sqliteCode, syncDir } from './files.ts'
import { type StatePaths } from './paths.ts'
import { keptOf } from './record.ts'
import { migrate, schemaOf, schemaVersion } from './schema.ts'
import { type Seal, printOf, readSeal, samePrint } from './seal.ts'
import {
  type SegmentsFound,
  inspectSegments,
  readSegment,
  rewriteSegments,
  segmentNames,
} from './segments.ts'
import { type Database, openDatabase, transaction } from './sqlite.ts'
import { newer } from './state.ts'
import { type DamageReport } from './store.ts'
import { gapsOf, hasGaps, inserter, select, selectLines } from './tables.ts'

/**
 * What a writer starts from: a sound database in its newest schema, and segments that hold a prefix of it.
 */
export type Mended = {
  database: Database
  /** Of the segments that are whole. */
  sealed: Seal['segments']
  /** The last seq of the segments: what comes after it in the database is to be appended to them. */
  segmentsLast: number
  /** The next seq to give out. */
  next: number
  damage: DamageReport | undefined
  /** The schema the database had. */
  schemaBefore: number
}

const busyMs = 5_000

/**
 * Opens the database for writing, whatever happened to it and to the segments. Done twice, it does nothing
 * more.
 */
export function openMended(paths: StatePaths, now: () => number): Mended {
  let repair: Repair | undefined = reports(paths.damaged).some(({ done }) => !done)
    ? openRepair(paths.damaged, now())
    : undefined
  const repairing = () => (repair ??= openRepair(paths.damaged, now()))

  if (existsSync(rebuilt(paths))) swap(paths, repairing())
  const seal = readSeal(paths.sealed)
  const segments = inspectSegments(paths.facts, seal)
  const wal = walBytes(paths.database)
  let found = check(paths.database, seal)
  if (segments.faults.length > 0) keepSegments(paths, segments, repairing())
  if (found.is === 'unsound') {
    if (segments.last > 0 || found.kept) found = rebuild(paths, found, repairing())
    else found = create(paths.database)
  }
  const { database, trusted, schemaBefore } = found
  const taken = trusted && segments.last <= lastSeq(database) ? 0 : takeLost(database, paths, segments)
  if (taken > 0) {
    if (wal !== undefined) repairing().keep('berth.db-wal', wal)
    repairing().say(`berth.db: ${taken} facts lost`)
    repairing().report.recovered += taken
  }
  let sealed = segments.clean
  let segmentsLast = segments.last
  if (segments.damagedFrom !== undefined) {
    sealed = rewriteSegments(paths.facts, segments, selectLines(database, segments.damagedFrom.seq))
    segmentsLast = lastSeq(database)
  }
  if (repair !== undefined) finish(repair, database, segments)
  const told = reports(paths.damaged)
  const highest = told.reduce((high, report) => Math.max(high, report.highest), lastSeq(database))
  return { database, sealed, segmentsLast, next: highest + 1, damage: untold(told, database), schemaBefore }
}

/** Whether SQLite says that the file is not what it wrote: corrupt, no database, unreadable or too short. */
export function isDamage(error: unknown): boolean {
  const full = (error as { errcode?: number } | null)?.errcode
  return (
    sqliteCode(error) === corrupt ||
    sqliteCode(error) === notADatabase ||
    full === ioRead ||
    full === ioShortRead
  )
}

const corrupt = 11
const notADatabase = 26
const ioRead = 266
const ioShortRead = 522
/** To a statement of ours this says that a table is not there. */
const sqlError = 1

type Sound = { is: 'sound'; database: Database; trusted: boolean; schemaBefore: number }
type Checked = Sound | { is: 'unsound'; reason: string; /** There are bytes to keep. */ kept: boolean }

function check(file: string, seal: Seal): Checked {
  const size = sizeIfThere(file)
  const rest = (sizeIfThere(`${file}-wal`) ?? 0) > 0
  if (size === undefined || (size === 0 && !rest))
    return { is: 'unsound', reason: size === 0 ? 'empty' : 'missing', kept: rest }
  const trusted = !rest && samePrint(printOf(file), seal.database)
  let database: Database | undefined
  try {
    database = openDatabase(file, { busyMs })
    const schema = schemaOf(database)
    if (schema > schemaVersion) throw newer(dirname(file), schema)
    const reason = schema === 0 ? emptiness(database) : trusted ? undefined : faultOf(database)
    if (reason === undefined) {
      const schemaBefore = migrate(database)
      lastSeq(database)
      return { is: 'sound', database, trusted, schemaBefore }
    }
    database.close()
    return { is: 'unsound', reason, kept: reason !== emptyReason }
  } catch (error) {
    database?.close()
    if (!isDamage(error) && sqliteCode(error) !== sqlError) throw error
    return { is: 'unsound', reason: (error as Error).message, kept: true }
  }
}

const emptyReason = 'no tables'

/** A first start that was cut short leaves a database without tables. */
const emptiness = (database: Database): string =>
  Number(database.prepare('select count(*) as n from sqlite_schema').get()?.['n']) === 0
    ? emptyReason
    : 'its schema is lost'

/** Rows whose text is looked at: all state facts, and this many of the newest. */
const textChecked = 10_000

function faultOf(database: Database): string | undefined {
  const [result] = database.prepare('pragma quick_check(1)').all()
  const words = String(result?.['quick_check'] ?? 'no answer')
  if (words !== 'ok') return words.replaceAll(/\s*\n\s*/g, ' ')
  const wrong = database
    .prepare(
      `select seq from facts where (state = 1 or seq > (select max(seq) from facts) - ${textChecked})
         and case when json_valid(body) then json_extract(body, '$.seq') is not seq else 1 end limit 1`,
    )
    .get()
  return wrong === undefined ? undefined : `fact ${String(wrong['seq'])} is not what was written`
}

function create(file: string): Sound {
  for (const name of files(file)) removeIfThere(name)
  closeSync(openSync(file, 'a', 0o600))
  const database = openDatabase(file, { busyMs })
  migrate(database)
  return { is: 'sound', database, trusted: true, schemaBefore: schemaVersion }
}

/**
 * Builds a new database from the segments and from what can still be read of the old one, then swaps the
 * two.
 */
function rebuild(paths: StatePaths, unsound: { reason: string }, repair: Repair): Sound {
  repair.say(`berth.db: ${unsound.reason}`)
  repair.write()
  const part = `${paths.database}.part`
  for (const name of files(part)) removeIfThere(name)
  closeSync(openSync(part, 'a', 0o600))
  const database = openDatabase(part, { busyMs })
  // No journal: a crash on the way leaves a part that the next start throws away.
  database.exec('pragma journal_mode = off; pragma synchronous = off')
  migrate(database)
  takeSegments(database, paths.facts)
  takeReadable(database, paths.database)
  repair.report.recovered += countOf(database)
  database.close()
  sync(part)
  renameSync(part, rebuilt(paths))
  syncDir(paths.dir)
  swap(paths, repair)
  return {
    is: 'sound',
    database: openDatabase(paths.database, { busyMs }),
    trusted: true,
    schemaBefore: schemaVersion,
  }
}

/** Whole and synced once it has this name: then it replaces the database, also after a crash. */
const rebuilt = (paths: StatePaths): string => `${paths.database}.new`

function swap(paths: StatePaths, repair: Repair): void {
  for (const name of files(paths.database)) repair.move(name)
  renameSync(rebuilt(paths), paths.database)
  syncDir(paths.dir)
}

function takeSegments(database: Database, dir: string): void {
  const insert = inserter(database, 'ifMissing')
  for (const name of segmentNames(dir)) {
    const { kept } = readSegment(dir, name)
    transaction(database, () => kept.forEach(insert))
  }
}

/** From the front until something cannot be read, then from the back. */
function takeReadable(database: Database, damaged: string): void {
  if (sizeIfThere(damaged) === undefined) return
  const insert = inserter(database, 'ifMissing')
  let old: Database | undefined
  try {
    old = openDatabase(damaged, { readOnly: true, busyMs })
    for (const down of [false, true]) takeInOrder(old, down, insert)
  } catch {
    // Nothing of it can be read: the segments are what there is.
  } finally {
    old?.close()
  }
}

function takeInOrder(old: Database, down: boolean, insert: ReturnType<typeof inserter>): void {
  const next = old.prepare(
    down
      ? 'select seq, body from facts where seq < ? order by seq desc limit 1'
      : 'select seq, body from facts where seq > ? order by seq limit 1',
  )
  let cursor = down ? Number.MAX_SAFE_INTEGER : 0
  try {
    for (;;) {
      const row = next.get(cursor)
      if (row === undefined) return
      const kept = keptOf(String(row['body']))
      cursor = Number(row['seq'])
      if (kept !== undefined && kept.event.seq === cursor) insert(kept)
    }
  } catch (error) {
    if (!isDamage(error)) throw error
  }
}

/** Takes over what the segments have and the database lacks. Returns how many facts that was. */
function takeLost(database: Database, paths: StatePaths, segments: SegmentsFound): number {
  if (segments.last <= lastSeq(database) && !hasGaps(database)) return 0
  const before = countOf(database)
  takeSegments(database, paths.facts)
  return countOf(database) - before
}

function keepSegments(paths: StatePaths, segments: SegmentsFound, repair: Repair): void {
  for (const fault of segments.faults) repair.say(fault)
  repair.report.highest = Math.max(repair.report.highest, segments.highest)
  for (const name of segments.damaged) repair.copy(join(paths.facts, name))
  repair.write()
}

function finish(repair: Repair, database: Database, segments: SegmentsFound): void {
  const { report } = repair
  report.highest = Math.max(report.highest, segments.highest, lastSeq(database))
  const healed = segments.damagedFrom
  if (healed !== undefined && report.recovered === 0)
    report.recovered = Math.max(0, countOf(database, healed.seq) - healed.intact)
  report.missing = wordsOf(gapsOf(database, report.highest))
  report.done = true
  repair.write()
}

/** The newest report that no fact `store.damaged` tells of. */
function untold(told: Report[], database: Database): DamageReport | undefined {
  if (told.length === 0) return undefined
  const recorded = new Set(
    [...select(database, { kinds: ['store.damaged'] })].map(event =>
      event.kind === 'store.damaged' ? basename(event.kept) : '',
    ),
  )
  const report = told.findLast(({ kept, done }) => done && !recorded.has(basename(kept)))
  return (
    report && { what: report.what, kept: report.kept, recovered: report.recovered, missing: report.missing }
  )
}

function wordsOf(gaps: { from: number; to: number }[]): string {
  if (gaps.length === 0) return 'nothing'
  const words = gaps.slice(0, 20).map(({ from, to }) => (from === to ? `${from}` : `${from}-${to}`))
  return `facts ${words.join(', ')}${gaps.length > 20 ? ` and ${gaps.length - 20} more ranges` : ''}`
}

/** Kept in memory until it is known whether anything of it was lost: opening the database empties it. */
function walBytes(file: string): Uint8Array | undefined {
  return (sizeIfThere(`${file}-wal`) ?? 0) > 0 ? readFileSync(`${file}-wal`) : undefined
}

const files = (database: string): string[] => ['', '-wal', '-shm', '-journal'].map(end => `${database}${end}`)

export const lastSeq = (database: Database): number =>
  Number(database.prepare('select max(seq) as last from facts').get()?.['last'] ?? 0)

const countOf = (database: Database, after = 0): number =>
  Number(database.prepare('select count(*) as n from facts where seq > ?').get(after)?.['n'])

function sync(file: string): void {
  const fd = openSync(file, 'r+')
  try {
    fsyncSync(fd)
  } finally {
    closeSync(fd)
  }
}
