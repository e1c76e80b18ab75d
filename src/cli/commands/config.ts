// `berth config`: every effective value, and where it came from.

import { platform } from '../../platform/platform.ts'
import { stateDirOf, statePaths } from '../../store/paths.ts'
import { table, visible } from '../columns.ts'
import { type Command, repoOf } from '../io.ts'

export const config: Command = async (io, { options }) => {
  const { repositoryAt } = await import('../../daemon/place.ts')
  const { configure } = await import('../../daemon/configure.ts')
  const { managedRoot } = await import('../../daemon/managedroot.ts')
  const repo = await repositoryAt(repoOf(io, options), io.env)
  const { root } = managedRoot(repo, statePaths(stateDirOf(io.env, platform)))
  const found = await configure(repo, { env: io.env, root })
  const { source, hash, trusted, consent, effective } = found
  const values = effective.map(one => ({
    key: one.key,
    value: one.value === undefined ? null : one.value,
    from: one.from,
  }))
  if (options.json) io.print.json({ berth: 1, source, hash, trusted, consent, values })
  else {
    const columns = [{ title: 'KEY' }, { title: 'FROM', optional: true }, { title: 'VALUE' }]
    const rows = values.map(one => [one.key, one.from, visible(JSON.stringify(one.value))])
    for (const line of table(columns, rows, io.print.width)) io.print.out(line)
    if (consent.length > 0)
      io.print.note(
        `needs consent${trusted ? ', which your configuration gives' : ''}: ${visible(consent.join('; '))}`,
      )
  }
  return 0
}
