// What a restart of the host means for what was alive before it (docs/decisions/0025).

import { type Fact } from './event.ts'
import { type Fleet, liveTasks } from './fleet.ts'
import { hostRestarted } from './run.ts'
import { liveRun } from './task.ts'

/** What follows from a boot other than the one on record: attempts that were alive are closed first. */
export function restartedFacts(fleet: Fleet, boot: string): Fact[] {
  if (fleet.boot === undefined || fleet.boot === boot) return []
  const lost = [...liveTasks(fleet)].flatMap((task): Fact[] => {
    const run = liveRun(task)
    if (run === undefined) return []
    return [{ kind: 'run.lost', project: task.project, task: task.name, run: run.id, reason: hostRestarted }]
  })
  return [...lost, { kind: 'host.restarted', boot }]
}
