// The driver port: SQLite in the shape of node:sqlite. Loaded at first use, so that whoever needs no store
// pays nothing.

import { createRequire } from 'node:module'

export type SqlValue = null | number | bigint | string | Uint8Array
export type Row = { [column: string]: SqlValue }

export type Statement = {
  run(...values: SqlValue[]): { changes: number | bigint; lastInsertRowid: number | bigint }
  get(...values: SqlValue[]): Row | undefined
  all(...values: SqlValue[]): Row[]
  iterate(...values: SqlValue[]): IterableIterator<Row>
}

export type Database = {
  exec(sql: string): void
  prepare(sql: string): Statement
  close(): void
}

type Driver = { DatabaseSync: new (file: string, options: { readOnly: boolean }) => Database }

let driver: Driver | undefined

/**
 * Loads the driver: Node's own where it is good (22.13 and newer), else the prebuilt package. `near` is a
 * file or URL beside whose node_modules the package is looked for; a copy of Berth's code that lies
 * elsewhere names the original.
 */
export function loadSqlite(near: string = import.meta.url): Driver {
  driver ??= ownIsGood()
    ? quietly(() => createRequire(near)('node:sqlite'))
    : createRequire(near)('@photostructure/sqlite')
  return driver as Driver
}

/** Opens `file`. A statement waits at most `busyMs`, blocking, for another process. */
export function openDatabase(file: string, options: { readOnly?: boolean; busyMs: number }): Database {
  const { DatabaseSync } = loadSqlite()
  const database = new DatabaseSync(file, { readOnly: options.readOnly === true })
  database.exec(`pragma busy_timeout = ${options.busyMs}`)
  return ownIsGood() ? database : withCodes(database)
}

/** Runs `fn` inside a write transaction: all of it, or after a throw nothing of it. */
export function transaction<T>(database: Database, fn: () => T): T {
  database.exec('begin immediate')
  try {
    const result = fn()
    database.exec('commit')
    return result
  } catch (error) {
    rollback(database)
    throw error
  }
}

/**
 * The package's `all` and `iterate` throw SQLite's words without its number (1.2.1), by which errors are told apart
 * everywhere else: it is put back.
 */
function withCodes(database: Database): Database {
  return {
    exec: sql => database.exec(sql),
    close: () => database.close(),
    prepare(sql) {
      const statement = database.prepare(sql)
      return {
        run: (...values) => statement.run(...values),
        get: (...values) => statement.get(...values),
        all: (...values) => coded(() => statement.all(...values)),
        *iterate(...values) {
          const rows = coded(() => statement.iterate(...values))
          for (;;) {
            const step = coded(() => rows.next())
            if (step.done === true) return
            yield step.value
          }
        },
      }
    },
  }
}

/** SQLite's words (sqlite3_errstr) for what these two may meet. An input error while reading is a damaged file. */
const codes: { [words: string]: number } = {
  'database is locked': 5,
  'attempt to write a readonly database': 8,
  'disk I/O error': 266,
  'database disk image is malformed': 11,
  'database or disk is full': 13,
  'unable to open database file': 14,
  'file is not a database': 26,
}

function coded<T>(work: () => T): T {
  try {
    return work()
  } catch (error) {
    const failure = error as { code?: string; message?: string; errcode?: number }
    if (failure.code === 'ERR_SQLITE_ERROR') failure.errcode ??= codes[failure.message ?? ''] ?? 1
    throw error
  }
}

function rollback(database: Database): void {
  try {
    database.exec('rollback')
  } catch {
    // SQLite has already rolled back by itself: after a full disk, for one.
  }
}

function ownIsGood(): boolean {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
  return major > 22 || (major === 22 && minor >= 13)
}

/** Node 22 warns on stderr that its SQLite is experimental: not news to the person who runs Berth. */
function quietly(load: () => Driver): Driver {
  const warn = process.emitWarning
  process.emitWarning = () => {}
  try {
    return load()
  } finally {
    process.emitWarning = warn
  }
}
