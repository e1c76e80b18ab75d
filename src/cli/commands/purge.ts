// `berth purge`: all that Berth ever made for this repository; with --yes it is removed.

import { visible } from '../columns.ts'
import { type Command, repoOf, withClient } from '../io.ts'

export const purge: Command<{ yes?: boolean }> = async (io, { options }) => {
  const yes = options.yes ?? false
  const repo = repoOf(io, options)
  const { isRecorded } = await import('../../daemon/history.ts')
  const answer = (await isRecorded(repo, io.env, io.now))
    ? await withClient(io, { need: 'write' }, client => client.call('purge', { repo, yes }))
    : { would: [], removed: [], kept: [], stays: [] }
  const { would, removed, kept, stays } = answer
  const exit = yes && kept.length > 0 ? 3 : 0
  if (options.json) {
    io.print.json({ berth: 1, ...answer })
    return exit
  }
  for (const what of removed) io.print.out(`removed ${visible(what)}`)
  for (const what of yes ? [] : would) io.print.out(`would remove ${visible(what)}`)
  for (const { what, reason } of kept)
    io.print.out(`${yes ? 'kept' : 'would keep'} ${visible(what)}: ${visible(reason)}`)
  for (const what of stays) io.print.out(`${yes ? 'left' : 'would leave'} ${what}`)
  if (!yes && would.length > 0) io.print.hint('berth purge --yes')
  if (removed.length + would.length + kept.length + stays.length === 0)
    io.print.out('Berth has made nothing for this repository')
  return exit
}
