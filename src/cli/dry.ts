// `berth run --dry-run`: what would be submitted, in one list; nothing is started, made or recorded.

import { type Submission } from '../core/api.ts'
import { slugOf, uniqueName } from '../core/names.ts'
import { table, visible } from './columns.ts'
import { type Common, type Io } from './io.ts'

export function listDry(io: Io, tasks: Submission[], options: Common): number {
  const taken = new Set(tasks.flatMap(task => task.name ?? []))
  const listed = tasks.map(({ name, brief, spec }) => {
    const task = name ?? uniqueName(slugOf(spec.title), taken)
    taken.add(task)
    const { title, after = [], engine = null } = spec
    return { task, title, after, engine, bytes: new TextEncoder().encode(brief).length }
  })
  if (options.json) {
    io.print.json({ berth: 1, tasks: listed })
    return 0
  }
  const columns = [
    { title: 'TASK' },
    { title: 'ENGINE', optional: true },
    { title: 'AFTER', optional: true },
    { title: 'TITLE' },
  ]
  const rows = listed.map(one => [one.task, one.engine ?? '', one.after.join(', '), visible(one.title)])
  for (const line of table(columns, rows, io.print.width)) io.print.out(line)
  io.print.note(`dry run: ${listed.length} task${listed.length === 1 ? '' : 's'}, nothing is started`)
  return 0
}
