// `berth saved`: saved work, and removing it.

import { type SavedView } from '../../core/api.ts'
import { BerthError } from '../../core/errors.ts'
import { age, duration } from '../../core/quantity.ts'
import { table, visible } from '../columns.ts'
import { type Command, type Io, person, repoOf, withClient } from '../io.ts'
import { wordOf } from '../usage.ts'
import { lossLine } from '../words.ts'

type Options = { olderThan?: number; yes?: boolean }

const oldMs = 30 * 86_400_000

export const saved: Command<Options> = async (io, { args, options }) => {
  const repo = repoOf(io, options)
  const [action, ...ids] = args
  const word = action === undefined ? 'ls' : wordOf("the word after 'berth saved'", action, ['rm', 'prune'] as const)
  if (word === 'rm' && ids.length === 0) throw new BerthError('usage', 'no saved work is named', 'berth saved rm ID')
  if (word !== 'rm' && ids.length > 0) throw new BerthError('usage', `'${ids[0]}' is one argument too many`, 'berth saved rm ID')
  return withClient(io, { need: word === 'ls' ? 'read' : 'write' }, async client => {
    if (word === 'rm') return said(io, options, await client.call('savedRm', { repo, ids, by: person }))
    const all = (await client.call('saved', { repo })).saved
    if (word === 'ls') return listed(io, all, options.json ?? false)
    const limit = options.olderThan ?? oldMs
    const old = all.filter(one => io.now() - Date.parse(one.at) > limit)
    if (options.yes) {
      const gone = old.length > 0 ? await client.call('savedRm', { repo, ids: old.map(one => one.id), by: person }) : { removed: [] }
      return said(io, options, gone)
    }
    if (!options.json) io.print.note(`older than ${duration(limit)}; nothing is removed without --yes`)
    return listed(io, old, options.json ?? false)
  })
}

function listed(io: Io, all: SavedView[], json: boolean): number {
  if (json) io.print.json({ berth: 1, saved: all })
  else if (all.length === 0) io.print.note('no saved work')
  else {
    const columns = [{ title: 'ID' }, { title: 'TASK' }, { title: 'AGE', right: true }, { title: 'COMMIT', optional: true }, { title: 'WHAT' }]
    const rows = all.map(one => [
      one.id,
      one.task,
      age(io.now() - Date.parse(one.at)),
      one.commit.slice(0, 10),
      visible(`${one.why}${one.archive ? ', with an archive' : ''}${one.losses.length > 0 ? `: ${one.losses.map(lossLine).join('; ')}` : ''}`),
    ])
    for (const line of table(columns, rows, io.print.width)) io.print.out(line)
  }
  return 0
}

function said(io: Io, { json }: { json?: boolean }, { removed }: { removed: string[] }): number {
  if (json) io.print.json({ berth: 1, removed })
  else if (removed.length === 0) io.print.note('there was nothing to remove')
  else for (const id of removed) io.print.out(`removed '${id}'`)
  return 0
}
