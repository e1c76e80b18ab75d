// Room on disk: tasks held for want of it go on when there is some, and the reserve is made again.

import { type Fact } from '../core/event.ts'
import { liveTasks } from '../core/fleet.ts'
import { lackOfSpace } from './perform/prepare.ts'
import { fleetOf, type Shell } from './shell.ts'

/** Only while something waits for room. */
const lookMs = 60_000

/** Starts with the loop and ends with it. */
export function watchRoom(shell: Shell): void {
  let timer: NodeJS.Timeout | undefined
  const look = (): void => {
    timer = undefined
    if (shell.ended.aborted) return
    const facts = released(shell)
    if (facts.length > 0) shell.loop.record(facts)
    if (isHeld(shell)) arm()
  }
  const arm = (): void => {
    timer ??= setTimeout(look, lookMs).unref()
  }
  shell.loop.onEvent(event => {
    if (event.kind === 'admission.opened') shell.store.restoreReserve()
    if (event.kind === 'task.held' && event.reason === 'disk') arm()
  })
  shell.ended.addEventListener('abort', () => clearTimeout(timer))
  if (isHeld(shell)) arm()
}

const isHeld = (shell: Shell): boolean =>
  [...liveTasks(fleetOf(shell))].some(({ held }) => held?.reason === 'disk')

const released = (shell: Shell): Fact[] =>
  [...liveTasks(fleetOf(shell))].flatMap(task => {
    const policy = fleetOf(shell).projects.get(task.project)?.policy
    if (task.held?.reason !== 'disk' || !policy) return []
    if (lackOfSpace(policy.root, policy.diskFreeMinBytes) !== undefined) return []
    return [{ kind: 'task.released', project: task.project, task: task.name, reason: 'there is room again' }]
  })
