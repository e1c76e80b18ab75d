// What readers are told beyond the records: changes in worktrees, and what git, the disk and the processes say.

import { type DifferenceView, type TaskView } from '../core/api.ts'
import { type Fleet, type Project } from '../core/fleet.ts'
import { isBare, type Task } from '../core/task.ts'
import { changesSince } from '../git/changes.ts'
import { inDirectory } from '../git/git.ts'
import { reconcile } from '../workspace/reconcile.ts'
import { type Site, type WorkspaceRecord } from '../workspace/site.ts'
import { commitOf } from './perform/teardown.ts'
import { workspaceOf } from './perform/site.ts'

export type Look = { changes?: TaskView['changes']; differences: DifferenceView[] }

export type Looks = {
  /** By task key. What cannot be found out is left out: it is unknown, not empty. */
  at(tasks: readonly Task[]): Promise<Map<string, Look>>
}

/** An answer may be this old. */
const freshMs = 2_000
const atOnce = 4

type Kept = { at: number; look: Promise<Look> }

export function openLooks(input: {
  fleet: () => Fleet
  /** Awake ms. */
  now: () => number
  site: (project: Project) => Promise<Site>
}): Looks {
  const kept = new Map<string, Kept>()
  const found = new Map<string, { at: number; differences: Promise<DifferenceView[]> }>()
  const queue = limited(atOnce)
  const differencesOf = (id: string): Promise<DifferenceView[]> => {
    const before = found.get(id)
    const now = input.now()
    if (before && now - before.at < freshMs) return before.differences
    const project = input.fleet().projects.get(id)
    const differences = project ? compare(input, project).catch(() => []) : Promise.resolve([])
    found.set(id, { at: now, differences })
    return differences
  }
  const changesOf = (task: Task): Promise<Look> => {
    const before = kept.get(task.key)
    const now = input.now()
    if (before && now - before.at < freshMs) return before.look
    const project = input.fleet().projects.get(task.project)
    const look = project
      ? queue(() => lookAt(input, project, task)).catch(() => ({ differences: [] }))
      : Promise.resolve({ differences: [] })
    kept.set(task.key, { at: now, look })
    return look
  }
  return {
    at: async tasks => {
      const looks = await Promise.all(
        tasks.map(async task => {
          const [look, all] = await Promise.all([changesOf(task), differencesOf(task.project)])
          const differences = all.filter(each => each.task === task.name)
          return [task.key, { ...look, differences }] as const
        }),
      )
      for (const key of kept.keys()) if (!input.fleet().tasks.has(key)) kept.delete(key)
      return new Map(looks)
    },
  }
}

async function lookAt(
  { site }: { site: (project: Project) => Promise<Site> },
  project: Project,
  task: Task,
): Promise<Look> {
  const { workspace } = task
  if (workspace?.phase !== 'ready') return { differences: [] }
  const { repo } = await site(project)
  const changes = await changesSince(inDirectory(repo, workspace.path), workspace.base)
  if (changes.is === 'unknown') return { differences: [] }
  const { files, insertions, deletions, dirty } = changes
  return { changes: { files, insertions, deletions, dirty }, differences: [] }
}

async function compare(
  input: { fleet: () => Fleet; site: (project: Project) => Promise<Site> },
  project: Project,
): Promise<DifferenceView[]> {
  return reconcile(await input.site(project), reconcileRecords(input.fleet(), project.id), { fix: false })
}

export type ReconcileRecord = WorkspaceRecord & { task: string; removing: boolean; preparing: boolean; commit?: string }

/** Everything that the records say should be there. */
export const reconcileRecords = (fleet: Fleet, project: string): ReconcileRecord[] =>
  [...fleet.tasks.values()].flatMap(task => {
    const record = task.project === project && !isBare(task) ? workspaceOf(task) : undefined
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
