// Who works in a workspace: ours, to be ended; a person's, to be named; and what could not be found out.

import { type Holder, type TaskName } from '../core/event.ts'
import { type Holders, type Identity, platform, type Tied, type TreeQuery } from '../platform/platform.ts'
import { readSpawn } from '../process/record.ts'
import { holdersFrom, type RunRecord, type Site, workspaceMark } from './site.ts'

export type Occupied = {
  /** To be ended. */
  ours: Identity[]
  oursNamed: Holder[]
  /** A person's, with a file open for writing, or what blocks a rename here: they block removal. */
  blocking: Holder[]
  /** A person's that block nothing: named, never ended. */
  named: Holder[]
  unknown: string[]
}

/** Everything that belongs to the workspace's runs, setup commands and gates: one element of BERTH_RUN, and pids. */
export function treeOf(site: Site, task: TaskName, runs: RunRecord[]): TreeQuery {
  const spawned = runs.flatMap(({ dir }) => {
    const record = readSpawn(dir)
    return record.is === 'spawned' ? [{ pid: record.pid, start: record.start }] : []
  })
  return { marker: workspaceMark(site, task), leaders: spawned }
}

/** One look at all processes. `since`: wall ms at which the workspace was made. */
export function lookAround(
  site: Site,
  request: { task: TaskName; path: string; since: number; runs: RunRecord[] },
): Occupied {
  const found: Holders = platform.holdersOf(request.path, {
    ...treeOf(site, request.task, request.runs),
    since: request.since,
  })
  const blocks = (each: Tied): boolean => platform.name === 'windows' || each.what === 'open-for-writing'
  return {
    ours: found.ours,
    oursNamed: holdersFrom(found.ours, 'ours'),
    blocking: holdersFrom(found.tied.filter(blocks), 'person'),
    named: holdersFrom(
      found.tied.filter(each => !blocks(each)),
      'person',
    ),
    unknown: found.unknown,
  }
}

/** Ends all of ours and looks again until nothing is left, or the limit is met. What is left, named. */
export async function endAll(
  site: Site,
  request: {
    task: TaskName
    path: string
    since: number
    runs: RunRecord[]
    first: Occupied
    limitMs: number
    signal: AbortSignal
  },
): Promise<{ ended: number; left: Holder[]; last: Occupied }> {
  const until = platform.monotonicMs() + request.limitMs
  let last = request.first
  let ended = 0
  while (last.ours.length > 0) {
    const limitMs = until - platform.monotonicMs()
    if (limitMs <= 0) return { ended, left: last.oursNamed, last }
    const graceMs = Math.min(site.policy.graceMs, limitMs)
    const query = { ...treeOf(site, request.task, request.runs), pids: last.ours }
    const done = await platform.endTree(query, { graceMs, limitMs, signal: request.signal })
    ended += done.ended
    if (done.left.length > 0) return { ended, left: holdersFrom(done.left, 'ours'), last }
    last = lookAround(site, request)
  }
  return { ended, left: [], last }
}
