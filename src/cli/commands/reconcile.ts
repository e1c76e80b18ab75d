// `berth reconcile`: every difference between the records and git, disk and processes.

import { visible } from '../columns.ts'
import { type Command, repoOf, withClient } from '../io.ts'

export const reconcile: Command<{ fix?: boolean }> = async (io, { options }) => {
  const fix = options.fix ?? false
  const repo = repoOf(io, options)
  // Where nothing was ever recorded there is nothing to compare, and nothing is made for it.
  const { isRecorded } = await import('../../daemon/history.ts')
  const { differences, finished } = (await isRecorded(repo, io.env, io.now))
    ? await withClient(io, { need: 'write' }, client => client.call('reconcile', { repo, fix }))
    : { differences: [], finished: [] }
  if (options.json) io.print.json({ berth: 1, differences, finished })
  for (const one of options.json ? [] : finished)
    io.print.out(`${io.print.paint.green('finished')}  ${one.task}: ${visible(one.sentence)}`)
  if (options.json) return differences.some(one => !one.fixed) ? 3 : 0
  if (differences.length === 0) io.print.out('records, git, disk and processes agree')
  for (const one of differences) {
    const mark = one.fixed ? io.print.paint.green('fixed') : io.print.paint.yellow(one.what)
    io.print.out(`${mark}  ${one.task ? `${one.task}: ` : ''}${visible(one.sentence)}`)
    if (!one.fixed && one.command) io.print.out(`  ${io.print.typed(one.command)}`)
  }
  return differences.some(one => !one.fixed) ? 3 : 0
}
