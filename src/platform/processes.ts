// What every system answers in the same way once it can list processes: who belongs together, who holds a path,
// and how a tree is ended.

import { realpathSync } from 'node:fs'
import { BerthError } from '../core/errors.ts'
import {
  type EndOptions,
  type Ended,
  type HolderQuery,
  type Holders,
  type Listener,
  type ProcessInfo,
  type TreeQuery,
} from './platform.ts'
import { type Row, type Table, type Touch, ancestorsIn, isStrayOf, select, tableOf } from './tree.ts'

/** What a system must be able to say. Whatever fails as a whole throws: unknown is never an empty list. */
export type ProcessSource = {
  self: number
  rows(): Row[]
  identity(pid: number): string | undefined
  /** Pids in a job object; empty where there are none. */
  inJob(name: string): ReadonlySet<number>
  /** What each of the processes has under the path, by pid. */
  touches(rows: readonly Row[], within: (path: string) => boolean, cwdOnly: boolean): Map<number, Touch>
  /** Pid to TCP port, of those that listen on one of the ports and can be told. */
  listeners(ports: readonly number[]): Map<number, number>
  /** Whether one path is the other or lies below it, by whole components. */
  isWithin(path: string, root: string): boolean
  /** Asks a process to end; false where the system knows no such thing. */
  ask(row: ProcessInfo): boolean
  /** Ends it now, if it is still the same process. */
  kill(row: ProcessInfo): void
  /** Ends a whole job at once. */
  killJob(name: string): void
  monotonicMs(): number
}

export function makeProcesses(source: ProcessSource) {
  const table = () => tableOf(list(source), source.self)

  const processesOf = (query: TreeQuery): ProcessInfo[] => chosen(source, table(), query).map(infoOf)

  const alive = (pid: number, start: string) => source.identity(pid) === start

  const ancestors = (pid: number) => ancestorsIn(new Map(list(source).map(row => [row.pid, row])), pid)

  function holdersOf(path: string, query: HolderQuery): Holders {
    const unknown: string[] = []
    const everyone = attempt(unknown, () => table()) ?? tableOf([], source.self)
    const ours = chosen(source, everyone, query)
    const mine = new Set(ours.map(row => row.pid))
    const root = realPath(path)
    const within = (candidate: string) => source.isWithin(candidate, root)
    const others = everyone.rows.filter(row => row.pid !== source.self)
    const touches =
      attempt(unknown, () => source.touches(others, within, query.cwdOnly ?? false)) ?? new Map()
    const holders: Holders = {
      ours: ours.map(row => ({ ...infoOf(row), ...touches.get(row.pid) })),
      tied: [],
      unknown,
    }
    for (const [pid, touch] of touches) {
      const row = everyone.byPid.get(pid)
      if (!row || mine.has(pid)) continue
      const stray = !everyone.spared.has(pid) && isStrayOf(everyone, row, query)
      if (stray) holders.ours.push({ ...infoOf(row), ...touch })
      else holders.tied.push({ ...infoOf(row), ...touch })
    }
    return holders
  }

  function listenersOn(ports: readonly number[]): Listener[] {
    const found = attempt([], () => source.listeners(ports)) ?? new Map<number, number>()
    if (found.size === 0) return []
    return list(source).flatMap(row => {
      const port = found.get(row.pid)
      return port === undefined ? [] : [{ ...infoOf(row), port }]
    })
  }

  const endTree = (query: TreeQuery, options: EndOptions) => end(source, query, options)

  return { identity: source.identity, alive, processesOf, ancestors, holdersOf, listenersOn, endTree }
}

function list(source: ProcessSource): Row[] {
  try {
    return source.rows()
  } catch (error) {
    throw new BerthError('failed', `the list of processes cannot be read: ${(error as Error).message}`)
  }
}

const chosen = (source: ProcessSource, table: Table, query: TreeQuery) =>
  select(table, query, query.job === undefined ? undefined : source.inJob(query.job))

/** A copy that may be kept, without what reads the system again. */
const infoOf = (row: Row): ProcessInfo => ({
  pid: row.pid,
  start: row.start,
  ppid: row.ppid,
  pgid: row.pgid,
  session: row.session,
  startedAt: row.startedAt,
  command: row.command(),
  uid: row.uid(),
  state: row.state,
})

function attempt<T>(unknown: string[], probe: () => T): T | undefined {
  try {
    return probe()
  } catch (error) {
    unknown.push((error as Error).message)
    return undefined
  }
}

/** A path that is gone is compared as it was named. */
function realPath(path: string): string {
  try {
    return realpathSync.native(path)
  } catch {
    return path
  }
}

const firstPauseMs = 2
const lastPauseMs = 50

/**
 * Asks, waits the grace, kills, and looks again until nothing is left. Processes that appear meanwhile are asked
 * or killed as well. Signals go to single processes whose identity was read a moment ago, never to a group.
 */
async function end(source: ProcessSource, query: TreeQuery, options: EndOptions): Promise<Ended> {
  const begun = source.monotonicMs()
  const over = (ms: number) => source.monotonicMs() - begun >= ms
  const look = () => chosen(source, tableOf(list(source), source.self), query).map(infoOf)
  const seen = new Map<string, ProcessInfo>()
  const graceMs = Math.min(options.graceMs, options.limitMs)
  let left = look()
  while (left.length > 0 && !over(graceMs) && !options.signal?.aborted) {
    const fresh = left.filter(row => !seen.has(keyOf(row)))
    const asked = fresh.filter(row => source.ask(row))
    for (const row of fresh) seen.set(keyOf(row), row)
    if (fresh.length > 0 && asked.length === 0) break
    await gone(source, left, () => over(graceMs) || (options.signal?.aborted ?? false))
    left = look()
  }
  while (left.length > 0) {
    if (query.job !== undefined) source.killJob(query.job)
    for (const row of left) {
      seen.set(keyOf(row), row)
      source.kill(row)
    }
    const turn = source.monotonicMs()
    await gone(source, left, () => over(options.limitMs) || source.monotonicMs() - turn >= lastPauseMs)
    left = look()
    if (over(options.limitMs)) break
  }
  const living = new Set(left.map(keyOf))
  return { left, ended: [...seen.keys()].filter(key => !living.has(key)).length }
}

const keyOf = ({ pid, start }: ProcessInfo) => `${pid} ${start}`

/** Waits until all of them are dead, or `enough`. Only their own records are read, not the whole list. */
async function gone(
  source: ProcessSource,
  rows: readonly ProcessInfo[],
  enough: () => boolean,
): Promise<void> {
  let pauseMs = firstPauseMs
  while (!enough() && rows.some(row => source.identity(row.pid) === row.start)) {
    await new Promise(resolve => setTimeout(resolve, pauseMs))
    pauseMs = Math.min(pauseMs * 1.5, lastPauseMs)
  }
}
