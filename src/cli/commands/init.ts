// `berth init`: writes a commented berth.toml with what it finds here; never over one that is there.

import { existsSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { BerthError } from '../../core/errors.ts'
import { visible } from '../columns.ts'
import { type Command, repoOf } from '../io.ts'
import { proposal } from '../proposal.ts'

export const init: Command = async (io, { options }) => {
  const { repositoryAt } = await import('../../daemon/place.ts')
  const { discover } = await import('../../daemon/discover.ts')
  const repo = await repositoryAt(repoOf(io, options), io.env)
  const folder = repo.worktree ?? undefined
  if (folder === undefined) {
    throw new BerthError(
      'usage',
      `'${repo.root}' is bare and has no checkout to write berth.toml into`,
      'git worktree add DIR',
    )
  }
  const file = join(folder, 'berth.toml')
  const there = () => new BerthError('name-taken', `'${file}' is there already`, 'berth config')
  if (existsSync(file)) throw there()
  const found = await discover(repo, folder, io.env)
  await writeFile(file, proposal(found), { flag: 'wx' }).catch((error: NodeJS.ErrnoException) => {
    throw error.code === 'EEXIST' ? there() : error
  })
  const { engines, target } = found
  if (options.json) {
    io.print.json({ berth: 1, file, engines, target: target.branch })
    return 0
  }
  io.print.out(`wrote '${visible(file)}'`)
  io.print.note(`target '${target.branch}' (${target.rule}), engines: ${engines.join(', ') || 'none found'}`)
  for (const notice of found.notices) io.print.note(`note: ${notice}`)
  io.print.note(
    `note: the berth.toml committed on '${target.branch}' counts; while there is none, this file does`,
  )
  io.print.hint(engines.length > 0 ? 'berth run "BRIEF"' : 'berth doctor')
  return 0
}
