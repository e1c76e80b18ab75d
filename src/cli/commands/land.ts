// `berth land`: queues what is ready and lands it, in the foreground until each has landed or cannot.

import { list } from '../../core/words.ts'
import { type Command, person, repoOf } from '../io.ts'
import { watch } from '../progress.ts'

export const land: Command<{ dryRun?: boolean }> = async (io, { args, options }) => {
  const repo = repoOf(io, options)
  const dryRun = options.dryRun ?? false
  const { openClient } = await import('../../daemon/client.ts')
  const client = await openClient({ env: io.env, cwd: io.cwd, now: io.now, need: dryRun ? 'write' : 'admit' })
  try {
    const { queued, skipped } = await client.call('land', { repo, tasks: args, dryRun, by: person })
    if (dryRun && options.json) io.print.json({ berth: 1, queued, skipped })
    if (skipped.length > 0) {
      io.print.note(`kept back, since 'land' is 'never' there: ${list(skipped)}`)
      io.print.hint(`berth land ${skipped.join(' ')}`)
    }
    if (!options.json) {
      for (const { task, would } of queued) io.print.out(would === undefined ? task : `${task}  ${would}`)
      if (queued.length + skipped.length === 0) io.print.note('nothing is ready to land')
    }
    if (dryRun || queued.length === 0) {
      if (!dryRun && options.json) io.print.json({ kind: 'summary', tasks: [], exit: 0 })
      return 0
    }
    return await watch(io, client, { repo, names: queued.map(one => one.task), json: options.json ?? false })
  } finally {
    await client.close('move')
  }
}
