// Every request of core/api.ts and the one function that answers it.

import { contract, type DaemonStatus, type Requests, type Verb } from '../core/api.ts'
import { BerthError } from '../core/errors.ts'
import { type Event } from '../core/event.ts'
import { isAlive } from '../core/run.ts'
import { latestRun } from '../core/task.ts'
import { projectSite } from './perform/site.ts'
import {
  answerItem,
  interruptCall,
  landTasks,
  pauseFleet,
  resumeTasks,
  retryTasks,
  stopTasks,
} from './requests/control.ts'
import { byPerson, follow } from './requests/follow.ts'
import { ask, report } from './requests/inside.ts'
import {
  purgeProject,
  reconcileProject,
  removeSavedWork,
  removeTasks,
  restoreWork,
} from './requests/removal.ts'
import { submit } from './requests/submit.ts'
import { listItems, listSaved, listTasks, type Reader, showSaved, showTask } from './requests/views.ts'
import { type Caller, type Handle } from './server.ts'
import { fleetOf, type Shell } from './shell.ts'

export type Lifetime = {
  since: string
  foreground: boolean
  /** Ends this loop; the runs go on with their supervisors. */
  end(reason: string): void
  stopRuns(): Promise<void>
  /** It stays when there is nothing to do. */
  keep(): void
}

/** Answers for a loop. What the end of the loop cuts off is never answered: the caller asks the next one. */
export const makeHandle =
  (shell: Shell, lifetime: Lifetime): Handle =>
  async (verb, params, caller, stream) => {
    const before = shell.ended.aborted
    const answered = await answer(shell, lifetime, { verb, params, caller, stream })
    if (shell.ended.aborted && (before || !ending.includes(verb))) await new Promise(() => {})
    return answered
  }

const ending: readonly Verb[] = ['status', 'handOver', 'stopDaemon']

type Asked = { verb: Verb; params: never; caller: Caller; stream: (event: Event) => void }

async function answer(
  shell: Shell,
  lifetime: Lifetime,
  { verb, params, caller, stream }: Asked,
): Promise<unknown> {
  switch (verb) {
    case 'submit':
      return submit(shell, params, caller)
    case 'follow':
      return follow(shell, params, caller, stream)
    case 'ask':
      return ask(shell, params, caller)
    case 'report':
      return report(shell, params)
    case 'status':
      return status(shell, lifetime)
    case 'keep':
      lifetime.keep()
      openAdmission(shell)
      return {}
    case 'handOver':
      lifetime.end('handed over')
      return {}
    case 'stopDaemon':
      return stopDaemon(params, lifetime)
    default:
      return steer(shell, verb, params)
  }
}

function openAdmission(shell: Shell): void {
  if (fleetOf(shell).admission === 'closed')
    shell.loop.record([{ kind: 'admission.opened', by: 'daemon start' }])
}

async function steer(shell: Shell, verb: Verb, params: never): Promise<unknown> {
  switch (verb) {
    case 'stop':
      return stopTasks(shell, params)
    case 'interrupt':
      return interruptCall(shell, params)
    case 'retry':
      return retryTasks(shell, params)
    case 'pause':
      return pauseFleet(shell, params)
    case 'resume':
      return resumeTasks(shell, params)
    case 'land':
      return landTasks(shell, params)
    case 'answer':
      return answerItem(shell, params)
    case 'rm':
      return removeTasks(shell, params)
    case 'savedRm':
      return removeSavedWork(shell, params)
    case 'restore':
      return restoreWork(shell, params)
    case 'reconcile':
      return reconcileProject(shell, params)
    case 'purge':
      return purgeProject(shell, params)
    default:
      return read(readerOf(shell), verb, params)
  }
}

/** Requests that change nothing: answered without a loop too. */
export async function read(reader: Reader, verb: Verb, params: never): Promise<unknown> {
  switch (verb) {
    case 'ls':
      return listTasks(reader, params)
    case 'inbox':
      return listItems(reader, params)
    case 'show':
      return showTask(reader, params)
    case 'saved':
      return listSaved(reader, params)
    case 'savedShow':
      return showSaved(reader, params)
    default:
      throw new BerthError('unknown-verb', `this Berth knows no request '${String(verb)}'`)
  }
}

const readerOf = (shell: Shell): Reader => ({
  fleet: fleetOf(shell),
  clock: shell.loop.clock(),
  host: shell.host,
  live: true,
  looks: shell.looks,
  at: dir => shell.repositories.at(dir, shell.env),
  site: async id => {
    const project = fleetOf(shell).projects.get(id)
    if (!project?.policy)
      throw new BerthError('config', 'its repository has not been configured', 'berth config')
    return projectSite(shell, project, project.policy, shell.env)
  },
})

function status(shell: Shell, { since, foreground }: Lifetime): DaemonStatus {
  const fleet = fleetOf(shell)
  const live = [...fleet.live].flatMap(key => fleet.tasks.get(key) ?? [])
  return {
    pid: process.pid,
    version: shell.installation.version,
    contract,
    stateId: shell.stateId,
    since,
    admission: fleet.admission,
    paused: fleet.paused,
    alive: live.filter(task => {
      const run = latestRun(task)
      return run !== undefined && isAlive(run)
    }).length,
    tasks: live.length,
    foreground,
  }
}

async function stopDaemon(
  { stopRuns }: Requests['stopDaemon']['params'],
  lifetime: Lifetime,
): Promise<object> {
  if (stopRuns) await lifetime.stopRuns()
  lifetime.end(byPerson)
  return {}
}
