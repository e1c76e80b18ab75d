// What a reader can tell although no loop has recorded it: runs that ended, and a host that restarted, meanwhile.

import { type Event, type Fact } from '../core/event.ts'
import { type Fleet, apply, liveTasks } from '../core/fleet.ts'
import { restartedFacts } from '../core/restart.ts'
import { liveRun } from '../core/task.ts'
import { platform } from '../platform/platform.ts'
import { readExit, readSpawn } from '../process/record.ts'

/** Folds it into a fleet in memory; nothing is recorded. `runDir`: where the records of a run lie. */
export function foldMeanwhile(
  fleet: Fleet,
  { runDir, host, now }: { runDir: (run: string) => string; host: string; now: number },
): void {
  const awake = fleet.last?.awake ?? 0
  const fold = (fact: Fact, at: number): void => {
    const event = { ...fact, seq: fleet.seq + 1, at, awake, host } as Event
    apply(fleet, event)
  }
  const booted = restartedFacts(fleet, platform.bootId())
  for (const fact of booted) fold(fact, now)
  if (booted.length > 0) return
  for (const task of liveTasks(fleet)) {
    const run = liveRun(task)
    if (run?.began === undefined) continue
    const of = { project: task.project, task: task.name, run: run.id }
    const exit = readExit(runDir(run.id))
    if (exit !== undefined) {
      const { code, signal, endedAt } = exit
      const end = { is: 'ended' as const, text: '', denied: [] }
      fold({ kind: 'run.exited', ...of, code, signal, usage: run.usage, end }, endedAt)
      continue
    }
    const spawn = readSpawn(runDir(run.id))
    if ((spawn.is === 'spawned' || spawn.is === 'spawning') && spawn.lockHeld) continue
    fold({ kind: 'run.lost', ...of, reason: 'its supervisor died' }, task.updatedAt)
  }
}
