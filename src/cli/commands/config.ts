// `berth config`: every effective value, and where it came from.

import { platform } from '../../platform/platform.ts'
import { stateDirOf, statePaths } from '../../store/paths.ts'
import { table, visible } from '../columns.ts'
import { type Configured } from '../../daemon/configure.ts'
import { type Command, type Io, repoOf } from '../io.ts'

export const config: Command = async (io, { options }) => {
  const { repositoryAt } = await import('../../daemon/place.ts')
  const { configure } = await import('../../daemon/configure.ts')
  const { managedRoot } = await import('../../daemon/managedroot.ts')
  const repo = await repositoryAt(repoOf(io, options), io.env)
  const { root } = managedRoot(repo, statePaths(stateDirOf(io.env, platform)))
  const found = await configure(repo, { env: io.env, root })
  const { source, hash, trusted, consent, effective, unread } = found
  const agreed = await isAgreed(io, repo.id, found)
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
    if (consent.length > 0) io.print.note(`${agreement(agreed, trusted)}: ${visible(consent.join('; '))}`)
    if (unread !== undefined) io.print.note(`note: ${visible(unread)}`)
  }
  return 0
}

/** Whether what it makes Berth run may run without another question, here and now. */
async function isAgreed(io: Io, project: string, configured: Configured): Promise<boolean> {
  const { openHistory } = await import('../../daemon/history.ts')
  const { consentTo } = await import('../../daemon/configure.ts')
  const history = openHistory(io.env, io.now)
  const before = history?.fleet.projects.get(project)?.consented ?? []
  history?.close()
  return consentTo(configured, { trust: false, before }) !== 'missing'
}

const agreement = (agreed: boolean, trusted: boolean): string =>
  !agreed ? 'not agreed yet' : trusted ? 'agreed to by your configuration' : 'agreed to'
