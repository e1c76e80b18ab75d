// `berth inbox`: what needs a person, most important first, each with the command to type.

import { type Command, repoOf, withClient } from '../io.ts'
import { tellUnattended } from '../unattended.ts'
import { printItem } from '../itemlines.ts'

export const inbox: Command = async (io, { options }) => {
  const repo = { here: io.cwd, ...(options.repo === undefined ? {} : { repo: repoOf(io, options) }) }
  const { items, unattended } = await withClient(io, { need: 'read' }, client => client.call('inbox', repo))
  if (options.json) io.print.json({ berth: 1, items, unattended })
  else if (items.length === 0) io.print.out('nothing needs you')
  else for (const [at, item] of items.entries()) printItem(io, item, at > 0)
  if (!options.json) tellUnattended(io, unattended)
  return 0
}
