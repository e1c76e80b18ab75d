// How a verb reaches a loop: the one that runs, else one hosted in this process, else a look at the store.
// Every call loads this file, so it imports next to nothing; the rest is loaded when it is needed.

import { type Requests, type Verb } from '../core/api.ts'
import { BerthError } from '../core/errors.ts'
import { type Event } from '../core/event.ts'
import { isInside, stateIdOf } from './inside.ts'
import { type Channel, isLost, openRemote } from './remote.ts'
import { untilSignals } from './signals.ts'

/** What a verb needs when no daemon runs (docs/decisions/0025). */
export type Need = 'read' | 'write' | 'admit'

export type Client = {
  /** Asks once; over a restart of the loop the same question is asked again. Throws BerthError. */
  call<V extends Verb>(verb: V, params: Requests[V]['params']): Promise<Requests[V]['answer']>
  /**
   * Streams events until no task followed can go on without a person. With `call`, signals are handled as in
   * docs/decisions/0024: the first stops the call's runs, the second kills them, SIGHUP moves to the background.
   */
  follow(
    params: Requests['follow']['params'],
    onEvent: (event: Event) => void,
  ): Promise<Requests['follow']['answer']>
  /**
   * Leaves. If this process hosted the loop and something is still to be done, the loop moves to the background
   * (`moved`), or with `stop` its runs are stopped and their workspaces kept.
   */
  close(how?: 'move' | 'stop'): Promise<{ moved: boolean }>
}

export type ClientInput = {
  env: { [name: string]: string | undefined }
  cwd: string
  now: () => number
  need: Need
  /** Starts a daemon in the background instead of hosting; `keep`: one that stays when it has nothing to do. */
  background?: 'start' | 'keep'
}

/** Over a restart of the loop, its clients and the questions of agents wait this long. */
const patienceMs = 60_000
/** Two processes that become the loop at the same moment: the other must answer within this. */
const startMs = 20_000
const pauseMs = 25

/** What a process inside a run may ask of that run's own state directory (docs/decisions/0003). */
const insideVerbs: readonly Verb[] = ['ask', 'report', 'ls', 'show', 'status']

/** Finds or makes what answers. Throws `daemon-down`, `daemon-newer`, `inside-run`, `state-*`. */
export async function openClient(input: ClientInput): Promise<Client> {
  const askedAt = input.now()
  const dir = await stateDir(input.env)
  const inside = isInside(input.env, stateIdOf(dir))
  const open = (): Promise<Channel> => establish(dir, input, inside)
  let channel = await open()
  let reopening: Promise<void> | undefined
  let closed = false
  const calls = new Set<string>()
  const request = async (
    verb: Verb,
    params: () => object,
    onEvent?: (event: Event) => void,
  ): Promise<unknown> => {
    if (inside && !insideVerbs.includes(verb)) throw notInside(verb)
    const { call } = params() as { call?: string }
    if (call !== undefined) calls.add(call)
    for (;;) {
      const asked = channel
      try {
        return await asked.request(verb, params(), onEvent)
      } catch (error) {
        if (closed || !isLost(error)) throw error
      }
      if (channel === asked)
        reopening ??= open()
          .then(next => {
            channel = next
            if (closed) return void next.close()
          })
          .finally(() => (reopening = undefined))
      await reopening
    }
  }
  return {
    // Pressed twice it is asked once, however long it took to find a loop.
    call: (verb, params) =>
      request(verb, () => (verb === 'retry' ? { askedAt, ...params } : params)) as Promise<never>,
    follow: (params, onEvent) => {
      void loadAhead(input, inside)
      return follow(request, params, onEvent, () => channel)
    },
    close: async how => {
      if (how === 'stop')
        for (const call of calls)
          await request('interrupt', () => ({ call, force: false, only: 'runs', by: 'no-detach' }))
      closed = true
      return channel.close()
    },
  }
}

/** The platform is only asked when nobody says where the state lies. */
async function stateDir(env: ClientInput['env']): Promise<string> {
  const { stateDirOf } = await import('../store/paths.ts')
  if (env['BERTH_STATE_DIR']) return stateDirOf(env, { accountDataDir: () => '' })
  return stateDirOf(env, (await import('../platform/platform.ts')).platform)
}

/** Who follows for long may outlive the files of this Berth: what a restart of the loop needs is loaded now. */
async function loadAhead({ need }: ClientInput, inside: boolean): Promise<void> {
  try {
    if (need === 'read') await import('./readonly.ts')
    else if (!inside) await import('./host.ts')
  } catch {
    // They are gone already: the restart will say so, if there is one.
  }
}

type Ask = (verb: Verb, params: () => object, onEvent?: (event: Event) => void) => Promise<unknown>

async function follow(
  request: Ask,
  params: Requests['follow']['params'],
  onEvent: (event: Event) => void,
  channel: () => Channel,
): Promise<{ exit: number }> {
  let from = params.from
  const followed = request(
    'follow',
    () => ({ ...params, ...(from === undefined ? {} : { from }) }),
    event => {
      from = event.seq + 1
      onEvent(event)
    },
  ) as Promise<{ exit: number }>
  if (params.call === undefined) return followed
  const interrupt = (force: boolean): void =>
    void request('interrupt', () => ({ call: params.call, force })).catch(() => {})
  return untilSignals(followed, { interrupt, hangUp: () => channel().close() })
}

/** A channel to whoever may serve this need. Racing starts meet here: one hosts, the others find it. */
async function establish(dir: string, input: ClientInput, inside: boolean): Promise<Channel> {
  const patient = inside && input.need !== 'read'
  const until = input.now() + (patient ? patienceMs : startMs)
  for (;;) {
    const remote = await openRemote(dir, { now: input.now, upgrade: !inside && input.need !== 'read' })
    if (remote === 'upgraded') await start(dir, input, false)
    else if (remote) return kept(remote, input)
    else if (input.need === 'read') return (await import('./readonly.ts')).openReadOnly(dir, input)
    else if (!inside && input.background) await start(dir, input, input.background === 'keep')
    else if (!inside) {
      const { host } = await import('./host.ts')
      const hosted = await host(dir, { ...input, admission: input.need === 'admit' ? 'open' : 'closed' })
      if (hosted) return hosted
    }
    if (input.now() > until) throw noDaemon(dir, inside)
    await pause(pauseMs)
  }
}

async function kept(remote: Channel, { background }: ClientInput): Promise<Channel> {
  if (background === 'keep') await remote.request('keep', {})
  return remote
}

const start = async (dir: string, input: ClientInput, keep: boolean): Promise<void> =>
  (await import('./background.ts')).startBackground(dir, { env: input.env, keep, now: input.now })

const noDaemon = (dir: string, inside: boolean): BerthError =>
  new BerthError(
    'daemon-down',
    inside
      ? 'no daemon answers for this run'
      : `the loop of '${dir}' is held by a process that does not answer`,
    inside ? undefined : 'berth daemon status',
  )

const notInside = (verb: Verb): BerthError =>
  new BerthError(
    'inside-run',
    `'${verb}' may not be asked from inside a run of this state directory`,
    'berth ask "QUESTION"',
  )

const pause = (ms: number): Promise<void> => new Promise(resolve => setTimeout(resolve, ms))
