// Which processes belong together, decided over one list of all of them: pure, the same on every system.

import { type HolderQuery, type Identity, type ProcessInfo, type Tie, type TreeQuery } from './platform.ts'

/** One row of the system's list, with what only the decision needs. */
export type Row = Omit<ProcessInfo, 'command' | 'uid'> & {
  /** The controlling terminal; 0 for none. */
  tty: number
  // Asked for only where they matter: each costs a read of its own.
  command(): string
  uid(): number | undefined
  /** Entries that end in a zero; undefined if they cannot be read. */
  environment(): string | undefined
}

/** What a look at the files of one process found under a path. */
export type Touch = { what: Tie; path: string }

export type Table = {
  rows: readonly Row[]
  byPid: ReadonlyMap<number, Row>
  /** Never ours: this process and its ancestors. */
  spared: ReadonlySet<number>
}

/** `self` and its ancestors are spared (safety.md, law 6), and so is everything up to pid 1. */
export function tableOf(rows: readonly Row[], self: number): Table {
  const byPid = new Map(rows.map(row => [row.pid, row]))
  const spared = new Set([self, ...ancestorsIn(byPid, self)])
  return { rows: rows.filter(row => row.pid > 1), byPid, spared }
}

/** Nearest first, without pids up to 1. */
export function ancestorsIn(byPid: ReadonlyMap<number, { ppid: number }>, pid: number): number[] {
  const found: number[] = []
  let next = byPid.get(pid)?.ppid
  while (next !== undefined && next > 1 && !found.includes(next)) {
    found.push(next)
    next = byPid.get(next)?.ppid
  }
  return found
}

/** The union of all that the query names, and every descendant. */
export function select(table: Table, query: TreeQuery, inJob: ReadonlySet<number> = new Set()): Row[] {
  const roots = table.rows.filter(
    row => inJob.has(row.pid) || isNamed(table, row, query) || isMarked(row, query),
  )
  const gathered = (query.under ?? []).filter(identity => isAlive(table, identity)).map(({ pid }) => pid)
  const chosen = descendantsOf(table, [...roots.map(row => row.pid), ...gathered])
  for (const row of roots) chosen.add(row.pid)
  return table.rows.filter(row => chosen.has(row.pid) && !table.spared.has(row.pid))
}

/** Elements are compared whole: one run's id may begin with another's (decisions 1). */
export function hasMarker(environment: string, marker: string): boolean {
  if (!environment.includes(marker)) return false
  const entries = environment.split('\0').filter(entry => entry.startsWith('BERTH_RUN='))
  return entries.some(entry => entry.slice(10).split(',').includes(marker))
}

/**
 * Whether a process that only touches the path is ours (decisions 5, (a) and (b)): it started after the workspace
 * was made, and is in a session that Berth made (those are selected already) or is an orphan without a terminal
 * and without a display.
 */
export function isStrayOf(table: Table, row: Row, query: HolderQuery): boolean {
  if (query.since === undefined || row.startedAt === undefined) return false
  // Start times are exact to a second; before `since` there was no such path to stand in.
  if (row.startedAt + 1000 <= query.since) return false
  if (!isOrphan(table, row)) return false
  const family = [row, ...[...descendantsOf(table, [row.pid])].flatMap(pid => table.byPid.get(pid) ?? [])]
  if (family.some(member => member.tty !== 0 || table.spared.has(member.pid))) return false
  const environment = row.environment()
  if (environment === undefined) return false
  return !/(^|\0)(WAYLAND_)?DISPLAY=/.test(environment)
}

export function descendantsOf(table: Table, pids: readonly number[]): Set<number> {
  const children = childrenOf(table.rows)
  const found = new Set<number>()
  const next = [...pids]
  for (let pid = next.pop(); pid !== undefined; pid = next.pop()) {
    for (const child of children.get(pid) ?? []) {
      if (found.has(child.pid)) continue
      found.add(child.pid)
      next.push(child.pid)
    }
  }
  return found
}

export const isAlive = (table: Table, { pid, start }: Identity): boolean =>
  table.byPid.get(pid)?.start === start

function isNamed(table: Table, row: Row, query: TreeQuery): boolean {
  if (query.pids?.some(({ pid, start }) => row.pid === pid && row.start === start)) return true
  return query.leaders?.some(leader => isLedBy(table, row, leader)) ?? false
}

/**
 * While a member of a session lives, the system does not give its number away. So a living process with that number
 * and another start means that the session was gone before, and what stands there now is a stranger's.
 */
function isLedBy(table: Table, row: Row, { pid, start }: Identity): boolean {
  if (pid <= 1 || (row.session !== pid && row.pgid !== pid)) return false
  const leader = table.byPid.get(pid)
  return leader === undefined || leader.start === start
}

function isMarked(row: Row, { marker }: TreeQuery): boolean {
  if (marker === undefined) return false
  const environment = row.environment()
  return environment !== undefined && hasMarker(environment, marker)
}

function isOrphan(table: Table, row: Row): boolean {
  if (row.ppid <= 1) return true
  const parent = table.byPid.get(row.ppid)
  return parent !== undefined && /(^|\/)systemd --user\b/.test(parent.command())
}

function childrenOf(rows: readonly Row[]): Map<number, Row[]> {
  const children = new Map<number, Row[]>()
  for (const row of rows) {
    const siblings = children.get(row.ppid)
    if (siblings) siblings.push(row)
    else children.set(row.ppid, [row])
  }
  return children
}
