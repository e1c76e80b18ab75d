// What a new loop takes over: runs that live or have ended meanwhile, questions that nobody waits for any more.

import { type Fact } from '../core/event.ts'
import { isAlive, openQuestion } from '../core/run.ts'
import { keyOf, latestRun, type TaskKey } from '../core/task.ts'
import { markOf } from './perform/end.ts'
import { watch } from './perform/start.ts'
import { fleetOf, type Shell } from './shell.ts'

/** Agents that ask retry over a restart for a minute; who has not come back by then does not. */
const askAgainMs = 90_000

/**
 * Attaches to every run that was started, and from now on to each as it is. Those that were only claimed are for
 * the effect `start`.
 */
export function adoptRuns(shell: Shell): void {
  for (const key of fleetOf(shell).live) attach(shell, key, run => markOf(shell, run))
  shell.loop.onEvent(event => {
    if (event.kind === 'run.started') attach(shell, keyOf(event), () => 0)
  })
}

function attach(shell: Shell, key: TaskKey, markAt: (run: string) => number): void {
  const fleet = fleetOf(shell)
  const task = fleet.tasks.get(key)
  const run = task && latestRun(task)
  const policy = task && fleet.projects.get(task.project)?.policy
  if (!task || !run || !policy || !isAlive(run) || run.began === undefined) return
  void watch(shell, {
    of: { project: task.project, task: task.name, run: run.id },
    record: task,
    site: { policy },
    mark: markAt(run.id),
    ...(run.session === undefined ? {} : { session: run.session }),
  })
}

/** Once, some time after the start. */
export function expireAbandoned(shell: Shell): NodeJS.Timeout {
  return setTimeout(() => {
    const facts: Fact[] = []
    for (const key of fleetOf(shell).live) {
      const task = fleetOf(shell).tasks.get(key)
      const run = task && latestRun(task)
      const question = run && isAlive(run) ? openQuestion(run) : undefined
      if (!task || !run || !question || shell.asking.has(question.id)) continue
      facts.push({
        kind: 'question.expired',
        project: task.project,
        task: task.name,
        run: run.id,
        id: question.id,
      })
    }
    if (facts.length > 0 && !shell.ended.aborted) shell.loop.record(facts)
  }, askAgainMs).unref()
}
