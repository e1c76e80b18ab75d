// What an effect that threw is recorded as: a bug costs its task, never the fleet.

import { type Effect } from '../core/effect.ts'
import { type Fact } from '../core/event.ts'

export function failureOf(effect: Effect, error: unknown): Fact[] {
  const of = { project: effect.project, task: effect.task }
  const reason = error instanceof Error ? error.message : String(error)
  const step = 'bug'
  switch (effect.do) {
    case 'prepare':
      return [{ kind: 'workspace.stuck', step, reason, holders: [], ...of }]
    case 'start':
      return [{ kind: 'run.lost', run: effect.run, reason, ...of }]
    case 'end':
      return [{ kind: 'notice.given', text: `its run could not be ended: ${reason}`, run: effect.run, ...of }]
    case 'collect':
      return [{ kind: 'run.collected', run: effect.run, outcome: { is: 'unknown', step, reason }, ...of }]
    case 'verify':
      return [{ kind: 'task.red', commit: effect.commit, gate: 'gates', reason, unknown: true, ...of }]
    case 'integrate':
    case 'land':
      return [
        { kind: 'landing.failed', commit: effect.commit, failure: { is: 'failed', step, reason }, ...of },
      ]
    case 'teardown':
      return [{ kind: 'workspace.stuck', step, reason, holders: [], ...of }]
  }
}
