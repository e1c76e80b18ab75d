// Requests that remove, save and give back: rm, saved work, reconcile, purge.

import { existsSync, rmSync } from 'node:fs'
import { dirname } from 'node:path'
import { type Finished, type Left, type RemovalAnswer, type Requests } from '../../core/api.ts'
import { BerthError } from '../../core/errors.ts'
import { type Event, type Fact } from '../../core/event.ts'
import { isBare, isGone, keyOf, liveRun, type Task } from '../../core/task.ts'
import { sentenceOf } from '../../core/sentence.ts'
import { count, failedWhile, list } from '../../core/words.ts'
import { listArchive } from '../../git/archive.ts'
import { inDirectory } from '../../git/git.ts'
import { restoreSaved } from '../../git/restore.ts'
import { removeSaved } from '../../git/saved.ts'
import { integrationTask } from '../../workspace/mergespace.ts'
import { purge } from '../../workspace/purge.ts'
import { reconcile } from '../../workspace/reconcile.ts'
import { outputOf, type Site } from '../../workspace/site.ts'
import { reconcileRecords } from '../looks.ts'
import { removalRecord } from '../perform/teardown.ts'
import { projectSite } from '../perform/site.ts'
import { fleetOf, type Shell } from '../shell.ts'
import { knownProject } from './project.ts'
import { savedNamed, taskNamed } from './views.ts'
import { until } from './until.ts'

/** A removal has limits of its own for each step; this is for all of it. */
const removeMs = 15 * 60_000

export async function removeTasks(
  shell: Shell,
  params: Requests['rm']['params'],
): Promise<Requests['rm']['answer']> {
  const project = await knownProject(shell, params.repo, params.tasks)
  const tasks = params.tasks.map(name => taskNamed(fleetOf(shell), project.id, name))
  return { removed: await Promise.all(tasks.map(task => removeTask(shell, task, params))) }
}

async function removeTask(
  shell: Shell,
  task: Task,
  { mode, wait, cwd }: Requests['rm']['params'],
): Promise<RemovalAnswer> {
  const of = { project: task.project, task: task.name }
  const done: RemovalAnswer = { task: task.name, is: 'removed', branch: 'none', named: [], stashes: 0 }
  // What it has left is its branch, if that was kept.
  if (isGone(task) && !(mode.branch && task.workspace)) return { ...done, already: true }
  if (liveRun(task) !== undefined && !mode.stop)
    return refusal(task, 'live-run', `'${task.name}' has a live run`, `berth stop ${task.name}`)
  if (isBare(task) && !isGone(task) && liveRun(task) === undefined) {
    shell.loop.record([{ kind: 'task.dropped', by: 'person', ...of }])
    return done
  }
  const from = fleetOf(shell).seq + 1
  shell.typedAt.set(task.key, cwd)
  // A removal that is refused after it ended the run must not set the agent to work again.
  const ended: Fact[] =
    liveRun(task) === undefined || task.stopped ? [] : [{ kind: 'task.stopped', by: 'person', ...of }]
  shell.loop.record([...ended, { kind: 'teardown.asked', mode, ...of }])
  await until(shell, removeMs, () => settled(shell, task, { from, wait }))
  return answerOf(shell, task, from)
}

const refusal = (task: Task, code: string, reason: string, hint: string): RemovalAnswer => ({
  task: task.name,
  is: 'refused',
  code,
  reason,
  hint,
  losses: [],
  holders: [],
})

/** The end of this removal, or, for one who does not wait, the step after which it can only go on. */
function settled(shell: Shell, { key }: Task, { from, wait }: { from: number; wait: boolean }): boolean {
  const removal = fleetOf(shell).tasks.get(key)?.removal
  if (removal === undefined || removal.since.seq < from) return false
  if (removal.phase !== 'asked') return true
  return (
    !wait &&
    (removal.step === 'unregister' ||
      removal.step === 'delete' ||
      removal.step === 'branch' ||
      removal.step === 'release')
  )
}

function answerOf(shell: Shell, task: Task, from: number): RemovalAnswer {
  const removal = fleetOf(shell).tasks.get(task.key)?.removal
  const events = [...shell.store.read({ project: task.project, task: task.name, from })]
  const saved = events.flatMap(event => (event.kind === 'work.saved' ? [event.id] : [])).at(-1)
  const also = { task: task.name, ...leftOf(events), ...(saved === undefined ? {} : { saved }) }
  switch (removal?.phase) {
    case 'done':
      return { ...also, is: 'removed' }
    case 'refused': {
      const { code, reason, hint, losses, holders } = removal
      return {
        task: task.name,
        is: 'refused',
        code,
        reason,
        losses,
        holders,
        ...(hint === undefined ? {} : { hint }),
      }
    }
    case 'stuck':
      return {
        task: task.name,
        is: 'stuck',
        step: removal.step,
        reason: removal.reason,
        holders: removal.holders,
      }
    default:
      return { ...also, is: 'aside' }
  }
}

/** As the removal said: what became of the branch, before that what will become of it, and what it left alone. */
function leftOf(events: readonly Event[]): Left {
  const left: Left = { branch: 'none', named: [], stashes: 0 }
  for (const event of events) {
    if (event.kind === 'teardown.stepped' && event.leaves) {
      const { branch, named, stashes } = event.leaves
      Object.assign(left, { named, stashes })
      if (branch?.is === 'goes') left.branch = 'going'
      if (branch?.is === 'kept') keep(left, branch)
    }
    if (event.kind === 'branch.kept') keep(left, event)
    if (event.kind === 'branch.deleted') left.branch = 'deleted'
  }
  if (left.branch !== 'kept') delete left.kept
  return left
}

function keep(left: Left, { branch, commit, reason, hint }: NonNullable<Left['kept']>): void {
  left.branch = 'kept'
  left.kept = { branch, commit, reason, ...(hint === undefined ? {} : { hint }) }
}

export async function removeSavedWork(
  shell: Shell,
  { repo, ids, yes, by }: Requests['savedRm']['params'],
): Promise<Requests['savedRm']['answer']> {
  const project = await knownProject(shell, repo)
  const found = ids.map(id => savedNamed(fleetOf(shell), project.id, id))
  if (!yes) for (const { saved } of found) await refuseLastCopy(saved, ids)
  for (const { task, saved } of found) {
    if (!(await removeSaved(project.repo, { ref: saved.ref, commit: saved.commit })))
      throw new BerthError(
        'failed',
        `'${saved.ref}' is not at the commit that was saved any more`,
        `berth saved show ${saved.id}`,
      )
    if (saved.archive !== undefined) rmSync(saved.archive, { force: true })
    shell.loop.record([{ kind: 'saved.removed', id: saved.id, by, project: project.id, task: task.name }])
  }
  return { removed: ids, commits: found.map(({ saved }) => saved.commit) }
}

/** Git keeps a commit for a while that no ref holds; an archive is gone at once, and nothing else holds its files. */
async function refuseLastCopy({ id, archive }: Task['saved'][number], ids: string[]): Promise<void> {
  if (archive === undefined || !existsSync(archive)) return
  const paths = await listArchive(archive).catch(() => [archive])
  if (paths.length === 0) return
  const message = `files of '${id}' would be lost that no commit holds: ${list(paths)}`
  throw new BerthError('loss', message, `berth saved rm ${ids.join(' ')} --yes`)
}

export async function restoreWork(
  shell: Shell,
  params: Requests['restore']['params'],
): Promise<Requests['restore']['answer']> {
  const project = await knownProject(shell, params.repo)
  const { id } = params
  const { task, saved } = savedNamed(fleetOf(shell), project.id, id)
  const way = restoreWay(shell, project.id, params, task)
  const done = await restoreSaved(project.repo, {
    ref: saved.ref,
    archive: saved.archive ?? null,
    ...(way.is === 'worktree'
      ? { to: 'worktree', worktree: inDirectory(project.repo, way.path) }
      : { to: 'branch', branch: way.branch }),
  })
  // Without a name for it the branch gets one by itself.
  const otherwise =
    way.is === 'branch' && params.to === undefined
      ? `berth restore ${id} --to ${way.branch}-2`
      : `berth restore ${id}`
  if (done.is === 'refused')
    throw 'code' in done
      ? new BerthError(done.code, done.reason, otherwise)
      : new BerthError('refused', done.reason, done.hint)
  if (done.is === 'conflict')
    throw new BerthError('refused', `it conflicts in ${list(done.paths)}`, otherwise)
  if (done.is === 'failed') throw new BerthError('failed', failedWhile(done))
  shell.loop.record([{ kind: 'work.restored', id, to: done.to, project: project.id, task: task.name }])
  const { to, left } = done
  if (left.length === 0) return { to, left }
  const hasPlace = way.is === 'branch' && task.workspace?.phase === 'ready'
  return { to, left, hint: hasPlace ? `berth restore ${id} --task ${task.name}` : `berth saved show ${id}` }
}

type Way = { is: 'worktree'; path: string } | { is: 'branch'; branch: string }

function restoreWay(
  shell: Shell,
  project: string,
  { to, task: name, id }: Requests['restore']['params'],
  from: Task,
): Way {
  if (name === undefined) return { is: 'branch', branch: to ?? `restored/${from.name}-${id.slice(-8)}` }
  const task = taskNamed(fleetOf(shell), project, name)
  if (task.workspace?.phase !== 'ready')
    throw new BerthError('refused', `'${name}' has no worktree`, `berth restore ${id}`)
  if (liveRun(task) !== undefined)
    throw new BerthError('live-run', `'${name}' has a live run`, `berth stop ${name}`)
  return { is: 'worktree', path: task.workspace.path }
}

export async function reconcileProject(
  shell: Shell,
  { repo, fix }: Requests['reconcile']['params'],
): Promise<Requests['reconcile']['answer']> {
  const project = await knownProject(shell, repo)
  if (!project.policy) return { differences: [], finished: [] }
  // A loop that only finishes what was begun does that first: then there is one state to compare.
  const isBrief = fleetOf(shell).admission === 'closed'
  if (isBrief) await shell.loop.idle()
  const site = await projectSite(shell, project, project.policy, shell.env)
  const onFact = async (fact: Fact): Promise<void> => void shell.loop.record([fact])
  const records = reconcileRecords(fleetOf(shell), project.id)
  const differences = await reconcile(site, records, fix ? onFact : undefined)
  return { differences, finished: isBrief ? finishedBy(shell, project.id) : [] }
}

const finishing: readonly Fact['kind'][] = [
  'run.exited',
  'run.lost',
  'landing.landed',
  'landing.failed',
  'workspace.removed',
]

/** Since this loop began. */
function finishedBy(shell: Shell, project: string): Finished[] {
  const [began] = shell.store.read({ kinds: ['loop.started'], newestFirst: true, limit: 1 })
  const query = { project, kinds: finishing, from: began?.seq ?? fleetOf(shell).seq }
  return [...shell.store.read(query)].flatMap(event =>
    'task' in event && event.task !== undefined ? [{ task: event.task, sentence: sentenceOf(event) }] : [],
  )
}

export async function purgeProject(
  shell: Shell,
  { repo, yes }: Requests['purge']['params'],
): Promise<Requests['purge']['answer']> {
  const project = await knownProject(shell, repo)
  if (!project.policy) return { would: [], removed: [], kept: [], stays: [] }
  const site = await projectSite(shell, project, project.policy, shell.env)
  const tasks = [...fleetOf(shell).tasks.values()].filter(task => task.project === project.id)
  const records = tasks
    .filter(task => !isBare(task))
    .flatMap(task => {
      const known = removalRecord(shell, site, task)
      return known ? [{ ...known, ...known.workspace }] : []
    })
  const voice = {
    signal: shell.ended,
    onFact: async (fact: Parameters<Shell['loop']['record']>[0][number]) => void shell.loop.record([fact]),
  }
  const found = await purge(site, records, { yes, records: recordsOf(shell, site) }, voice)
  const facts = count(tasks.length, 'task')
  return {
    ...found,
    stays: tasks.length === 0 ? [] : [`the timeline, with the facts of ${facts}, which 'berth log' shows`],
  }
}

/** Of every run there ever was, and of setup commands and gates, the integration workspace's too. */
function recordsOf(shell: Shell, site: Site): { task: string; dirs: string[] }[] {
  const { runs, tasks } = fleetOf(shell)
  const { paths } = shell
  const { project } = site
  const own = (key: string, task: string): boolean => key === keyOf({ project, task })
  const ofRuns = [...runs].filter(([, { key, task }]) => own(key, task))
  const names = [...tasks.values()].flatMap(({ key, name }) => (own(key, name) ? [name] : []))
  return [
    ...ofRuns.map(([run, { task }]) => ({ task, dirs: [paths.run(run)] })),
    ...[...names, integrationTask].map(task => ({
      task,
      dirs: [
        outputOf(site, task, 'any'),
        paths.brief(project, task, ''),
        paths.prompt(project, task, ''),
      ].map(file => dirname(file)),
    })),
  ]
}
