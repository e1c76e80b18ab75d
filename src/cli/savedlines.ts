// Saved work as a table, and one piece of it with what is in it.

import { type SavedDetail, type SavedView } from '../core/api.ts'
import { lossLine } from '../core/loss.ts'
import { age } from '../core/quantity.ts'
import { shellWord } from '../core/shellword.ts'
import { table, visible } from './columns.ts'
import { type Io } from './io.ts'

export function listed(io: Io, all: SavedView[], json: boolean): number {
  if (json) io.print.json({ berth: 1, saved: all })
  else if (all.length === 0) io.print.note('no saved work')
  else {
    const columns = [
      { title: 'ID' },
      { title: 'TASK' },
      { title: 'AGE', right: true },
      { title: 'COMMIT', optional: true },
      { title: 'WHAT' },
    ]
    const rows = all.map(one => [
      one.id,
      one.task,
      age(io.now() - Date.parse(one.at)),
      one.commit.slice(0, 10),
      visible(
        [`${one.why}${one.archive ? ', with an archive' : ''}`, ...one.losses.map(lossLine)].join('; '),
      ),
    ])
    for (const line of table(columns, rows, io.print.width)) io.print.out(line)
  }
  return 0
}

/** What it holds, and the commands that show more of it and bring it back. */
export function shown(io: Io, saved: SavedDetail, json: boolean): number {
  const { id, task, commit, archive, files, archived, losses, why, at } = saved
  if (json) {
    io.print.json({ berth: 1, saved })
    return 0
  }
  const rows: [string, string[]][] = [
    ['of', [`'${task}', ${why} ${age(io.now() - Date.parse(at))} ago`]],
    ['commit', [commit]],
    ['archive', archive === null ? [] : [archive]],
    ['was', losses.map(lossLine)],
    ['files', files],
    ['archived', archived],
  ]
  io.print.out(io.print.paint.bold(id))
  for (const [title, lines] of rows)
    for (const [row, line] of lines.entries())
      io.print.out(`${(row === 0 ? title : '').padEnd(9)} ${visible(line)}`)
  io.print.hint(`git show --first-parent ${commit}`)
  if (archive !== null) io.print.hint(`tar -tvf ${shellWord(archive)}`)
  io.print.hint(`berth restore ${id}`)
  return 0
}
