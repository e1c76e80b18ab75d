// The loop hosted in this process: a foreground `run`, or a verb that needs one for a moment.

import { type Verb } from '../core/api.ts'
import { type Event } from '../core/event.ts'
import { spawnBackground, untilAnswers } from './background.ts'
import { startDaemon, type Daemon } from './daemon.ts'
import { type Channel, lost } from './remote.ts'
import { type Caller } from './server.ts'

export type HostInput = {
  env: { [name: string]: string | undefined }
  cwd: string
  now: () => number
  admission: 'open' | 'closed'
}

/** Begun teardowns and landings are finished before a verb that hosted the loop returns, within this. */
const finishMs = 10 * 60_000

/** Undefined: another process is, or is about to be, the loop. */
export async function host(dir: string, input: HostInput): Promise<Channel | undefined> {
  const daemon = await startDaemon({ dir, ...input, foreground: true, keep: false, lockMs: 0 })
  if (!daemon) return undefined
  const { caller, leave } = localCaller()
  let closing: Promise<{ moved: boolean }> | undefined
  return {
    request: (verb, params, onEvent) => request(daemon, caller, { verb, params, onEvent }),
    close: () => (closing ??= close(dir, input, daemon, leave)),
  }
}

async function request(
  daemon: Daemon,
  caller: Caller,
  { verb, params, onEvent }: { verb: Verb; params: object; onEvent: ((event: Event) => void) | undefined },
): Promise<unknown> {
  const answered = daemon.handle(verb, params as never, caller, event => onEvent?.(event))
  const gone = daemon.ended.then(() => {
    throw lost
  })
  return Promise.race([answered, gone])
}

/** Leaves the work to a background loop if there is any left (docs/decisions/0024). */
async function close(
  dir: string,
  input: HostInput,
  daemon: Daemon,
  leave: () => void,
): Promise<{ moved: boolean }> {
  leave()
  if (daemon.isEnding()) {
    await daemon.ended
    return { moved: false }
  }
  if (daemon.admission() === 'closed') await daemon.finish(finishMs)
  if (!daemon.isBusy() && !daemon.isKept()) {
    await daemon.end('done')
    return { moved: false }
  }
  const child = await spawnBackground(dir, { env: input.env, keep: daemon.isKept(), after: process.pid })
  await daemon.end('moved to the background')
  await untilAnswers(dir, child, input.now)
  return { moved: true }
}

function localCaller(): { caller: Caller; leave: () => void } {
  const leaving: (() => void)[] = []
  let gone = false
  return {
    caller: { gone: () => gone, onGone: listener => void (gone ? listener() : leaving.push(listener)) },
    leave: () => {
      gone = true
      for (const listener of leaving.splice(0)) listener()
    },
  }
}
