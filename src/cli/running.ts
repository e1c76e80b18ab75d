// The daemon that runs, if one does: asked without starting any.

import { type DaemonStatus } from '../core/api.ts'
import { type Channel } from '../daemon/remote.ts'
import { type Io } from './io.ts'

/** The status of a daemon that runs; undefined if none does. Starts none. */
export async function ask(
  io: Io,
  then?: (channel: Channel) => Promise<unknown>,
): Promise<DaemonStatus | undefined> {
  const { stateDirOf } = await import('../store/paths.ts')
  const { platform } = await import('../platform/platform.ts')
  const { openRemote } = await import('../daemon/remote.ts')
  const channel = await openRemote(stateDirOf(io.env, platform), {
    now: io.now,
    upgrade: false,
    anyContract: true,
  })
  if (!channel || channel === 'upgraded') return undefined
  try {
    const found = (await channel.request('status', {})) as DaemonStatus
    await then?.(channel)
    return found
  } finally {
    await channel.close()
  }
}
