// From an effect to what the other rooms need to know: the task as recorded, its repository, its policy.

import { commandTimeoutMs, type ProjectPolicy } from '../../core/config.ts'
import { type RunId } from '../../core/event.ts'
import { type Project } from '../../core/fleet.ts'
import { type Run } from '../../core/run.ts'
import { type Task } from '../../core/task.ts'
import { engines } from '../../engines/index.ts'
import { dotEnvSecrets, secretValues } from '../secrets.ts'
import { fleetOf, type OfTask, type Shell, taskOf } from '../shell.ts'
import { type Gate } from '../../workspace/gates.ts'
import { type Place } from '../../workspace/place.ts'
import {
  makeRepositoryLock,
  type RunRecord,
  shortName,
  type Site,
  type WorkspaceRecord,
} from '../../workspace/site.ts'

/** Everything an effect works on. Throws if the records do not hold it: then the effect has no ground. */
export async function siteOf(shell: Shell, of: OfTask): Promise<Site & { record: Task; at: Project }> {
  const record = taskOf(shell, of)
  const at = fleetOf(shell).projects.get(of.project)
  if (!record || !at?.policy) throw new Error(`no task '${of.task}' in project '${of.project}'`)
  const caller = shell.passed.of(record)
  return { record, at, ...(await projectSite(shell, at, at.policy, caller)) }
}

/** The same without a task: for what concerns a whole repository. */
export async function projectSite(
  shell: Shell,
  at: Project,
  policy: ProjectPolicy,
  caller: Site['caller'],
): Promise<Site> {
  const repo = await shell.repositories.of(at.id, fleetOf(shell), caller)
  return {
    repo,
    lock: makeRepositoryLock(lockMs),
    state: shell.paths,
    stateId: shell.stateId,
    runtimeDir: shell.socketDir,
    project: at.id,
    policy,
    caller,
    person: await shell.repositories.person(repo, caller, shell.clock.wall()),
    engineNames: foreignNames,
    fetchState: shell.repositories.fetchState(at.id),
    now: shell.clock.wall,
  }
}

/** A repository's lock is held for one git command at a time; longer than this, something hangs. */
const lockMs = 120_000

/** Places and accounts of every engine: a run gets its own from its engine, never one of the person's. */
const foreignNames = [...new Set(Object.values(engines).flatMap(each => each.ownNames))]

/** Undefined until a workspace was claimed. */
export function workspaceOf(task: Task): WorkspaceRecord | undefined {
  const { workspace } = task
  if (!workspace) return undefined
  return {
    path: workspace.path,
    branch: workspace.branch,
    home: workspace.home,
    ports: workspace.phase === 'ready' ? workspace.ports : [],
    since: workspace.since.at,
    ...('base' in workspace && workspace.base !== undefined ? { base: workspace.base } : {}),
  }
}

export const runRecords = (shell: Shell, task: Task): RunRecord[] =>
  task.runs.map(run => ({
    run: run.id,
    dir: shell.paths.run(run.id),
    live: run.state.phase === 'alive' || run.state.phase === 'ending',
  }))

/** Ports of all other live workspaces of this state directory. */
export const portsTaken = (shell: Shell, task: Task): number[] =>
  [...fleetOf(shell).live].flatMap(key => {
    const other = fleetOf(shell).tasks.get(key)
    return other && key !== task.key && other.workspace?.phase === 'ready' ? other.workspace.ports : []
  })

/** Names of variables that are handed to the programs of a task: of the project, of its engine. */
export function handedNames(name: string, policy: ProjectPolicy): string[] {
  const engine = policy.engines[name]
  const keys = engine ? (engines[engine.type]?.keyNames ?? []) : []
  return [...new Set([...policy.pass, ...(engine?.pass ?? []), ...keys])]
}

/** The same, and those that its call handed out. */
export const passNames = (task: Task, policy: ProjectPolicy): string[] => [
  ...new Set([...handedNames(task.spec.engine, policy), ...(task.passed?.names ?? [])]),
]

/** Known secrets of a task: of what it is handed, and of the repository's `.env` files. */
export function secretsOf(site: Site, task: Task): string[] {
  const set = site.policy.engines[task.spec.engine]?.env ?? {}
  return [...new Set([...secretValues(site.caller), ...secretValues(set), ...dotEnvSecrets(site.repo.root)])]
}

/** Where programs of a task run. */
export function placeOf(site: Site, task: Task, attempt = task.runs.at(-1)?.attempt ?? 1): Place {
  const { workspace } = task
  if (workspace?.phase !== 'ready') throw new Error(`the workspace of '${task.name}' is not ready`)
  return {
    task: task.name,
    path: workspace.path,
    home: workspace.home,
    ports: workspace.ports,
    base: workspace.base,
    target: shortName(workspace.target ?? ''),
    attempt,
    pass: passNames(task, site.policy),
    secrets: secretsOf(site, task),
  }
}

/**
 * The gates of a task: its own shell lines, or the project's. A line of its own that neither the project nor one of the
 * `others` has is what this task is to achieve (docs/decisions/0050).
 */
export function gatesOf(policy: ProjectPolicy, task: Task, others: Iterable<Task> = []): Gate[] {
  const { gates } = task.spec
  if (gates === undefined) return policy.gates
  const shared = new Set(policy.gates.map(({ run }) => run))
  for (const { key, project, spec } of others)
    if (key !== task.key && project === task.project) for (const run of spec.gates ?? []) shared.add(run)
  return gates.map(run => ({
    name: run,
    run,
    timeoutMs: commandTimeoutMs,
    mayWrite: false,
    ...(shared.has(run) ? {} : { own: true as const }),
  }))
}

export const runOf = (task: Task, run: RunId): Run | undefined => task.runs.find(({ id }) => id === run)
