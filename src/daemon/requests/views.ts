// Requests that only read: rows, items, all of one task, saved work. They work the same with and without a loop.

import { existsSync, realpathSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { type ItemView, type Requests, type SavedView, type ShowView, type TaskView } from '../../core/api.ts'
import { items } from '../../core/attention.ts'
import { type Clock } from '../../core/clock.ts'
import { BerthError } from '../../core/errors.ts'
import { type Loss } from '../../core/event.ts'
import { wouldGoOn } from '../../core/exit.ts'
import { type Fleet, liveTasks } from '../../core/fleet.ts'
import { noTask } from '../../core/notask.ts'
import { shellWord } from '../../core/shellword.ts'
import { isBare, type Task } from '../../core/task.ts'
import { isListed, isoOf, savedViews, showView, taskView } from '../../core/views.ts'
import { listArchive } from '../../git/archive.ts'
import { git, inDirectory } from '../../git/git.ts'
import { mergedness } from '../../git/merged.ts'
import { type Repository } from '../../git/open.ts'
import { filesOfSaved } from '../../git/saved.ts'
import { surveyWork } from '../../git/survey.ts'
import { resolveBase } from '../../git/target.ts'
import { readIfThere } from '../../store/files.ts'
import { readLedger } from '../../workspace/copies.ts'
import { type Site } from '../../workspace/site.ts'
import { type Look, type Looks } from '../looks.ts'
import { refuseMoved } from '../moved.ts'
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
  const { project, unreadable } = await placeAt(reader, params.repo)
  const tasks = [...reader.fleet.tasks.values()].filter(
    task => (project === undefined || task.project === project) && isListed(task, params.all),
  )
  if (unreadable && tasks.length === 0) throw unreadable
  const looks = await reader.looks.at(unreadable ? [] : tasks.filter(task => !isBare(task)))
  const { fleet, clock, host, live } = reader
  return {
    tasks: tasks.map(task => {
      const seen = unreadable ? { differences: [differenceOf(unreadable)] } : seenBy(looks.get(task.key))
      return taskView(fleet, task, clock, { host, live, ...seen })
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

export async function listItems(
  reader: Reader,
  params: Requests['inbox']['params'],
): Promise<Requests['inbox']['answer']> {
  const { project, unreadable } = await placeAt(reader, params.repo)
  const all = items(reader.fleet, reader.clock)
  const found = all.filter(item => project === undefined || item.project === project || item.project === '')
  const open = unreadable ? [unreadableItem(reader, project ?? '', unreadable), ...found] : found
  const here =
    params.here === undefined ? undefined : await placeAt(reader, params.here).catch(() => undefined)
  const at = project ?? here?.project
  const unattended = reader.live || at === undefined ? [] : unattendedIn(reader, at)
  if (params.here === undefined) return { items: open, unattended }
  const named = open.map(item => (item.project === here?.project ? item : naming(reader.fleet, item)))
  return { items: named, unattended }
}

const unattendedIn = ({ fleet, clock }: Reader, project: string): string[] =>
  [...liveTasks(fleet)]
    .filter(task => task.project === project && wouldGoOn(fleet, task, clock))
    .map(({ name }) => name)

/** The same item, its commands such that they mean its repository from everywhere. */
function naming(fleet: Fleet, item: ItemView): ItemView {
  const root = fleet.projects.get(item.project)?.root
  if (root === undefined) return item
  const named = (command: string): string =>
    command.startsWith('berth ') ? `${command} --repo ${shellWord(root)}` : command
  return { ...item, actions: item.actions.map(way => ({ ...way, command: named(way.command) })) }
}

/** What holds up all of a repository that git refuses to read: shown to who looks, recorded nowhere. */
function unreadableItem({ fleet, clock }: Reader, id: string, error: BerthError): ItemView {
  const project = fleet.projects.get(id)
  const live = [...fleet.live].flatMap(key => fleet.tasks.get(key) ?? [])
  return {
    id: `config:${project?.name ?? id}:unreadable`,
    kind: 'config',
    task: null,
    project: id,
    since: isoOf(clock.wall),
    reason: unreadableText(error),
    evidence: [],
    blocks: live.filter(task => task.project === id).map(({ name }) => name),
    actions: error.hint === undefined ? [] : [{ key: 'try', label: 'then look again', command: error.hint }],
  }
}

const differenceOf = (error: BerthError): TaskView['differences'][number] => ({
  what: 'repository-unreadable',
  sentence: unreadableText(error),
  command: error.hint ?? 'berth doctor',
})

const unreadableText = ({ code, message }: BerthError): string =>
  `not readable: ${code === 'foreign-owner' ? 'owner: ' : ''}${message}`

export async function showTask(reader: Reader, params: { repo: string; task: string }): Promise<ShowView> {
  const task = await findTask(reader, params.repo, params.task)
  const site = await reader.site(task.project)
  const [looks, merged, behind, losses] = await Promise.all([
    reader.looks.at(isBare(task) ? [] : [task]),
    mergedOf(site, task),
    behindOf(site, task),
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
    target: targetOf(task, site.policy.target) || null,
    behind,
    losses,
  })
}

export async function listSaved(reader: Reader, params: { repo: string }): Promise<{ saved: SavedView[] }> {
  const { project: id } = await placeAt(reader, params.repo)
  const tasks = [...reader.fleet.tasks.values()].filter(task => task.project === id)
  return { saved: tasks.flatMap(savedViews).sort((a, b) => (a.at < b.at ? -1 : 1)) }
}

/** One piece of saved work, with what is in it. */
export async function showSaved(
  reader: Reader,
  { repo: dir, id }: Requests['savedShow']['params'],
): Promise<Requests['savedShow']['answer']> {
  const repo = await reader.at(dir)
  const { task, saved } = savedNamed(reader.fleet, repo.id, id)
  const view = savedViews(task).find(each => each.id === saved.id)!
  const files = await filesOfSaved(repo, saved.commit)
  return { saved: { ...view, files, archived: saved.archive ? await listArchive(saved.archive) : [] } }
}

/** Saved work by its id. Throws `not-found`. */
export function savedNamed(
  fleet: Fleet,
  project: string,
  id: string,
): { task: Task; saved: Task['saved'][number] } {
  for (const task of fleet.tasks.values()) {
    const saved = task.project === project ? task.saved.find(each => each.id === id) : undefined
    if (saved) return { task, saved }
  }
  throw new BerthError('not-found', `no saved work '${id}'`, 'berth saved')
}

type Place = {
  /** Undefined: every project. */
  project: string | undefined
  /** Why git does not read it, although Berth knows it: then the records are all there is. */
  unreadable?: BerthError
}

/** A repository without a commit has no task, and is no mistake to look at. */
async function placeAt(reader: Pick<Reader, 'at' | 'fleet'>, dir: string | undefined): Promise<Place> {
  if (dir === undefined) return { project: undefined }
  try {
    const repo = await reader.at(dir)
    await refuseMoved(repo, reader.fleet)
    return { project: repo.id }
  } catch (error) {
    if (!(error instanceof BerthError)) throw error
    if (error.code === 'no-commits') return { project: '' }
    const known = recordedAt(reader.fleet, dir)
    if (known === undefined) throw error
    return { project: known, unreadable: error }
  }
}

/** The project recorded at the nearest repository that `dir` lies in, found without git. */
function recordedAt(fleet: Fleet, dir: string): string | undefined {
  const place = resolve(dir)
  for (let folder = existsSync(place) ? realpathSync(place) : place; ; folder = dirname(folder)) {
    for (const { id, root, commonDir } of fleet.projects.values())
      if (root === folder || commonDir === folder) return id
    if (existsSync(join(folder, '.git')) || dirname(folder) === folder) return undefined
  }
}

/** A task by its name. Throws `not-found` with the nearest name. */
export async function findTask(
  reader: Pick<Reader, 'fleet' | 'at'>,
  dir: string,
  name: string,
): Promise<Task> {
  const repo = await reader.at(dir)
  await refuseMoved(repo, reader.fleet)
  return taskNamed(reader.fleet, repo.id, name)
}

export function taskNamed(fleet: Fleet, project: string, name: string): Task {
  const task = fleet.tasks.get(`${project}/${name}`)
  if (task) return task
  throw noTask(fleet, project, { name, call: 'berth show' })
}

async function mergedOf(site: Site, task: Task): Promise<ShowView['merged']> {
  const commit = commitOf(task)
  const target = targetOf(task, site.policy.target)
  if (commit === undefined || target === '') return null
  const base = task.workspace?.phase === 'ready' ? { base: task.workspace.base } : {}
  const { is, rule } = await mergedness(site.repo, { commit, target, ...base })
  return { is, rule }
}

/** How far its branch is behind the target as Berth would land on it; nothing is fetched. */
async function behindOf({ repo, policy }: Site, task: Task): Promise<number | null> {
  const target = targetOf(task, policy.target)
  if (task.workspace?.phase !== 'ready' || task.landing?.phase === 'landed' || target === '') return null
  const { remote, mode } = policy
  const base = await resolveBase(repo, { target, remote, mode })
  if (base.is !== 'base') return null
  const range = `refs/heads/${task.workspace.branch}..${base.commit}`
  const { code, out } = await git(repo, ['rev-list', '--count', range])
  return code === 0 ? Number(out.toString('utf8')) : null
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
