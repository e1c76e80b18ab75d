// `berth ls`: every task on one line, with its status and the reason for it.

import { type TaskView } from '../../core/api.ts'
import { beingRemoved, doing } from '../../core/words.ts'
import { age } from '../../core/quantity.ts'
import { table, visible } from '../columns.ts'
import { type Command, type Io, repoOf, withClient } from '../io.ts'
import { tellUnattended, unattendedOf } from '../unattended.ts'
import { changeWords, painted, reasonWords } from '../words.ts'

export const ls: Command<{ all?: boolean }> = async (io, { options }) => {
  const repo = repoOf(io, options)
  const { tasks } = await withClient(io, { need: 'read' }, client =>
    client.call('ls', { repo, all: options.all ?? false }),
  )
  if (options.json) io.print.json({ berth: 1, tasks })
  else if (tasks.length === 0)
    io.print.note(`no ${options.all ? '' : 'open '}tasks here; berth run "BRIEF" adds one`)
  else {
    printTasks(io, tasks)
    tellUnattended(io, unattendedOf(tasks))
  }
  return 0
}

function printTasks(io: Io, tasks: TaskView[]): void {
  const { print } = io
  const columns = [
    { title: 'TASK' },
    { title: 'STATUS', paint: (cell: string, row: number) => painted(print.paint, tasks[row]!.status, cell) },
    { title: 'CHANGES', optional: true },
    { title: 'ENGINE', optional: true },
    { title: 'AGE', right: true, optional: true },
    { title: 'REASON' },
  ]
  const rows = tasks.map(task => [
    task.task,
    task.status,
    changeWords(task.changes),
    task.attempt > 1 ? `${task.engine} #${task.attempt}` : task.engine,
    age(io.now() - Date.parse(task.updatedAt)),
    visible(reasonOf(task, io.now())),
  ])
  for (const line of table(columns, rows, print.width)) print.out(line)
  if (tasks.some(({ changes }) => changes.dirty)) print.note('*: not all of it is committed')
  // What is so for several tasks is said once.
  const said = new Map<string, string[]>()
  for (const { task, differences } of tasks)
    for (const { sentence, command } of differences) {
      const text = `${visible(sentence)}${command ? ` (${print.typed(command)})` : ''}`
      said.set(text, [...(said.get(text) ?? []), task])
    }
  for (const [text, names] of said) print.note(`${names.join(', ')}: ${text}`)
}

/** The reason; a removal that did not come to its end is more urgent. */
function reasonOf(task: TaskView, now: number): string {
  if (task.removal?.reason === beingRemoved) return `${beingRemoved}: ${doing(task.removal.step)}`
  if (task.removal) return `its removal stopped while ${doing(task.removal.step)}: ${task.removal.reason}`
  return reasonWords(task, now)
}
