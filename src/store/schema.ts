// The schema of the embedded database, and the way from every older one to it.

import { type Database, transaction } from './sqlite.ts'

/**
 * One step: from the schema before it to its own. Never edited once released; its result is kept as a
 * fixture.
 */
export type Migration = (database: Database) => void

const migrations: readonly Migration[] = [
  // 1: facts, and which files they speak of. `body` is the whole event, as in the segments.
  database =>
    database.exec(`
      create table facts (
        seq integer primary key,
        at integer not null,
        kind text not null,
        project text,
        task text,
        run text,
        state integer not null,
        body text not null
      ) strict;
      create index facts_state on facts (seq) where state = 1;
      create index facts_task on facts (task, project) where task is not null;
      create index facts_run on facts (run) where run is not null;
      create index facts_kind on facts (kind) where state = 1;
      create index facts_at on facts (at);
      create table fact_paths (
        path text not null,
        seq integer not null,
        primary key (path, seq)
      ) strict, without rowid;
    `),
]

/** The schema this Berth writes. */
export const schemaVersion = migrations.length

/** The schema of an open database; 0 is an empty one. */
export function schemaOf(database: Database): number {
  return Number(database.prepare('pragma user_version').get()?.['user_version'] ?? 0)
}

/**
 * Brings the database to the newest schema, each step whole or not at all. Returns the schema it came from.
 */
export function migrate(database: Database, steps: readonly Migration[] = migrations): number {
  const from = schemaOf(database)
  for (let version = from; version < steps.length; version++) {
    transaction(database, () => {
      steps[version]?.(database)
      database.exec(`pragma user_version = ${version + 1}`)
    })
  }
  return from
}
