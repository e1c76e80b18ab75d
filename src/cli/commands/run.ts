// `berth run`: submits tasks and works them until each rests.

import { BerthError } from '../../core/errors.ts'
import { trusts } from '../consent.ts'
import { listDry } from '../dry.ts'
import { type Command, type Io, person, repoOf } from '../io.ts'
import { watch } from '../progress.ts'
import { checkList, submit } from '../submit.ts'
import { type RunOptions, wantedTasks } from '../tasks.ts'

export const run: Command<RunOptions> = async (io, { args, options }) => {
  io.keepOn()
  const repo = repoOf(io, options)
  const { tasks, notices } = await wantedTasks(io, args, options)
  for (const notice of notices) io.print.note(`note: ${notice}`)
  await checkList(io, tasks, { repo, file: options.file })
  if (options.dryRun) return listDry(io, tasks, options)
  const background = options.detach ? { background: 'start' as const } : {}
  const { openClient } = await import('../../daemon/client.ts')
  const client = await openClient({ env: io.env, cwd: io.cwd, now: io.now, need: 'admit', ...background })
  let stop = options.detach === false
  try {
    const call = io.newId()
    const given = tasks.length > 0 ? await submit(io, client, { call, repo, tasks, options }) : undefined
    const names = given?.names
    if (!names) await client.call('resume', { repo, by: person, trust: trusts(io, options) })
    if (options.detach) return detached(io, names)
    const already = given?.already ?? 0
    return await watch(io, client, { call, repo, names, json: options.json ?? false, already, stop })
  } catch (error) {
    // Whoever stopped the loop left the agents at work.
    stop = !(error instanceof BerthError && error.code === 'daemon-down')
    throw error
  } finally {
    const { moved } = await client.close(stop ? 'stop' : 'move')
    if (moved && !options.json)
      io.print.note("the rest goes on in the background: see 'berth ls' and 'berth inbox'")
  }
}

function detached(io: Io, names: string[] | undefined): number {
  io.print.note(`in the background${names ? '' : ', on what is open here'}: see 'berth ls'`)
  return 0
}
