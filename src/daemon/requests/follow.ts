// Request `follow`: the facts of some tasks as they come, until none of them can go on without a person.

import { type Requests } from '../../core/api.ts'
import { exitOf, restsFor } from '../../core/exit.ts'
import { BerthError } from '../../core/errors.ts'
import { type Event } from '../../core/event.ts'
import { keyOf, type Task, type TaskKey } from '../../core/task.ts'
import { type Caller } from '../server.ts'
import { fleetOf, type Shell } from '../shell.ts'

type Params = Requests['follow']['params']

/** Why a loop ends when a person asked for it: no call that waits for it starts another. */
export const byPerson = 'stopped'

const stoppedByPerson = ({ stopping }: Shell): BerthError =>
  new BerthError(
    'daemon-down',
    `the loop was stopped by 'berth daemon stop'; ${stopping ? 'so were its agents' : 'agents work on'}`,
    'berth run',
  )

/** Without any filter it goes on until the caller leaves. A caller that is gone gets no answer. */
export async function follow(
  shell: Shell,
  params: Params,
  caller: Caller,
  stream: (event: Event) => void,
): Promise<{ exit: number }> {
  const project =
    params.repo === undefined ? undefined : (await shell.repositories.at(params.repo, shell.env)).id
  const followed = (): Set<TaskKey> | undefined => keysOf(shell, params, project)
  const first = followed()
  // With its call, so that an interruption of a `run` without tasks of its own stops what it works on.
  if (first) shell.calls.attend(caller, params.call, [...first])
  const wants = (event: Event): boolean => isWanted(event, params, followed(), project)
  if (params.from !== undefined)
    for (const event of shell.store.read({ from: params.from, to: fleetOf(shell).seq }))
      if (wants(event)) stream(event)
  return new Promise((resolve, reject) => {
    const end = (settle: () => void): void => {
      stop()
      shell.ended.removeEventListener('abort', left)
      settle()
    }
    const left = (): void =>
      end(() => {
        if (params.call !== undefined && shell.ended.reason === byPerson) reject(stoppedByPerson(shell))
      })
    const look = (): void => {
      if (shell.stopping && params.call !== undefined) return
      const exit = exitCode(shell, followed())
      if (exit !== undefined) end(() => resolve({ exit }))
    }
    let looking = false
    const stop = shell.loop.onEvent(event => {
      if (wants(event)) stream(event)
      if (looking) return
      looking = true
      // What this fact brings about is recorded first: a task rests only when nothing follows.
      setImmediate(() => {
        looking = false
        look()
      })
    })
    caller.onGone(() => end(() => resolve({ exit: 130 })))
    shell.ended.addEventListener('abort', left)
    look()
  })
}

/** Undefined: everything, for ever. */
function keysOf(
  shell: Shell,
  { call, tasks }: Params,
  project: string | undefined,
): Set<TaskKey> | undefined {
  const fleet = fleetOf(shell)
  const known = call === undefined ? undefined : shell.calls.of(call)
  const keys = new Set(known)
  for (const task of fleet.tasks.values()) if (call !== undefined && task.call === call) keys.add(task.key)
  if (known === undefined && project !== undefined)
    for (const name of tasks ?? []) keys.add(keyOf({ project, task: name }))
  if (keys.size > 0 || known !== undefined) return keys
  if (project === undefined || call === undefined) return undefined
  // `run` without a task of its own works on all that is open in the repository.
  return new Set([...fleet.live].filter(key => fleet.tasks.get(key)?.project === project))
}

function isWanted(
  event: Event,
  { call }: Params,
  keys: Set<TaskKey> | undefined,
  project: string | undefined,
): boolean {
  if (!('task' in event) || event.task === undefined)
    return !('project' in event) || project === undefined || event.project === project
  if (keys === undefined) return project === undefined || ('project' in event && event.project === project)
  if (event.kind === 'task.submitted' && event.call === call) return true
  return 'project' in event && keys.has(`${event.project}/${event.task}`)
}

function exitCode(shell: Shell, keys: Set<TaskKey> | undefined): number | undefined {
  if (keys === undefined) return undefined
  const fleet = fleetOf(shell)
  const tasks = [...keys].map(key => fleet.tasks.get(key)).filter((task): task is Task => task !== undefined)
  const clock = shell.loop.clock()
  if (!restsFor(fleet, tasks, clock)) return undefined
  return exitOf(fleet, tasks, clock)
}
