// `berth saved`: saved work, and removing it.

import { BerthError } from '../../core/errors.ts'
import { duration } from '../../core/quantity.ts'
import { type Command, type Io, person, repoOf, withClient } from '../io.ts'
import { listed } from '../savedlines.ts'
import { wordOf } from '../usage.ts'

type Options = { olderThan?: number; yes?: boolean }

const oldMs = 30 * 86_400_000

export const saved: Command<Options> = async (io, { args, options }) => {
  const repo = repoOf(io, options)
  const [action, ...ids] = args
  const word =
    action === undefined
      ? 'ls'
      : wordOf("the word after 'berth saved'", action, ['rm', 'prune'] as const, 'berth saved')
  if (word === 'rm' && ids.length === 0)
    throw new BerthError('usage', 'no saved work is named', 'berth saved rm ID')
  if (word !== 'rm' && ids.length > 0)
    throw new BerthError('usage', `'${ids[0]}' is one argument too many`, 'berth saved rm ID')
  if (word !== 'prune' && (options.yes || options.olderThan !== undefined))
    throw new BerthError('usage', "'--yes' and '--older-than' go with 'prune'", 'berth saved prune')
  return withClient(io, { need: word === 'ls' ? 'read' : 'write' }, async client => {
    if (word === 'rm') return said(io, options, await client.call('savedRm', { repo, ids, by: person }))
    const all = (await client.call('saved', { repo })).saved
    if (word === 'ls') return listed(io, all, options.json ?? false)
    const limit = options.olderThan ?? oldMs
    const old = all.filter(one => io.now() - Date.parse(one.at) > limit)
    if (options.yes) {
      const gone =
        old.length > 0
          ? await client.call('savedRm', { repo, ids: old.map(one => one.id), by: person })
          : { removed: [] }
      return said(io, options, gone)
    }
    if (!options.json) io.print.note(`older than ${duration(limit)}; nothing is removed without --yes`)
    return listed(io, old, options.json ?? false)
  })
}

function said(io: Io, { json }: { json?: boolean }, { removed }: { removed: string[] }): number {
  if (json) io.print.json({ berth: 1, removed })
  else if (removed.length === 0) io.print.note('there was nothing to remove')
  else for (const id of removed) io.print.out(`removed '${id}'`)
  return 0
}
