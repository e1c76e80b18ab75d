// Which facts a person asks the timeline for.

import { isAbsolute, relative } from 'node:path'
import picomatch from 'picomatch'
import { BerthError } from '../core/errors.ts'
import { type Event } from '../core/event.ts'
import { type Fleet } from '../core/fleet.ts'
import { nearest } from '../core/nearest.ts'
import { namesOf, noTask } from '../core/notask.ts'
import { parseTime } from '../core/quantity.ts'
import { factKinds } from '../core/sentence.ts'
import { type Query } from '../store/store.ts'
import { type Common, type Io, repoOf } from './io.ts'
import { flagValue } from './usage.ts'

export type LogOptions = Common & {
  task?: string
  run?: string
  file?: string
  kind?: string[]
  since?: string
  until?: string
}

/** What the store can choose by itself, and what is left to look at. Throws for names that nothing has. */
export async function openFilter(
  io: Io,
  fleet: Fleet,
  options: LogOptions,
): Promise<{ query: Query; passes: (event: Event) => boolean }> {
  const project = await projectOf(io, fleet, options)
  const { since, until } = timesOf(io, options)
  const run = options.run === undefined ? undefined : runOf(fleet, project?.id, options.run)
  if (options.task !== undefined && !namesOf(fleet, project?.id).includes(options.task))
    throw noTask(fleet, project?.id, { name: options.task, call: 'berth log --task' })
  const query: Query = {
    // Facts of the loop and the host belong to no project, and to every timeline.
    ...(project && options.task !== undefined && { project: project.id }),
    ...(options.task !== undefined && { task: options.task }),
    ...(run !== undefined && { run }),
    ...(since !== undefined && { since }),
    ...(until !== undefined && { until }),
  }
  const file = options.file === undefined ? undefined : fileMatcher(options.file, project?.places ?? [])
  for (const wanted of options.kind ?? []) requireKind(wanted)
  const kind = options.kind && picomatch(options.kind)
  const passes = (event: Event) =>
    (!project || !('project' in event) || event.project === project.id) &&
    (options.task === undefined || ('task' in event && event.task === options.task)) &&
    (run === undefined || ('run' in event && event.run === run)) &&
    (since === undefined || event.at >= since) &&
    (until === undefined || event.at <= until) &&
    (!kind || kind(event.kind)) &&
    (!file || pathsOf(event).some(file))
  return { query, passes }
}

/** Throws `usage` for what is no time. */
export function timesOf(
  io: Io,
  options: LogOptions,
): { since: number | undefined; until: number | undefined } {
  const form = "a time like '2030-01-31T17:00Z', or '2h' ago"
  const time = (flag: string, text: string | undefined) =>
    text === undefined ? undefined : flagValue(flag, text, given => parseTime(given, io.now()), form)
  return { since: time('--since', options.since), until: time('--until', options.until) }
}

/** The repository here, or undefined outside of any: then it is the timeline of all. */
async function projectOf(
  io: Io,
  fleet: Fleet,
  options: Common,
): Promise<{ id: string; places: string[] } | undefined> {
  const { repositoryAt } = await import('../daemon/place.ts')
  const { refuseMoved } = await import('../daemon/moved.ts')
  try {
    const repo = await repositoryAt(repoOf(io, options), io.env)
    await refuseMoved(repo, fleet)
    return { id: repo.id, places: [repo.worktree ?? repo.root, repo.root] }
  } catch (error) {
    if (options.repo === undefined && error instanceof BerthError && error.code === 'not-a-repository')
      return undefined
    throw error
  }
}

/** A run's id, or the name that people see: `login#2`. */
function runOf(fleet: Fleet, project: string | undefined, wanted: string): string {
  if (fleet.runs.has(wanted)) return wanted
  const [task, attempt] = wanted.split('#')
  const found = [...fleet.runs].findLast(
    ([, run]) =>
      run.task === task && String(run.attempt) === attempt && (!project || run.key.startsWith(`${project}/`)),
  )
  if (found) return found[0]
  throw new BerthError(
    'not-found',
    `there is no run '${wanted}'`,
    task ? `berth log --task ${task}` : 'berth ls',
  )
}

/** A kind of fact, or a glob that some kind matches. */
function requireKind(wanted: string): void {
  const matches = picomatch(wanted)
  if (factKinds.some(kind => matches(kind))) return
  const near = nearest(wanted, factKinds) ?? 'run.*'
  throw new BerthError('not-found', `there is no kind of fact '${wanted}'`, `berth log --kind '${near}'`)
}

/** A path or glob as facts name files: from the root of the repository, with `/`. */
function fileMatcher(given: string, places: string[]): (path: string) => boolean {
  const inside = isAbsolute(given)
    ? places.map(place => relative(place, given)).find(path => !path.startsWith('..'))
    : given
  const path = (inside ?? given).replaceAll('\\', '/').replace(/^\.\//, '').replace(/\/$/, '')
  const matches = picomatch(path, { dot: true })
  return touched => {
    const name = touched.replaceAll('\\', '/')
    return name === path || name.startsWith(`${path}/`) || name.endsWith(`/${path}`) || matches(name)
  }
}

function pathsOf(event: Event): string[] {
  if (event.kind === 'file.changed') return event.from === undefined ? [event.path] : [event.path, event.from]
  if (event.kind === 'tool.called' || event.kind === 'trespass.seen') return event.paths
  return []
}
