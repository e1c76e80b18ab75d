// What needs a person: items derived from the whole state, with evidence, what they block, and the ways out.

import { type Action, type ItemView, type ReasonCode } from './api.ts'
import { type Clock } from './clock.ts'
import { type Holder, type ItemKind } from './event.ts'
import { type Fleet, type Project, liveTasks } from './fleet.ts'
import { actionsOf } from './action.ts'
import { type Asked, type Moment, type Run, openQuestion, questionId } from './run.ts'
import { asksPerson } from './ready.ts'
import { holdsQueue, landingQueue, mends, shut, stagesOf } from './schedule.ts'
import { type Stage, stageOf } from './stage.ts'
import { type Evidence, doing, noted } from './words.ts'
import { type Task } from './task.ts'

/** What an item is about: what an answer to it acts on. */
export type Subject =
  | { is: 'question'; task: Task; run: Run; question: Asked }
  | { is: 'run'; task: Task; run: Run }
  | { is: 'task'; task: Task; stage: Stage }
  | { is: 'held'; project: Project; tasks: Task[]; reason: 'diverged' | 'target' | 'disk' | 'config' }
  | { is: 'consent'; project: Project }
  | { is: 'refused'; project: Project }
  | { is: 'account'; engine: string; account: string }
  | { is: 'disk' }
  | { is: 'damaged' }

export type Item = {
  id: string
  kind: ItemKind
  project: string
  task?: Task
  since: Moment
  reason: string
  evidence: Evidence[]
  blocks: string[]
  subject: Subject
  code?: ReasonCode
}

/** All open items, the most important first: by what they block, then priority, then age. */
export function items(fleet: Fleet, clock: Clock): ItemView[] {
  return openItems(fleet, clock).map(item => viewOf(item))
}

/** The open item with an id, or the only one of a task; `undefined` if there is none, or several. */
export function findItems(fleet: Fleet, clock: Clock, of: { item: string; project?: string }): Item[] {
  const all = openItems(fleet, clock).filter(
    ({ project }) => of.project === undefined || project === of.project || project === '',
  )
  const byId = all.filter(({ id }) => id === of.item)
  return byId.length > 0 ? byId : all.filter(({ task }) => task?.name === of.item)
}

export function openItems(fleet: Fleet, clock: Clock): Item[] {
  const behind = dependents(fleet)
  const all: Item[] = []
  for (const task of liveTasks(fleet)) all.push(...ofTask(fleet, task, behind))
  for (const project of fleet.projects.values()) all.push(...ofProject(fleet, project))
  all.push(...ofAccounts(fleet), ...ofFleet(fleet, clock))
  return all.sort(
    (a, b) =>
      b.blocks.length - a.blocks.length ||
      (b.task?.spec.priority ?? 0) - (a.task?.spec.priority ?? 0) ||
      a.since.seq - b.since.seq ||
      (a.id < b.id ? -1 : 1),
  )
}

export function viewOf(item: Item): ItemView {
  const { id, kind, project, task, since, reason, evidence, blocks, subject } = item
  return {
    id,
    kind,
    task: task?.name ?? null,
    project,
    since: new Date(since.at).toISOString(),
    reason,
    evidence: evidence.map(one => ({ ...one })),
    blocks,
    actions: actionsOf(item) satisfies Action[],
    ...(subject.is === 'question'
      ? { question: { text: subject.question.text, choices: subject.question.choices } }
      : {}),
  }
}

function ofTask(fleet: Fleet, task: Task, behind: Map<string, Task[]>): Item[] {
  const stage = stageOf(fleet, task)
  const blocks = blockedBy(task, behind)
  const item = (
    kind: ItemKind,
    since: Moment,
    reason: string,
    evidence: Evidence[],
    code?: ReasonCode,
  ): Item => ({
    id: `${kind}:${task.name}`,
    kind,
    project: task.project,
    task,
    since,
    reason,
    evidence,
    blocks,
    subject: { is: 'task', task, stage },
    ...(code === undefined ? {} : { code }),
  })
  switch (stage.is) {
    case 'left': {
      const { removal } = stage
      const evidence = removal.holders.map(holderEvidence)
      if (removal.phase === 'refused')
        evidence.push(...removal.losses.map(({ kind, examples }) => ({ kind, text: examples.join(', ') })))
      const step = removal.phase === 'stuck' ? `it stopped while ${doing(removal.step)}: ` : ''
      return [
        item('leftover', removal.since, `its workspace is not removed: ${step}${removal.reason}`, evidence),
      ]
    }
    case 'alive':
      return stage.end === undefined ? ofRun(task, stage.run, item) : []
    case 'failed':
      return [item(kindOfFailure(task, stage), sinceOf(task), stage.sentence, evidenceOf(stage), stage.code)]
    case 'decide':
      return [item('decide', sinceOf(task), stage.sentence, stage.evidence, 'decide')]
    case 'ready':
      if (stage.block === undefined || !asksPerson(stage)) return []
      return [
        item(
          kindOfBlock(stage.block.code),
          task.landing?.since ?? stage.verification.since,
          stage.block.sentence,
          stage.block.evidence,
          stage.block.code,
        ),
      ]
    default:
      return []
  }
}

const holderEvidence = ({ pid, command, what }: Holder): Evidence => ({
  kind: 'process',
  text: `${pid} ${command} (${what})`,
})

type Make = (kind: ItemKind, since: Moment, reason: string, evidence: Evidence[]) => Item

function ofRun(task: Task, run: Run, item: Make): Item[] {
  if (run.state.phase !== 'alive') return []
  const question = openQuestion(run)
  if (question !== undefined) {
    const evidence = question.choices.map(text => ({ kind: 'choice', text }))
    const asked = item('decide', question.since, `its agent asks: ${question.text}`, evidence)
    return [
      {
        ...asked,
        id: questionId(task.name, question),
        subject: { is: 'question', task, run, question },
      },
    ]
  }
  const { is, note, since } = run.activity
  const evidence = note === '' ? [] : [{ kind: 'note', text: note }]
  if (is === 'blocked')
    return [
      {
        ...item('blocked', since, `its agent says it is blocked${note && `: ${note}`}`, evidence),
        subject: { is: 'run', task, run },
      },
    ]
  if (is === 'quiet')
    return [
      {
        ...item('quiet', since, note || 'its agent has said nothing for long', evidence),
        subject: { is: 'run', task, run },
      },
    ]
  return []
}

function kindOfFailure(task: Task, stage: Stage & { is: 'failed' }): ItemKind {
  switch (stage.code) {
    case 'gate':
      return 'gate'
    case 'conflict':
      return 'conflict'
    case 'budget':
      return 'budget'
    case 'setup-failed':
      return 'setup'
    case 'create-failed':
      return task.workspace?.phase === 'stuck' ? 'leftover' : 'setup'
    default:
      return stage.paths !== undefined ? 'trespass' : 'failed'
  }
}

const evidenceOf = (stage: Stage & { is: 'failed' }): Evidence[] =>
  stage.hint === undefined ? stage.evidence : [...stage.evidence, { kind: 'hint', text: stage.hint }]

function kindOfBlock(code: ReasonCode): ItemKind {
  if (code === 'uncommitted-work' || code === 'protected') return 'approve'
  return code === 'decide' ? 'decide' : 'target'
}

// Since when it is as it is: the latest of what led there.
function sinceOf(task: Task): Moment {
  const run = task.runs.at(-1)
  const moments = [task.landing?.since, task.verification?.since, task.workspace?.since, task.submitted]
  if (run?.state.phase === 'collected') moments.push(run.state.since)
  return moments.reduce<Moment>(
    (latest, moment) => (moment !== undefined && moment.seq > latest.seq ? moment : latest),
    task.submitted,
  )
}

/** Names of those that a task holds up, of those that wait for them, and so on. */
function blockedBy(task: Task, behind: Map<string, Task[]>): string[] {
  const names = new Set<string>()
  const visit = (key: string): void => {
    for (const other of behind.get(key) ?? []) {
      if (names.has(other.name)) continue
      names.add(other.name)
      visit(other.key)
    }
  }
  visit(task.key)
  return [...names]
}

/** By the key of a task: those that come after it, and those whose landing it holds. */
function dependents(fleet: Fleet): Map<string, Task[]> {
  const behind = new Map<string, Task[]>()
  for (const task of liveTasks(fleet)) {
    if (task.runs.length > 0) continue
    for (const name of task.spec.after) {
      const key = `${task.project}/${name}`
      behind.set(key, [...(behind.get(key) ?? []), task])
    }
  }
  const stages = stagesOf(fleet)
  const queues = landingQueue(fleet, stages)
  for (const [task, stage] of stages) {
    const queue = queues.get(task.project)
    if (queue === undefined || stage.is !== 'ready' || !holdsQueue(stage)) continue
    const held = queue.filter(ready => !mends(ready, task))
    behind.set(task.key, [...(behind.get(task.key) ?? []), ...held])
  }
  return behind
}

const heldKinds = { diverged: 'target', target: 'target', disk: 'disk', config: 'config' } as const

function ofProject(fleet: Fleet, project: Project): Item[] {
  const found: Item[] = []
  const waiting = [...liveTasks(fleet)].filter(task => task.project === project.id && wantsStart(fleet, task))
  const blocks = waiting.map(({ name }) => name)
  const item = (kind: ItemKind, since: Moment, reason: string, names: string[], subject: Subject): Item => ({
    id: `${kind}:${project.name}`,
    kind,
    project: project.id,
    since,
    reason,
    evidence: [],
    blocks: names,
    subject,
  })
  if (project.refused !== undefined) {
    const evidence = project.refused.hint === undefined ? [] : [{ kind: 'hint', text: project.refused.hint }]
    found.push({
      ...item('config', project.refused.since, project.refused.reason, blocks, { is: 'refused', project }),
      evidence,
    })
  }
  const asks = project.hash !== '' && !project.consented.includes(project.hash)
  const consent = waiting.filter(task => asks || task.held?.reason === 'consent')
  const first = consent[0]
  if (first !== undefined) {
    const reason = `'${project.source ?? 'berth.toml'}' makes Berth run commands that nobody has approved`
    found.push(
      item(
        'approve',
        first.held?.since ?? first.submitted,
        first.held?.detail ?? reason,
        consent.map(({ name }) => name),
        { is: 'consent', project },
      ),
    )
  }
  for (const reason of ['diverged', 'target', 'disk', 'config'] as const) {
    const tasks = waiting.filter(({ held }) => held?.reason === reason)
    const held = tasks[0]?.held
    if (held === undefined) continue
    const names = tasks.map(({ name }) => name)
    found.push({
      ...item(heldKinds[reason], held.since, held.detail, names, { is: 'held', project, tasks, reason }),
      id: `${heldKinds[reason]}:${project.name}:${reason}`,
    })
  }
  return found
}

function wantsStart(fleet: Fleet, task: Task): boolean {
  const stage = stageOf(fleet, task)
  return (stage.is === 'queued' || stage.is === 'again' || stage.is === 'held') && !task.awaitsResume
}

/** What a closed admission keeps from going on: starts, gates, and landings that were asked for. */
function wantsRoom(fleet: Fleet, task: Task): boolean {
  const stage = stageOf(fleet, task)
  const lands = stage.is === 'ready' && stage.wanted && stage.block === undefined
  return lands || stage.is === 'preparing' || stage.is === 'verifying' || wantsStart(fleet, task)
}

function ofAccounts(fleet: Fleet): Item[] {
  const found: Item[] = []
  for (const { engine, account, evidence, since, key } of fleet.signedOut.values()) {
    const waiting = [...liveTasks(fleet)].filter(
      task => task.spec.engine === engine && (task.spec.account ?? '') === account && wantsStart(fleet, task),
    )
    const task = fleet.tasks.get(key)
    if (waiting.length === 0) continue
    found.push({
      id: account === '' ? `signed-out:${engine}` : `signed-out:${engine}:${account}`,
      kind: 'signed-out',
      project: task?.project ?? waiting[0]?.project ?? '',
      ...(task === undefined || !waiting.includes(task) ? {} : { task }),
      since,
      reason: noted(`'${engine}' is signed out`, evidence),
      evidence: [{ kind: 'output', text: evidence }],
      blocks: waiting.map(({ name }) => name),
      subject: { is: 'account', engine, account },
    })
  }
  return found
}

function ofFleet(fleet: Fleet, clock: Clock): Item[] {
  const found: Item[] = []
  const now: Moment = fleet.last ?? { seq: 0, at: clock.wall, awake: clock.awake }
  if (fleet.closedBy === 'disk') {
    const blocks = [...liveTasks(fleet)]
      .filter(task => wantsRoom(fleet, task) && shut(fleet, task) !== undefined)
      .map(({ name }) => name)
    found.push({
      id: 'disk',
      kind: 'disk',
      project: '',
      since: fleet.closedAt ?? now,
      reason: 'the disk was full; nothing new is started',
      evidence: [],
      blocks,
      subject: { is: 'disk' },
    })
  }
  if (fleet.damaged !== undefined) {
    const { what, kept, missing, since } = fleet.damaged
    const evidence = [
      { kind: 'kept', text: kept },
      { kind: 'missing', text: missing },
    ]
    found.push({
      id: 'damaged',
      kind: 'damaged',
      project: '',
      since,
      reason: `the store was damaged: ${what}`,
      evidence,
      blocks: [],
      subject: { is: 'damaged' },
    })
  }
  return found
}
