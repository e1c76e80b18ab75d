// `berth daemon`: start, stop, status, and a service of the user that starts it after a reboot.

import { setTimeout as sleep } from 'node:timers/promises'
import { type DaemonStatus } from '../../core/api.ts'
import { BerthError, exitCodeOf } from '../../core/errors.ts'
import { age } from '../../core/quantity.ts'
import { count } from '../../core/words.ts'
import { type Command, type Io, withClient } from '../io.ts'
import { ask } from '../running.ts'
import { wordOf } from '../usage.ts'

/** What is under way when a daemon ends gets 5 s to stop, see `stopMs` in daemon/daemon.ts. */
const endMs = 15_000
const stepMs = 5

const actions = ['start', 'stop', 'status', 'install'] as const

export const daemon: Command<{ stopRuns?: boolean; keep?: boolean }> = async (io, { args, options }) => {
  if (args[0] === 'run') return be(io, { keep: options.keep ?? false, json: options.json ?? false })
  const action = wordOf("the word after 'berth daemon'", args[0]!, actions, 'berth daemon')
  if (options.stopRuns && action !== 'stop')
    throw new BerthError('usage', "'--stop-runs' goes with 'stop'", 'berth daemon stop --stop-runs')
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

/**
 * What `start` starts: this process is the daemon until it has nothing to do, with `keep` until it is stopped. With
 * `json` an error goes in one line to stderr, for the process that started it.
 */
async function be(io: Io, { keep, json }: { keep: boolean; json: boolean }): Promise<number> {
  const { stateDirOf } = await import('../../store/paths.ts')
  const { platform } = await import('../../platform/platform.ts')
  const { serveBackground } = await import('../../daemon/background.ts')
  try {
    return await serveBackground(stateDirOf(io.env, platform), { env: io.env, keep })
  } catch (error) {
    if (!json || !(error instanceof BerthError)) throw error
    const { code, message, hint } = error
    io.print.note(JSON.stringify({ berth: 1, error: { code, message, ...(hint && { hint }) } }))
    return exitCodeOf(code)
  }
}

async function start(io: Io, json: boolean): Promise<number> {
  const before = await ask(io)
  const now = await withClient(io, { need: 'admit', background: 'keep' }, client => client.call('status', {}))
  const words = before?.pid === now.pid ? 'was running already' : 'has started'
  say(io, json, now, `the daemon ${words} (process ${now.pid})`)
  return 0
}

async function stop(io: Io, { json, stopRuns }: { json?: boolean; stopRuns?: boolean }): Promise<number> {
  const running = await ask(io, channel => channel.request('stopDaemon', { stopRuns: stopRuns ?? false }))
  if (running) await untilEnded(io, running)
  const alive =
    running && !stopRuns && running.alive > 0
      ? `; ${count(running.alive, 'agent')} ${running.alive === 1 ? 'works' : 'work'} on without it`
      : ''
  say(
    io,
    json ?? false,
    undefined,
    running ? `the daemon has stopped (process ${running.pid})${alive}` : 'no daemon was running',
  )
  return 0
}

/** A background daemon is its process; one that a `berth run` hosts has ended when it lets go of the state. */
async function untilEnded(io: Io, { pid, foreground }: DaemonStatus): Promise<void> {
  const { platform } = await import('../../platform/platform.ts')
  const { stateDirOf, statePaths } = await import('../../store/paths.ts')
  const { lockHolder } = await import('../../store/lock.ts')
  const { lock } = statePaths(stateDirOf(io.env, platform))
  const itself = platform.identity(pid)
  const gone = (): boolean => itself === undefined || platform.identity(pid) !== itself
  const ended = foreground ? () => lockHolder(lock)?.pid !== pid : gone
  for (const until = platform.monotonicMs() + endMs; !ended(); await sleep(stepMs))
    if (platform.monotonicMs() > until)
      throw new BerthError('failed', `the daemon (process ${pid}) has not ended yet`, 'berth daemon status')
}

async function status(io: Io, json: boolean): Promise<number> {
  const running = await ask(io)
  if (!running && !json) throw new BerthError('daemon-down', 'no daemon runs', 'berth daemon start')
  say(io, json, running, running ? statusWords(running, io.now()) : '')
  return running ? 0 : 4
}

function statusWords(
  { pid, since, version, paused, admission, tasks, alive }: DaemonStatus,
  now: number,
): string {
  const first = `the daemon has run for ${age(now - Date.parse(since))} (process ${pid}), version ${version}`
  const many = `${count(tasks, 'task')}, ${count(alive, 'agent')} alive`
  return `${first}\n${admissions[paused ? 'paused' : admission]}; ${many}`
}

const admissions = {
  paused: 'it is paused, and starts nothing new',
  open: 'it starts what may start',
  closed: 'it starts nothing new',
}

function say(io: Io, json: boolean, found: DaemonStatus | undefined, words: string): void {
  if (json) io.print.json({ berth: 1, running: found !== undefined, daemon: found ?? null })
  else io.print.out(words)
}
