// One task on one screen: what it is, what ran, what passed, what would be lost, what needs a person.

import { type RunView, type ShowView } from '../core/api.ts'
import { lossLine } from '../core/loss.ts'
import { shellWord } from '../core/shellword.ts'
import { age, duration } from '../core/quantity.ts'
import { branchRules, count, gatePlaces } from '../core/words.ts'
import { fit, visible, visibleLines } from './columns.ts'
import { type Io } from './io.ts'
import { printItem } from './itemlines.ts'
import { changeWords, painted, reasonWords } from './words.ts'

export function printTask(io: Io, task: ShowView): void {
  const { print } = io
  const { bold } = print.paint
  print.out(
    `${bold(task.task)}  ${painted(print.paint, task.status)}  ${visible(reasonWords(task, io.now()))}`,
  )
  for (const [name, value] of facts(io, task))
    if (value !== '') print.out(`${name.padEnd(10)} ${visible(value)}`)
  const section = (title: string, lines: string[]) => printSection(io, title, lines)
  section('brief', visibleLines(task.brief.trimEnd()).split('\n'))
  const runs = task.runs.map(run => runLine(io, run))
  section('runs', runs)
  const gates = task.gates.flatMap(gate => gateLines(io, gate))
  section('gates', gates)
  const questions = task.questions.map(
    one => `${one.text}  ${one.answer === null ? `(${one.state})` : `-> ${one.answer}`}`,
  )
  section('questions', questions.map(visible))
  section('notes', task.notes.map(visible))
  const losses = task.losses.map(loss => visible(lossLine(loss)))
  section('would be lost by rm', losses)
  const saved = task.saved.map(one => `${one.id}  ${visible(one.why)}`)
  section('saved work', saved)
  for (const item of task.items) printItem(io, item, true)
}

function facts(io: Io, task: ShowView): [string, string][] {
  const { usd, inputTokens, outputTokens } = task.cost
  const cost =
    usd + inputTokens + outputTokens === 0
      ? ''
      : `$${usd.toFixed(2)}, ${inputTokens} tokens in, ${outputTokens} out`
  return [
    ['title', task.title],
    ['engine', [task.engine, task.model, task.account].filter(Boolean).join(', ')],
    ['branch', branchWords(task)],
    ['worktree', task.worktree ?? ''],
    ['changes', changeWords(task.changes)],
    ['merged', mergedWords(task.merged)],
    ['after', task.after.join(', ')],
    ['land', task.land],
    ['cost', cost],
    ['updated', `${age(io.now() - Date.parse(task.updatedAt))} ago`],
  ]
}

function branchWords({ branch, base, behind }: ShowView): string {
  if (branch === null) return ''
  const from = base === null ? '' : ` from ${base.slice(0, 10)}`
  const lag = behind ? `, ${count(behind, 'commit')} behind its target` : ''
  return `${branch}${from}${lag}`
}

function mergedWords(merged: ShowView['merged']): string {
  if (merged === null) return ''
  if (merged.is) return `yes: ${branchRules[merged.rule] ?? merged.rule}`
  return merged.rule === 'unknown' ? 'unknown' : 'no'
}

function gateLines({ print }: Io, gate: ShowView['gates'][number]): string[] {
  const { green, red } = print.paint
  const took = `(${gatePlaces[gate.where]}, ${duration(Math.round(gate.ms))})`
  const name = visible(gate.gate)
  if (gate.passed) return [`${green('passed')}  ${name}  ${took}`]
  const head = `${red('failed')}  ${name}  ${visible(gate.reason ?? '')}  ${took}`
  const tail = gate.tail.slice(-10).map(line => `  | ${visible(line)}`)
  return [head, ...tail, ...(gate.output === null ? [] : [`  all of it: less ${shellWord(gate.output)}`])]
}

function runLine(io: Io, run: RunView): string {
  const end = run.outcome === null ? states[run.state] : outcomes[run.outcome]
  const code = run.signal ?? (run.code === null ? '' : `exit ${run.code}`)
  const ms = run.startedAt && run.endedAt ? Date.parse(run.endedAt) - Date.parse(run.startedAt) : 0
  const took = ms >= 1_000 ? `took ${age(ms)}` : ''
  return fit([run.name, run.engine, end, code, took].filter(Boolean).join('  '), (io.print.width ?? 200) - 2)
}

const states: { [phase in RunView['state']]: string } = {
  claimed: 'being started',
  alive: 'at work',
  ending: 'being ended',
  over: 'ended',
  collected: 'ended',
}

const outcomes: { [is in NonNullable<RunView['outcome']>]: string } = {
  done: 'done',
  'no-work': 'no change',
  astray: 'left its branch',
  failed: 'failed',
  limited: 'usage limit',
  'signed-out': 'signed out',
  stopped: 'stopped',
  unknown: 'not known',
}

function printSection({ print }: Io, title: string, lines: string[]): void {
  if (lines.length === 0) return
  print.out('')
  print.out(print.paint.dim(title))
  for (const line of lines) print.out(`  ${line}`)
}
