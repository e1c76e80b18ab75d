// Requests by which a person steers: stop, retry, pause, resume, land, answer, and the interruption of a call.

import { type Requests } from '../../core/api.ts'
import { answerFacts, isMendable, landFacts } from '../../core/action.ts'
import { rests } from '../../core/exit.ts'
import { findItems, viewOf } from '../../core/attention.ts'
import { noItem } from '../../core/noitem.ts'
import { BerthError } from '../../core/errors.ts'
import { type Fact } from '../../core/event.ts'
import { gitCall } from '../../core/shellword.ts'
import { type Stage, interruptionOf, stageOf } from '../../core/stage.ts'
import { statusOf } from '../../core/status.ts'
import { isGone, liveRun, type Task } from '../../core/task.ts'
import { operationInProgress } from '../../git/gitdir.ts'
import { inDirectory } from '../../git/git.ts'
import { type Repository } from '../../git/open.ts'
import { refuseMoved } from '../moved.ts'
import { fleetOf, type Shell } from '../shell.ts'
import { withdrawals } from '../withdrawn.ts'
import { knownProject, refreshProject } from './project.ts'
import { taskNamed } from './views.ts'
import { until } from './until.ts'
import { wouldLand } from './would.ts'

const of = (task: Task): { project: string; task: string } => ({ project: task.project, task: task.name })

/** Ending a tree takes its grace and then a moment; after this the answer is given all the same. */
const stopMs = 60_000

/** Ends what runs and keeps the workspaces; answers when the trees are ended. */
export async function stopTasks(
  shell: Shell,
  { repo, tasks: names, by }: Requests['stop']['params'],
): Promise<Requests['stop']['answer']> {
  const project = await knownProject(shell, repo, names)
  const tasks = names.map(name => taskNamed(fleetOf(shell), project.id, name))
  const done = (task: Task): boolean => isGone(task) || task.stopped !== undefined
  const [already, live] = [tasks.filter(done), tasks.filter(task => !done(task))]
  shell.loop.record(live.map(task => ({ kind: 'task.stopped', by, ...of(task) })))
  await untilStopped(shell, live)
  return { stopped: live.map(({ name }) => name), already: already.map(({ name }) => name) }
}

const underWay = (stage: Stage): boolean => stage.is === 'alive' || stage.is === 'collecting'

const untilStopped = (shell: Shell, tasks: readonly Task[]): Promise<boolean> =>
  until(shell, stopMs, () =>
    tasks.every(({ key }) => {
      const task = fleetOf(shell).tasks.get(key)
      return task === undefined || !underWay(stageOf(fleetOf(shell), task))
    }),
  )

/** The runs of a call are ended, its other tasks go no further; workspaces are kept (docs/decisions/0024). */
export async function interruptCall(
  shell: Shell,
  { call, force, only, by = 'interrupt' }: Requests['interrupt']['params'],
): Promise<object> {
  const keys = new Set(shell.calls.of(call))
  for (const task of fleetOf(shell).tasks.values()) if (task.call === call) keys.add(task.key)
  const tasks = [...keys]
    .flatMap(key => fleetOf(shell).tasks.get(key) ?? [])
    .filter(task => (only === 'runs' ? liveRun(task) !== undefined : !rested(shell, task)))
  shell.loop.record(
    tasks.filter(task => task.stopped === undefined).map(task => ({ kind: 'task.stopped', by, ...of(task) })),
  )
  if (force) for (const task of tasks) await forceEnd(shell, task)
  await untilStopped(shell, tasks)
  return {}
}

const rested = (shell: Shell, task: Task): boolean => {
  const { is } = stageOf(fleetOf(shell), task)
  return is === 'gone' || is === 'left' || is === 'removing' || is === 'ready' || is === 'failed'
}

async function forceEnd(shell: Shell, task: Task): Promise<void> {
  const run = liveRun(task)
  if (!run) return
  shell.forced.add(run.id)
  await shell.watch.stop(run.id, { graceMs: 0, force: true })
}

/** Another attempt; what is at work already is left alone. */
export async function retryTasks(
  shell: Shell,
  { repo, tasks: names, by, askedAt }: Requests['retry']['params'],
): Promise<Requests['retry']['answer']> {
  const project = await knownProject(shell, repo, names)
  const fresh = await refreshProject(shell, repo)
  // Nothing is waited for from here on: whoever asks at the same moment sees what this one recorded.
  const tasks = names.map(name => taskNamed(fleetOf(shell), project.id, name))
  for (const task of tasks) requireThere(shell, task)
  const done = (task: Task): boolean =>
    isGoing(shell, task) || (task.retried?.at ?? -Infinity) > (askedAt ?? Infinity)
  const [going, again] = [tasks.filter(done), tasks.filter(task => !done(task))]
  shell.loop.record([
    ...fresh,
    ...opening(shell, by),
    ...again.map(task => ({ kind: 'task.retried', by, ...of(task) }) as const),
  ])
  return { retried: again.map(({ name }) => name), already: going.map(({ name }) => name) }
}

function requireThere(shell: Shell, task: Task): void {
  if (!isGone(task)) return
  const { status } = statusOf(fleetOf(shell), task, shell.loop.clock())
  throw new BerthError('not-found', `'${task.name}' is ${status} and gone`, 'berth run "BRIEF"')
}

/** A run is alive, or about to be without anyone asking again. */
function isGoing(shell: Shell, task: Task): boolean {
  if (task.again || liveRun(task) !== undefined) return true
  if (task.awaitsResume || task.held !== undefined) return false
  const { is } = stageOf(fleetOf(shell), task)
  return (
    is === 'alive' ||
    is === 'collecting' ||
    is === 'preparing' ||
    is === 'queued' ||
    is === 'landing' ||
    is === 'removing'
  )
}

const opening = (shell: Shell, by: string): Fact[] =>
  fleetOf(shell).admission === 'closed' ? [{ kind: 'admission.opened', by }] : []

export function pauseFleet(shell: Shell, { by }: Requests['pause']['params']): Requests['pause']['answer'] {
  const already = fleetOf(shell).paused
  if (!already) shell.loop.record([{ kind: 'fleet.paused', by }])
  return { already }
}

/** With names, these tasks; without, the whole fleet and all that waits only for a person to say so. */
export async function resumeTasks(
  shell: Shell,
  { repo, tasks: names, by, trust }: Requests['resume']['params'],
): Promise<Requests['resume']['answer']> {
  const place = repo === undefined ? undefined : await shell.repositories.at(repo, shell.env)
  if (place !== undefined) await refuseMoved(place, fleetOf(shell))
  const project = place?.id
  const fresh =
    repo !== undefined && project !== undefined && fleetOf(shell).projects.has(project)
      ? await refreshProject(shell, repo, trust)
      : []
  const all = [...fleetOf(shell).live].flatMap(key => fleetOf(shell).tasks.get(key) ?? [])
  const tasks =
    names === undefined || names.length === 0
      ? all.filter(task => (project === undefined || task.project === project) && waitsForResume(task))
      : names.map(name => taskNamed(fleetOf(shell), project ?? '', name))
  for (const task of tasks) requireThere(shell, task)
  const held = fleetOf(shell).paused || fleetOf(shell).admission === 'closed'
  shell.loop.record([
    ...fresh,
    ...opening(shell, by),
    ...(fleetOf(shell).paused ? [{ kind: 'fleet.resumed', by } as const] : []),
    ...tasks.map(task => ({ kind: 'task.resumed', by, ...of(task) }) as const),
  ])
  const resumed = tasks.map(({ name }) => name)
  const going = all
    .filter(({ project: id }) => project === undefined || id === project)
    .flatMap(({ key, name }) => {
      const task = fleetOf(shell).tasks.get(key)
      const goes = task !== undefined && !rests(fleetOf(shell), task, shell.loop.clock())
      return goes && !resumed.includes(name) ? [name] : []
    })
  return { resumed, going, already: !held && resumed.length === 0 }
}

const waitsForResume = (task: Task): boolean =>
  task.awaitsResume || task.held !== undefined || interruptionOf(task) !== undefined

export async function landTasks(
  shell: Shell,
  { repo, tasks: names, dryRun, by }: Requests['land']['params'],
): Promise<Requests['land']['answer']> {
  const project = await knownProject(shell, repo, names)
  const own = [...fleetOf(shell).live]
    .flatMap(key => fleetOf(shell).tasks.get(key) ?? [])
    .filter(task => task.project === project.id)
  const ready = own.filter(task => stageOf(fleetOf(shell), task).is === 'ready')
  const tasks =
    names.length === 0
      ? ready.filter(task => !landsByName(task))
      : names.map(name => taskNamed(fleetOf(shell), project.id, name))
  const skipped = names.length === 0 ? ready.filter(landsByName).map(({ name }) => name) : []
  for (const task of tasks) requireLandable(shell, task)
  await Promise.all(tasks.map(task => requireFinished(shell, project, task)))
  if (dryRun) return { queued: await wouldLand(fleetOf(shell), project, tasks), skipped }
  const fresh = [...(await refreshProject(shell, repo)), ...(await withdrawals(shell, tasks))]
  shell.loop.record([
    ...fresh,
    ...opening(shell, by),
    ...tasks.flatMap(task => landFacts(task, stageOf(fleetOf(shell), task), by)),
  ])
  return { queued: tasks.map(({ name }) => ({ task: name })), skipped }
}

/** Its branch is to be kept as it is: only an order that names it lands it. */
const landsByName = ({ spec, landAsked }: Task): boolean => spec.land === 'never' && landAsked === undefined

function requireLandable(shell: Shell, task: Task): void {
  const stage = stageOf(fleetOf(shell), task)
  const { is } = stage
  if (isMendable(task, stage)) return
  // What is being verified lands as soon as it is ready: a person who resolved a conflict need not wait for it.
  if (is === 'ready' || is === 'landing' || is === 'verifying' || task.landing !== undefined) return
  const { status } = statusOf(fleetOf(shell), task, shell.loop.clock())
  const what = is === 'removing' ? 'is being removed' : `is ${status}, not ready`
  throw new BerthError('refused', `'${task.name}' ${what}`, `berth show ${task.name}`)
}

/** What a person mends by hand is looked at when it is whole: half of a merge is nothing to verify. */
async function requireFinished(shell: Shell, { repo }: { repo: Repository }, task: Task): Promise<void> {
  const { workspace } = task
  if (workspace?.phase !== 'ready' || !isMendable(task, stageOf(fleetOf(shell), task))) return
  const worktree = inDirectory(repo, workspace.path)
  const operation = await operationInProgress(worktree).catch(() => null)
  if (operation === null) return
  const reason = `'${task.name}' cannot land yet: a ${operation} in its worktree is not finished`
  throw new BerthError('refused', reason, gitCall(workspace.path, 'status'))
}

export async function answerItem(
  shell: Shell,
  params: Requests['answer']['params'],
): Promise<Requests['answer']['answer']> {
  const project =
    params.repo === undefined ? undefined : (await shell.repositories.at(params.repo, shell.env)).id
  const within = project === undefined ? {} : { project }
  const found = findItems(fleetOf(shell), shell.loop.clock(), { item: params.item, ...within })
  const [item] = found
  if (item === undefined) throw noItem(fleetOf(shell), shell.loop.clock(), { item: params.item, ...within })
  if (found.length > 1) {
    const ids = found.map(({ id }) => `'${id}'`).join(', ')
    throw new BerthError('usage', `'${params.item}' has more than one open item: ${ids}`, 'berth inbox')
  }
  const answered = answerFacts(item, params.answer, params.by)
  if (answered.is === 'facts') {
    shell.loop.record(answered.facts)
    return { item: viewOf(item) }
  }
  const typed = item.subject.is === 'run' && item.task?.spec.pty === true && params.answer !== null
  if (!typed || item.subject.is !== 'run') throw new BerthError('usage', answered.reason, answered.hint)
  // A terminal waits for what a person would type: the text and one Enter (docs/decisions/0029).
  const { task, run } = item.subject
  if (!(await shell.watch.input(run.id, `${params.answer}\r`)))
    throw new BerthError('failed', `the terminal of '${task.name}' takes no input`, `berth show ${task.name}`)
  shell.loop.record([
    { kind: 'run.reported', ...of(task), run: run.id, activity: 'working', note: '', from: 'clock' },
    { kind: 'attention.answered', item: item.id, answer: params.answer ?? '', by: params.by, ...of(task) },
  ])
  return { item: viewOf(item) }
}
