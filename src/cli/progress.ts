// Progress of a foreground run: one line a change, one live line at the bottom of a terminal, and the end.

import { type TaskView } from '../core/api.ts'
import { type Event } from '../core/event.ts'
import { apply, emptyFleet } from '../core/fleet.ts'
import { age } from '../core/quantity.ts'
import { sentenceOf } from '../core/sentence.ts'
import { jsonLine, namesOf, oneLine } from '../core/timeline.ts'
import { type Client } from '../daemon/client.ts'
import { visible, widthOf } from './columns.ts'
import { type Io } from './io.ts'
import { painted, reasonWords } from './words.ts'

export type Watching = {
  call?: string
  repo: string
  names: string[] | undefined
  json: boolean
  /** How many of the tasks another call is at. */
  already?: number
  /** What still waits at the end is stopped: what is summed up is what is so then. */
  stop?: boolean
}

/** Follows until everything rests; prints the changes and the end; gives the exit code. */
export async function watch(
  io: Io,
  client: Client,
  { call, repo, names, json, already = 0, stop = false }: Watching,
): Promise<number> {
  const began = io.now()
  const phases = new Map<string, Phase>()
  const fleet = emptyFleet()
  const onEvent = (event: Event) => {
    if (json) {
      apply(fleet, event)
      return io.print.out(jsonLine(event, namesOf(fleet, event)))
    }
    const change = changeOf(event)
    if (!change || !('task' in event) || event.task === undefined) return
    if (change.phase) phases.set(event.task, change.phase)
    if (change.text) io.print.note(`${padded(event.task)}  ${change.text}`)
    io.print.live(`${counted(phases)}   ${age(io.now() - began)}`)
  }
  if (!json) for (const task of await found(io, client, repo, names)) io.print.note(task)
  // With the names: a loop that took over does not know the call.
  const followed = { ...(call && { call }), repo, ...(names && { tasks: names }) }
  const ended = await client.follow(followed, onEvent)
  if (stop && call) await client.call('interrupt', { call, force: false, only: 'runs', by: 'no-detach' })
  // 1 goes before 5, and 5 before 3 (docs/decisions/0027); the loop knows nothing of what is not this call's.
  const exit = already > 0 && (ended.exit === 0 || ended.exit === 3) ? 5 : ended.exit
  const { tasks } = await client.call('ls', { repo, all: true })
  const mine = names ? tasks.filter(task => names.includes(task.task)) : tasks.filter(isOpen)
  if (json) io.print.json({ kind: 'summary', tasks: mine, exit })
  else {
    const { items } = await client.call('inbox', { repo })
    const needed = items.some(item =>
      mine.some(({ task }) => task === item.task || item.blocks.includes(task)),
    )
    sumUp(io, mine, needed)
  }
  return exit
}

/**
 * What nothing will begin for now, with the reason: a limit, a pause, a person; and what a call without tasks of its
 * own goes on with. No fact of this call tells it.
 */
async function found(io: Io, client: Client, repo: string, names: string[] | undefined): Promise<string[]> {
  const { tasks } = await client.call('ls', { repo, all: false })
  return tasks.flatMap(task => {
    const { status, waitsFor, reasonCode } = task
    const isShut = waitsFor === 'quota' || waitsFor === 'person' || reasonCode === 'paused'
    const isShutOut = status === 'queued' && isShut && (names === undefined || names.includes(task.task))
    const word = isShutOut ? 'waits' : names === undefined && goingOn.has(status) ? 'goes on' : undefined
    const reason = visible(reasonWords(task, io.now()))
    return word === undefined ? [] : [`${padded(task.task)}  ${word}: ${reason}`]
  })
}

const goingOn: ReadonlySet<Phase> = new Set(['preparing', 'running', 'retrying', 'verifying', 'landing'])

const isOpen = (task: TaskView): boolean => task.status !== 'landed' && task.status !== 'dropped'

const nameWidth = 20
const statusWidth = 9
const padded = (name: string): string => name + ' '.repeat(Math.max(0, nameWidth - widthOf(name)))

const order: Phase[] = [
  'waiting',
  'failed',
  'running',
  'preparing',
  'verifying',
  'landing',
  'retrying',
  'queued',
  'ready',
  'landed',
]

function counted(phases: Map<string, Phase>): string {
  const counts = new Map<Phase, number>()
  for (const phase of phases.values()) counts.set(phase, (counts.get(phase) ?? 0) + 1)
  return order.flatMap(phase => (counts.has(phase) ? [`${counts.get(phase)} ${phase}`] : [])).join('  ')
}

/** The last lines of a run: each task with its status and reason, then what to type next. */
function sumUp(io: Io, tasks: TaskView[], needed: boolean): void {
  const { print } = io
  if (tasks.length === 0) return print.note('nothing is open here')
  print.note('')
  for (const task of tasks) {
    const status = painted(print.notePaint, task.status, task.status.padEnd(statusWidth))
    print.note(`${padded(task.task)}  ${status}  ${visible(task.reason)}`)
  }
  if (tasks.some(task => task.status === 'ready' && task.land === 'ask')) print.hint('berth land')
  if (tasks.some(task => task.reasonCode === 'interrupted')) print.hint('berth run')
  if (needed) print.hint('berth inbox')
}

type Phase = TaskView['status']

/** Facts that change what a looker-on would call a task, and whether they are worth a line. */
const shown: { [kind in Event['kind']]?: { phase?: Phase; quiet?: true } } = {
  'task.submitted': { phase: 'queued', quiet: true },
  'task.held': { phase: 'queued' },
  'task.stopped': { phase: 'stopped' },
  'workspace.claimed': { phase: 'preparing', quiet: true },
  'workspace.ready': { phase: 'preparing' },
  'workspace.missing': { phase: 'retrying' },
  'workspace.failed': { phase: 'failed' },
  'workspace.stuck': {},
  'setup.exited': {},
  'run.started': { phase: 'running' },
  'run.reported': { phase: 'running' },
  'run.limited': { phase: 'retrying' },
  'run.signed-out': { phase: 'retrying' },
  'run.lost': { phase: 'retrying' },
  'run.exited': { phase: 'verifying', quiet: true },
  'run.collected': {},
  'question.asked': { phase: 'waiting' },
  'question.answered': { phase: 'running' },
  'question.expired': { phase: 'running' },
  'gate.exited': {},
  'task.ready': { phase: 'ready' },
  'task.red': { phase: 'retrying' },
  'landing.claimed': { phase: 'landing', quiet: true },
  'landing.landed': { phase: 'landed' },
  'landing.failed': { phase: 'ready' },
  'work.saved': {},
  'notice.given': {},
}

/** What a fact changes for somebody who looks on; undefined for most. */
export function changeOf(event: Event): { phase?: Phase; text?: string } | undefined {
  const known = shown[event.kind]
  if (!known) return undefined
  const working = event.kind === 'run.reported' && event.activity === 'working'
  const passed = event.kind === 'setup.exited' && event.code === 0
  // What becomes of it is a fact of its own, which says why.
  const red = event.kind === 'gate.exited' && (event.code !== 0 || event.reason !== undefined)
  const blocked = event.kind === 'run.reported' && event.activity === 'blocked'
  const phase = blocked ? 'waiting' : known.phase
  const silent = known.quiet || passed || red || (working && event.note === '')
  return { ...(phase && { phase }), ...(!silent && { text: oneLine(sentenceOf(event)) }) }
}
