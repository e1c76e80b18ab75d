// `berth daemon`: start, stop, status, and a service of the user that starts it after a reboot.

import { type DaemonStatus } from '../../core/api.ts'
import { BerthError } from '../../core/errors.ts'
import { type Channel } from '../../daemon/remote.ts'
import { age } from '../../core/quantity.ts'
import { type Command, type Io } from '../io.ts'
import { wordOf } from '../usage.ts'

const actions = ['start', 'stop', 'status', 'install'] as const

export const daemon: Command<{ stopRuns?: boolean }> = async (io, { args, options }) => {
  const action = wordOf("the word after 'berth daemon'", args[0]!, actions)
  switch (action) {
    case 'start':
      return start(io, options.json ?? false)
    case 'stop':
      return stop(io, options)
    case 'status':
      return status(io, options.json ?? false)
    case 'install':
      return (await import('../service.ts')).installService(io, options.json ?? false)
  }
}

async function start(io: Io, json: boolean): Promise<number> {
  const before = await ask(io)
  const { openClient } = await import('../../daemon/client.ts')
  const client = await openClient({ env: io.env, cwd: io.cwd, now: io.now, need: 'admit', background: 'keep' })
  try {
    const now = await client.call('status', {})
    say(io, json, now, before?.pid === now.pid ? `was running already, as ${now.pid}` : `started as ${now.pid}`)
    return 0
  } finally {
    await client.close()
  }
}

async function stop(io: Io, { json, stopRuns }: { json?: boolean; stopRuns?: boolean }): Promise<number> {
  const running = await ask(io, channel => channel.request('stopDaemon', { stopRuns: stopRuns ?? false }))
  const alive = running && !stopRuns && running.alive > 0 ? `; ${running.alive} runs live on` : ''
  say(io, json ?? false, undefined, running ? `stopped ${running.pid}${alive}` : 'was not running')
  return 0
}

async function status(io: Io, json: boolean): Promise<number> {
  const running = await ask(io)
  if (!running && !json) throw new BerthError('daemon-down', 'no daemon runs', 'berth daemon start')
  const words = running && `runs as ${running.pid} for ${age(io.now() - Date.parse(running.since))}, version ${running.version}`
  const more = running && `\nadmission ${running.admission}${running.paused ? ', paused' : ''}, ${running.tasks} tasks, ${running.alive} runs alive`
  say(io, json, running, `${words ?? ''}${more ?? ''}`)
  return running ? 0 : 4
}

/** The status of a daemon that runs; undefined if none does. Starts none. */
async function ask(io: Io, then?: (channel: Channel) => Promise<unknown>): Promise<DaemonStatus | undefined> {
  const { stateDirOf } = await import('../../store/paths.ts')
  const { platform } = await import('../../platform/platform.ts')
  const { openRemote } = await import('../../daemon/remote.ts')
  const channel = await openRemote(stateDirOf(io.env, platform), { now: io.now, upgrade: false })
  if (!channel || channel === 'upgraded') return undefined
  try {
    const found = (await channel.request('status', {})) as DaemonStatus
    await then?.(channel)
    return found
  } finally {
    await channel.close('move')
  }
}

function say(io: Io, json: boolean, found: DaemonStatus | undefined, words: string): void {
  if (json) io.print.json({ berth: 1, running: found !== undefined, daemon: found ?? null })
  else io.print.out(words)
}
