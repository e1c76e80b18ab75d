// What readers are told beyond the records: changes in worktrees, and what git, the disk and the processes say.

import { dirname, join } from 'node:path'
import { type DifferenceView, type TaskView } from '../core/api.ts'
import { type Fleet, type Project } from '../core/fleet.ts'
import { isBare, type Task } from '../core/task.ts'
import { type Changes, changesSince } from '../git/changes.ts'
import { git, type Git, inDirectory } from '../git/git.ts'
import { entryDirOf } from '../git/list.ts'
import { reconcile } from '../workspace/reconcile.ts'
import { type Site, type WorkspaceRecord } from '../workspace/site.ts'
import { commitOf } from './perform/teardown.ts'
import { workspaceOf } from './perform/site.ts'
import { type TreeWatch, watchFolders } from './treewatch.ts'

export type Look = { changes?: TaskView['changes']; differences: DifferenceView[] }

export type Looks = {
  /** By task key. What cannot be found out is left out: it is unknown, not empty. */
  at(tasks: readonly Task[]): Promise<Map<string, Look>>
  close(): void
}

/** What is not watched may be this old. */
const freshMs = 2_000
const atOnce = 4
/** Nobody has asked for this long: nothing is watched any more. */
const forgetMs = 5 * 60_000

type Input = {
  fleet: () => Fleet
  /** Awake ms. */
  now: () => number
  site: (project: Project) => Promise<Site>
  /** Keep answers while the system says that nothing was touched. */
  watches: boolean
  /** Told of every look. */
  onLook?: (task: Task, changes: Changes & { is: 'changes' }) => void
}

type Kept = { at: number; look: Promise<Look>; watch?: TreeWatch | undefined }

type State = {
  input: Input
  kept: Map<string, Kept>
  found: Map<string, { at: number; differences: Promise<DifferenceView[]> }>
  queue: <T>(work: () => Promise<T>) => Promise<T>
  timer?: NodeJS.Timeout
}

export function openLooks(input: Input): Looks {
  const state: State = { input, kept: new Map(), found: new Map(), queue: limited(atOnce) }
  return {
    at: async tasks => {
      const looks = await Promise.all(
        tasks.map(async task => {
          const [look, all] = await Promise.all([changesOf(state, task), differencesOf(state, task.project)])
          const differences = all.filter(each => each.task === task.name)
          return [task.key, { ...look, differences }] as const
        }),
      )
      forgetLater(state)
      return new Map(looks)
    },
    close: () => forget(state),
  }
}

function differencesOf({ input, found }: State, id: string): Promise<DifferenceView[]> {
  const before = found.get(id)
  const now = input.now()
  if (before && now - before.at < freshMs) return before.differences
  const project = input.fleet().projects.get(id)
  const differences = project ? compare(input, project).catch(() => []) : Promise.resolve([])
  found.set(id, { at: now, differences })
  return differences
}

function changesOf(state: State, task: Task): Promise<Look> {
  const { input, kept } = state
  const before = kept.get(task.key)
  const now = input.now()
  if (before && (before.watch?.isUntouched() || now - before.at < freshMs)) return before.look
  before?.watch?.close()
  const project = input.fleet().projects.get(task.project)
  const next: Kept = { at: now, look: Promise.resolve({ differences: [] }) }
  if (project)
    next.look = state
      .queue(() => lookAt(state, { project, task, kept: next }))
      .catch(() => ({ differences: [] }))
  kept.set(task.key, next)
  return next.look
}

async function lookAt(
  { input, kept: all }: State,
  { project, task, kept }: { project: Project; task: Task; kept: Kept },
): Promise<Look> {
  const { workspace } = task
  if (workspace?.phase !== 'ready') return { differences: [] }
  const { repo } = await input.site(project)
  const at = inDirectory(repo, workspace.path)
  // Watched first, then looked at: what is touched in between makes it be looked at again.
  const watch = input.watches ? watchFolders(await foldersOf(at)) : undefined
  const changes = await changesSince(at, workspace.base, { target: workspace.target })
  if (all.get(task.key) === kept) kept.watch = watch
  else watch?.close()
  if (changes.is === 'unknown') return { differences: [] }
  input.onLook?.(task, changes)
  const { files, insertions, deletions, dirty } = changes
  return { changes: { files, insertions, deletions, dirty }, differences: [] }
}

/** Every folder with a file that git would look at, and git's own entry. */
async function foldersOf(at: Git): Promise<string[]> {
  const [listed, entry] = await Promise.all([
    git(at, ['ls-files', '-z', '--cached', '--others', '--exclude-standard']),
    entryDirOf(at, at.dir),
  ])
  if (listed.code !== 0) return [at.dir]
  const folders = new Set([at.dir, ...(entry === undefined ? [] : [entry])])
  for (const path of listed.out.toString('utf8').split('\0'))
    for (let folder = dirname(path); folder !== '.' && folder !== '/'; folder = dirname(folder)) {
      const whole = join(at.dir, folder)
      if (folders.has(whole)) break
      folders.add(whole)
    }
  return [...folders]
}

function forgetLater(state: State): void {
  clearTimeout(state.timer)
  state.timer = setTimeout(() => forget(state), forgetMs).unref()
}

function forget(state: State): void {
  clearTimeout(state.timer)
  for (const { watch } of state.kept.values()) watch?.close()
  state.kept.clear()
  state.found.clear()
}

async function compare(
  input: { fleet: () => Fleet; site: (project: Project) => Promise<Site> },
  project: Project,
): Promise<DifferenceView[]> {
  return reconcile(await input.site(project), reconcileRecords(input.fleet(), project.id))
}

export type ReconcileRecord = WorkspaceRecord & {
  task: string
  removing: boolean
  preparing: boolean
  commit?: string
}

/** Everything that the records say should be there. */
export const reconcileRecords = (fleet: Fleet, project: string): ReconcileRecord[] =>
  [...fleet.tasks.values()].flatMap(task => {
    // A creation that failed was taken back; what it could not take back is found by its marker.
    const nothing = task.project !== project || isBare(task) || task.workspace?.phase === 'failed'
    const record = nothing ? undefined : workspaceOf(task)
    if (!record) return []
    const commit = commitOf(task)
    return [
      {
        ...record,
        task: task.name,
        removing: task.removal?.phase === 'asked' || task.removal?.phase === 'stuck',
        preparing: task.workspace?.phase === 'claimed',
        ...(commit === undefined ? {} : { commit }),
      },
    ]
  })

/** At most `max` at a time. */
function limited(max: number): <T>(work: () => Promise<T>) => Promise<T> {
  let busy = 0
  const waiting: (() => void)[] = []
  return async work => {
    if (busy >= max) await new Promise<void>(resolve => waiting.push(resolve))
    busy++
    try {
      return await work()
    } finally {
      busy--
      waiting.shift()?.()
    }
  }
}
