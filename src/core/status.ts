// A task's status, derived: one of twelve words, why, until when, and what it waits for.

import { type ReasonCode, type Status, type WaitsFor, reasonCodes } from './api.ts'
import { type Clock } from './clock.ts'
import { type Fleet, liveTasks } from './fleet.ts'
import { asksPerson } from './ready.ts'
import { openQuestion } from './run.ts'
import { holdsQueue, mends, obstacleOf, shut } from './schedule.ts'
import { type Stage, interruptionOf, stageOf } from './stage.ts'
import { type Task } from './task.ts'
import { redBefore } from './words.ts'

export type StatusView = {
  status: Status
  reasonCode: ReasonCode
  /** One sentence with the evidence. */
  reason: string
  /** Wall ms. */
  until: number | null
  waitsFor: WaitsFor | null
}

/** `live`: whether a loop works on it; a reader without one says what was cut off. */
export function statusOf(fleet: Fleet, task: Task, clock: Clock, live = true): StatusView {
  const stage = stageOf(fleet, task)
  switch (stage.is) {
    case 'gone':
      return as(stage.as, stage.as)
    case 'removing':
    case 'left':
      return removalStatus(fleet, task, clock, stage, live)
    case 'landing':
      if (!live) return person('landing', 'cut-off', 'its landing was cut off')
      return as(
        'landing',
        'integrating',
        stage.landing.phase === 'tested'
          ? 'its merge is tested and goes into the target'
          : reasonCodes.integrating,
      )
    case 'alive':
      return aliveStatus(stage, live)
    case 'collecting':
      if (!live)
        return person('verifying', 'cut-off', 'its agent has ended; nobody has looked at what it left')
      return task.stopped === undefined ? as('verifying', 'collecting') : stoppedStatus(task)
    case 'stopped':
      return stoppedStatus(task)
    case 'preparing':
      return preparingStatus(fleet, task, stage, live)
    case 'failed':
      return as('failed', stage.code, stage.sentence)
    case 'held':
      return person('queued', task.held?.reason ?? 'config', task.held?.detail)
    case 'queued':
    case 'again':
      return startStatus(fleet, task, stage, clock)
    case 'verifying':
      return verifyingStatus(fleet, task, live)
    case 'decide':
      return person('verifying', 'decide', stage.sentence)
    case 'ready':
      return readyStatus(fleet, task, stage, clock)
  }
}

const as = (
  status: Status,
  reasonCode: ReasonCode,
  reason: string = reasonCodes[reasonCode],
): StatusView => ({
  status,
  reasonCode,
  reason,
  until: null,
  waitsFor: null,
})

const person = (status: Status, code: ReasonCode, reason?: string): StatusView => ({
  ...as(status, code, reason),
  waitsFor: 'person',
})

function stoppedStatus(task: Task): StatusView {
  const why = interruptionOf(task)
  return why === undefined ? as('stopped', 'stopped') : as('stopped', 'interrupted', why)
}

// Up to here a removal that stopped has changed nothing, and the task is what it was.
const untouched = new Set(['refuse', 'cancel', 'quit', 'kill', 'save', 'aside', 'bug'])

function removalStatus(
  fleet: Fleet,
  task: Task,
  clock: Clock,
  stage: Stage & { is: 'removing' | 'left' },
  live: boolean,
): StatusView {
  const why =
    stage.is === 'left'
      ? `its workspace is not removed: ${stage.removal.reason}`
      : live
        ? 'its workspace is being removed'
        : 'the removal of its workspace was cut off'
  if (task.landing?.phase === 'landed') return as('landed', 'landed', `${reasonCodes.landed}; ${why}`)
  if (stage.is === 'left' && stage.removal.phase === 'stuck' && !untouched.has(stage.removal.step))
    return as('dropped', 'dropped', why)
  const { removal: _removal, dropped: _dropped, ...before } = task
  const status = statusOf(fleet, before, clock, live)
  return { ...status, reason: `${status.reason}; ${why}` }
}

function aliveStatus({ run, end }: Stage & { is: 'alive' }, live: boolean): StatusView {
  if (end !== undefined)
    return live ? as('running', 'ending') : person('running', 'cut-off', 'its agent was to be ended')
  if (run.state.phase === 'claimed' && !live)
    return person('preparing', 'cut-off', 'the start of its agent was cut off')
  if (run.state.phase === 'claimed') return as(run.attempt === 1 ? 'preparing' : 'running', 'starting')
  const question = openQuestion(run)
  if (question !== undefined) return person('waiting', 'question', `its agent asks: ${question.text}`)
  const { is, note, from } = run.activity
  if (is === 'blocked') {
    const code = from === 'engine' ? 'permission' : 'blocked'
    return person('waiting', code, note === '' ? reasonCodes[code] : `${reasonCodes[code]}: ${note}`)
  }
  if (is === 'quiet') return as('running', 'quiet', note === '' ? reasonCodes.quiet : note)
  return as('running', 'working', note === '' ? reasonCodes.working : `its agent: ${note}`)
}

function preparingStatus(
  fleet: Fleet,
  task: Task,
  { workspace }: Stage & { is: 'preparing' },
  live: boolean,
): StatusView {
  if (!live || (workspace.loop < fleet.loops && shut(fleet, task) !== undefined))
    return person('preparing', 'cut-off', 'the making of its workspace was cut off')
  if (workspace.setup === undefined) return as('preparing', 'creating')
  return as('preparing', 'setup', `setup command '${workspace.setup.command}' is running`)
}

function startStatus(
  fleet: Fleet,
  task: Task,
  stage: Stage & { is: 'queued' | 'again' },
  clock: Clock,
): StatusView {
  const status = stage.is === 'again' ? 'retrying' : 'queued'
  const obstacle = obstacleOf(fleet, task, stage, clock)
  if (obstacle !== undefined) {
    const { code, waitsFor, until } = obstacle
    const before =
      stage.is === 'again' && !['backoff', 'quota', 'signed-out'].includes(code) ? `${stage.sentence}; ` : ''
    return {
      status,
      reasonCode: code,
      reason: `${before}${obstacle.sentence}`,
      until: until ?? null,
      waitsFor,
    }
  }
  if (stage.is === 'queued' && stage.wants === 'run') return as('preparing', 'starting')
  return { ...as(status, 'slot'), waitsFor: 'slot' }
}

function verifyingStatus(fleet: Fleet, task: Task, live: boolean): StatusView {
  if (!live) return person('verifying', 'cut-off', 'its gates have not judged it yet')
  const obstacle = shut(fleet, task)
  if (obstacle !== undefined) return person('verifying', obstacle.code, obstacle.sentence)
  return as(
    'verifying',
    'gates',
    task.gate === undefined ? reasonCodes.gates : `gate '${task.gate.name}' is running`,
  )
}

function readyStatus(fleet: Fleet, task: Task, stage: Stage & { is: 'ready' }, clock: Clock): StatusView {
  if (stage.block !== undefined) {
    const status = as('ready', stage.block.code, stage.block.sentence)
    return task.spec.land === 'never' && !asksPerson(stage) ? status : { ...status, waitsFor: 'person' }
  }
  const { gates, red } = stage.verification
  const passed =
    red !== undefined
      ? redBefore(red)
      : gates.length === 0
        ? 'its agent is done, and there is no gate'
        : `its gates passed: ${gates.join(', ')}`
  if (!stage.wanted) {
    if (task.spec.land === 'never') return as('ready', 'ready', passed)
    return person('ready', 'ready', `${passed}; it waits for \`berth land\``)
  }
  const obstacle = shut(fleet, task)
  if (obstacle !== undefined) return person('ready', obstacle.code, obstacle.sentence)
  if (fleet.paused) return person('ready', 'paused')
  const holder = queueHolder(fleet, task)
  if (holder !== undefined) return person('ready', holder.code, holder.sentence)
  const until = stage.at > clock.awake ? clock.wall + stage.at - clock.awake : null
  return { ...as('ready', 'ready', `${passed}; it waits for its turn to land`), until, waitsFor: 'landing' }
}

function queueHolder(fleet: Fleet, task: Task): { code: ReasonCode; sentence: string } | undefined {
  for (const other of liveTasks(fleet)) {
    if (other.project !== task.project || other.key === task.key || other.landing?.phase !== 'failed')
      continue
    const stage = stageOf(fleet, other)
    if (stage.is === 'ready' && holdsQueue(stage) && !mends(task, other)) return stage.block
  }
  return undefined
}
