// `berth saved`: saved work, a look into it, and removing it.

import { BerthError } from '../../core/errors.ts'
import { duration } from '../../core/quantity.ts'
import { type Command, type Io, person, repoOf, withClient } from '../io.ts'
import { listed, shown } from '../savedlines.ts'
import { wordOf } from '../usage.ts'

type Options = { olderThan?: number; yes?: boolean }

const oldMs = 30 * 86_400_000

export const saved: Command<Options> = async (io, { args, options }) => {
  const repo = repoOf(io, options)
  const [action, ...ids] = args
  const word =
    action === undefined
      ? 'ls'
      : wordOf("the word after 'berth saved'", action, ['show', 'rm', 'prune'] as const, 'berth saved')
  checkIds(word, ids)
  if ((word !== 'prune' && options.olderThan !== undefined) || (options.yes && !(word in removes)))
    throw new BerthError(
      'usage',
      "'--older-than' goes with 'prune', '--yes' with 'rm' and 'prune'",
      'berth saved',
    )
  return withClient(io, { need: word in removes ? 'write' : 'read' }, async client => {
    if (word === 'show')
      return shown(io, (await client.call('savedShow', { repo, id: ids[0]! })).saved, options.json ?? false)
    if (word === 'rm')
      return said(
        io,
        options,
        await client.call('savedRm', { repo, ids, yes: options.yes ?? false, by: person }),
      )
    const all = (await client.call('saved', { repo })).saved
    if (word === 'ls') return listed(io, all, options.json ?? false)
    const limit = options.olderThan ?? oldMs
    const old = all.filter(one => io.now() - Date.parse(one.at) > limit)
    if (options.yes) {
      const gone =
        old.length > 0
          ? await client.call('savedRm', { repo, ids: old.map(one => one.id), yes: true, by: person })
          : { removed: [], commits: [] }
      return said(io, options, gone)
    }
    if (!options.json) io.print.note(`older than ${duration(limit)}; nothing is removed without --yes`)
    return listed(io, old, options.json ?? false)
  })
}

const removes = { rm: true, prune: true }

function checkIds(word: 'ls' | 'show' | 'rm' | 'prune', ids: string[]): void {
  const wrong = (message: string) => new BerthError('usage', message, 'berth saved')
  const named = word === 'show' || word === 'rm'
  if (named && ids.length === 0) throw wrong('no saved work is named')
  const extra = word === 'show' ? ids[1] : named ? undefined : ids[0]
  if (extra !== undefined) throw wrong(`'${extra}' is one argument too many`)
}

type Removed = { removed: string[]; commits: string[] }

function said(io: Io, { json }: { json?: boolean }, answer: Removed): number {
  const { removed, commits } = answer
  if (json) io.print.json({ berth: 1, ...answer })
  else if (removed.length === 0) io.print.note('there was nothing to remove')
  else
    for (const [at, id] of removed.entries()) io.print.out(`removed '${id}', its commit was ${commits[at]}`)
  return 0
}
