// Saved work as a table.

import { type SavedView } from '../core/api.ts'
import { lossLine } from '../core/loss.ts'
import { age } from '../core/quantity.ts'
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
