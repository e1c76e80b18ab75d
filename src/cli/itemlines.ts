// One attention item in lines: why, with evidence, what it holds up, and the commands to type.

import { type ItemView } from '../core/api.ts'
import { age } from '../core/quantity.ts'
import { visible, wrap } from './columns.ts'
import { type Io } from './io.ts'

const evidenceMax = 5

/** `gap`: an empty line before it. */
export function printItem(io: Io, item: ItemView, gap: boolean): void {
  const { print } = io
  const { bold, dim, yellow } = print.paint
  if (gap) print.out('')
  const of = item.task === null ? '' : `  ${bold(item.task)}`
  print.out(`${yellow(item.kind)}${of}  ${dim(`${item.id}, ${age(io.now() - Date.parse(item.since))}`)}`)
  const width = (print.width ?? 110) - 4
  for (const line of wrap(visible(item.question?.text ?? item.reason), width)) print.out(`  ${line}`)
  for (const line of evidenceLines(item)) print.out(`  ${dim(`| ${line}`)}`)
  for (const { kind, text } of item.evidence)
    if (kind === 'hint') print.out(`  ${dim('hint:')} ${visible(print.typed(text))}`)
  if (item.blocks.length > 0) print.out(`  holds up: ${item.blocks.join(', ')}`)
  const labels = Math.max(0, ...item.actions.map(action => action.label.length))
  for (const { label, command } of item.actions)
    print.out(`  ${label.padEnd(labels)}  ${print.typed(command)}`)
}

/** The first of it; of output the end, which says most. */
function evidenceLines({ evidence, question }: ItemView): string[] {
  const choices = question?.choices ?? []
  const told = evidence.filter(({ kind, text }) => kind !== 'hint' && !choices.includes(text))
  const output = told.filter(({ kind }) => kind === 'output')
  const lines = (output.length > 0 ? output : told).map(({ text }) => visible(text))
  const more = lines.length - evidenceMax
  if (more <= 0) return lines
  return output.length > 0
    ? [`… ${more} before`, ...lines.slice(-evidenceMax)]
    : [...lines.slice(0, evidenceMax), `and ${more} more: berth inbox --json`]
}
