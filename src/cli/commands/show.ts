// `berth show`: everything about one task in one screen.

import { type RunView, type ShowView } from '../../core/api.ts'
import { age, duration } from '../../core/quantity.ts'
import { fit, visible, visibleLines } from '../columns.ts'
import { type Command, type Io, repoOf, withClient } from '../io.ts'
import { changeWords, lossLine, painted } from '../words.ts'
import { printItem } from './inbox.ts'

export const show: Command = async (io, { args, options }) => {
  const given = { repo: repoOf(io, options), task: args[0]! }
  const task = await withClient(io, { need: 'read' }, client => client.call('show', given))
  if (options.json) io.print.json({ berth: 1, task })
  else printTask(io, task)
  return 0
}

function printTask(io: Io, task: ShowView): void {
  const { print } = io
  const { bold } = print.paint
  print.out(`${bold(task.task)}  ${painted(print.paint, task.status)}  ${visible(task.reason)}`)
  for (const [name, value] of facts(io, task)) if (value !== '') print.out(`${name.padEnd(10)} ${visible(value)}`)
  section(io, 'brief', visibleLines(task.brief.trimEnd()).split('\n'))
  section(io, 'runs', task.runs.map(run => runLine(io, run)))
  section(io, 'gates', task.gates.flatMap(gate => [
    `${gate.code === 0 ? print.paint.green('passed') : print.paint.red(`exit ${gate.code ?? 'none'}`)}  ${visible(gate.gate)}  (${gate.where}, ${duration(Math.round(gate.ms))})`,
    ...(gate.code === 0 ? [] : gate.tail.slice(-10).map(line => `  | ${visible(line)}`)),
  ]))
  section(io, 'questions', task.questions.map(one => `${visible(one.text)}  ${one.answer === null ? '(open)' : `-> ${visible(one.answer)}`}`))
  section(io, 'notes', task.notes.map(visible))
  section(io, 'would be lost by rm', task.losses.map(loss => visible(lossLine(loss))))
  section(io, 'saved work', task.saved.map(one => `${one.id}  ${visible(one.why)}`))
  for (const item of task.items) printItem(io, item, true)
}

function facts(io: Io, task: ShowView): [string, string][] {
  const { usd, inputTokens, outputTokens } = task.cost
  const cost = usd + inputTokens + outputTokens === 0 ? '' : `$${usd.toFixed(2)}, ${inputTokens} tokens in, ${outputTokens} out`
  return [
    ['title', task.title],
    ['engine', [task.engine, task.model, task.account].filter(Boolean).join(', ')],
    ['branch', task.branch === null ? '' : `${task.branch}${task.base === null ? '' : ` from ${task.base.slice(0, 10)}`}`],
    ['worktree', task.worktree ?? ''],
    ['changes', changeWords(task.changes)],
    ['merged', task.merged === null ? '' : `${task.merged.is ? 'yes' : 'no'}, by: ${task.merged.rule}`],
    ['after', task.after.join(', ')],
    ['land', task.land],
    ['cost', cost],
    ['updated', `${age(io.now() - Date.parse(task.updatedAt))} ago`],
  ]
}

function runLine(io: Io, run: RunView): string {
  const end = run.outcome ?? run.state
  const code = run.signal ?? (run.code === null ? '' : `exit ${run.code}`)
  const took = run.startedAt && run.endedAt ? `took ${age(Date.parse(run.endedAt) - Date.parse(run.startedAt))}` : ''
  return fit([run.name, run.engine, visible(end), code, took].filter(Boolean).join('  '), (io.print.width ?? 200) - 2)
}

function section({ print }: Io, title: string, lines: string[]): void {
  if (lines.length === 0) return
  print.out('')
  print.out(print.paint.dim(title))
  for (const line of lines) print.out(`  ${line}`)
}
