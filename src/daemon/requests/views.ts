// Requests that only read: rows, items, all of one task, saved work. They work the same with and without a loop.

import { type ItemView, type SavedView, type ShowView, type TaskView } from '../../core/api.ts'
import { items } from '../../core/attention.ts'
import { type Clock } from '../../core/clock.ts'
import { BerthError } from '../../core/errors.ts'
import { type Loss } from '../../core/event.ts'
import { type Fleet } from '../../core/fleet.ts'
import { nearest } from '../../core/nearest.ts'
import { isBare, type Task } from '../../core/task.ts'
import { isListed, savedViews, showView, taskView } from '../../core/views.ts'
import { inDirectory } from '../../git/git.ts'
import { mergedness } from '../../git/merged.ts'
import { type Repository } from '../../git/open.ts'
import { surveyWork } from '../../git/survey.ts'
import { readIfThere } from '../../store/files.ts'
import { readLedger } from '../../workspace/copies.ts'
import { type Site } from '../../workspace/site.ts'
import { type Look, type Looks } from '../looks.ts'
import { commitOf, targetOf } from '../perform/teardown.ts'

/** What reading needs, whoever reads. */
export type Reader = {
  fleet: Fleet
  clock: Clock
  host: string
  /** Whether a loop is at work on this state. */
  live: boolean
  looks: Looks
  /** The repository that a folder lies in. */
  at(dir: string): Promise<Repository>
  site(project: string): Promise<Site>
}

export async function listTasks(
  reader: Reader,
  params: { repo?: string; all: boolean },
): Promise<{ tasks: TaskView[] }> {
  const project = await projectAt(reader, params.repo)
  const tasks = [...reader.fleet.tasks.values()].filter(
    task => (project === undefined || task.project === project) && isListed(task, params.all),
  )
  const looks = await reader.looks.at(tasks.filter(task => !isBare(task)))
  const { fleet, clock, host, live } = reader
  return {
    tasks: tasks.map(task => {
      const look = looks.get(task.key)
      return taskView(fleet, task, clock, {
        host,
        live,
        ...seenBy(look),
      })
    }),
  }
}

/** What a look adds to a view; changes that are unknown are left out. */
function seenBy(look: Look | undefined): Pick<TaskView, 'differences'> & { changes?: TaskView['changes'] } {
  return {
    ...(look?.changes === undefined ? {} : { changes: look.changes }),
    differences: (look?.differences ?? []).map(({ what, sentence, command }) => ({
      what,
      sentence,
      command,
    })),
  }
}

export async function listItems(reader: Reader, params: { repo?: string }): Promise<{ items: ItemView[] }> {
  const project = await projectAt(reader, params.repo)
  const all = items(reader.fleet, reader.clock)
  return {
    items: all.filter(item => project === undefined || item.project === project || item.project === ''),
  }
}

export async function showTask(reader: Reader, params: { repo: string; task: string }): Promise<ShowView> {
  const task = await findTask(reader, params.repo, params.task)
  const site = await reader.site(task.project)
  const [looks, merged, losses] = await Promise.all([
    reader.looks.at(isBare(task) ? [] : [task]),
    mergedOf(site, task),
    lossesOf(site, task),
  ])
  const look = looks.get(task.key)
  const { fleet, clock, host, live } = reader
  return showView(fleet, task, clock, {
    host,
    live,
    ...seenBy(look),
    brief: readIfThere(task.brief.file)?.toString('utf8') ?? '',
    merged,
    losses,
  })
}

export async function listSaved(reader: Reader, params: { repo: string }): Promise<{ saved: SavedView[] }> {
  const id = await projectAt(reader, params.repo)
  const tasks = [...reader.fleet.tasks.values()].filter(task => task.project === id)
  return { saved: tasks.flatMap(savedViews).sort((a, b) => (a.at < b.at ? -1 : 1)) }
}

/** A repository without a commit has no task, and is no mistake to look at. Undefined: every project. */
async function projectAt(reader: Pick<Reader, 'at'>, dir: string | undefined): Promise<string | undefined> {
  if (dir === undefined) return undefined
  try {
    return (await reader.at(dir)).id
  } catch (error) {
    if (error instanceof BerthError && error.code === 'no-commits') return ''
    throw error
  }
}

/** A task by its name. Throws `not-found` with the nearest name. */
export async function findTask(
  reader: Pick<Reader, 'fleet' | 'at'>,
  dir: string,
  name: string,
): Promise<Task> {
  const { id } = await reader.at(dir)
  return taskNamed(reader.fleet, id, name)
}

export function taskNamed(fleet: Fleet, project: string, name: string): Task {
  const task = fleet.tasks.get(`${project}/${name}`)
  if (task) return task
  const names = [...fleet.tasks.values()].filter(each => each.project === project).map(each => each.name)
  const near = nearest(name, names)
  throw new BerthError(
    'not-found',
    `no task '${name}'`,
    near === undefined ? 'berth ls --all' : `did you mean '${near}'?`,
  )
}

async function mergedOf(site: Site, task: Task): Promise<ShowView['merged']> {
  const commit = commitOf(task)
  const target = targetOf(task, site.policy.target)
  if (commit === undefined || target === '') return null
  const base = task.workspace?.phase === 'ready' ? { base: task.workspace.base } : {}
  const { is, rule } = await mergedness(site.repo, { commit, target, ...base })
  return { is, rule }
}

async function lossesOf(site: Site, task: Task): Promise<Loss[]> {
  if (task.workspace?.phase !== 'ready') return []
  const at = inDirectory(site.repo, task.workspace.path)
  const found = await surveyWork(at, {
    rebuildable: site.policy.rebuildable,
    known: readLedger(site, task.name),
  })
  return found.losses
}
