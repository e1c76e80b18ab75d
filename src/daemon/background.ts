// A loop in a process of its own: starting it, waiting for it, and being it.

import { BerthError, type ErrorCode } from '../core/errors.ts'
import { spawnApart } from '../process/spawn.ts'
import { privateDir, readIfThere } from '../store/files.ts'
import { lockHolder } from '../store/lock.ts'
import { statePaths } from '../store/paths.ts'
import { join } from 'node:path'
import { type Daemon, startDaemon } from './daemon.ts'
import { findInstallation } from './installation.ts'
import { openRemote } from './remote.ts'

type Env = { [name: string]: string | undefined }

/** What a process that could not become the loop says in its error file, in one line. */
export type ErrorDocument = { berth: 1; error: { code: ErrorCode; message: string; hint?: string } }

export type Child = { pid: number; exited: Promise<number | null>; errFile: string }

const answerMs = 20_000
const lockMs = 20_000
const lockStepMs = 250
const pauseMs = 10

/** It lives long and mostly waits: what a burst needed is not kept (measured: 110 MB become 80). */
const frugal = { flags: ['--max-semi-space-size=1'], env: { MALLOC_ARENA_MAX: '1' } }

/** Names the process whose loop the new one takes over: it waits for that one's end, and for nobody else's. */
const afterName = 'BERTH_DAEMON_AFTER'

/** Starts one and waits until it, or another that was faster, answers. Throws what it said, else `daemon-down`. */
export async function startBackground(
  dir: string,
  { env, keep, now }: { env: Env; keep: boolean; now: () => number },
): Promise<void> {
  await untilAnswers(dir, await spawnBackground(dir, { env, keep }), now)
}

/** Starts a process that becomes the loop as soon as `after`, if given, is it no more. */
export async function spawnBackground(
  dir: string,
  { env, keep, after }: { env: Env; keep: boolean; after?: number },
): Promise<Child> {
  const { node, main } = findInstallation()
  const errFile = join(privateDir(dir), 'daemon.err')
  const args = [...frugal.flags, main, 'daemon', 'run', '--json', ...(keep ? ['--keep'] : [])]
  const its = {
    ...frugal.env,
    ...env,
    BERTH_STATE_DIR: dir,
    [afterName]: after === undefined ? undefined : String(after),
  }
  return { ...(await spawnApart({ file: node, args, env: its, cwd: dir, errFile })), errFile }
}

/** False if the child left the field to another process, which may or may not answer. */
export async function untilAnswers(dir: string, child: Child, now: () => number): Promise<boolean> {
  const until = now() + answerMs
  let ended: number | null | undefined
  void child.exited.then(code => (ended = code))
  for (;;) {
    const remote = await openRemote(dir, { now, upgrade: false })
    if (remote && remote !== 'upgraded') {
      await remote.close()
      return true
    }
    if (ended === 0) return false
    if (ended !== undefined || now() > until) throw notStarted(child)
    await new Promise(resolve => setTimeout(resolve, pauseMs))
  }
}

/** Its own error if it gave one, so that the state directory's trouble is told as that. */
function notStarted({ errFile }: Child): BerthError {
  const [said = ''] = (readIfThere(errFile)?.toString('utf8') ?? '').trim().split('\n')
  const told = toldError(said)
  if (told) return told
  const why = said === '' ? '' : `: ${said.replace(/^berth: /, '')}`
  return new BerthError('daemon-down', `the loop did not start in the background${why}`)
}

function toldError(line: string): BerthError | undefined {
  try {
    const { code, message, hint } = (JSON.parse(line) as ErrorDocument).error
    return new BerthError(code, message, hint)
  } catch {
    return undefined
  }
}

/** Is the loop until there is nothing to do, or somebody ends it. Gives the exit code. */
export async function serveBackground(
  dir: string,
  { env, keep }: { env: Env; keep: boolean },
): Promise<number> {
  const daemon = await becomeLoop(dir, { env, keep })
  if (!daemon) return 0
  const stop = (): void => void daemon.end('asked by a signal')
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, stop)
  process.on('SIGHUP', () => {})
  await daemon.ended
  return 0
}

/** Undefined: somebody else was faster, and serves as well. */
async function becomeLoop(
  dir: string,
  { env, keep }: { env: Env; keep: boolean },
): Promise<Daemon | undefined> {
  const { [afterName]: after, ...own } = env
  const { lock } = statePaths(dir)
  for (let waited = 0; ; waited += lockStepMs) {
    const daemon = await startDaemon({
      dir,
      env: own,
      admission: 'open',
      foreground: false,
      keep,
      lockMs: lockStepMs,
    })
    const holder = daemon ? undefined : lockHolder(lock)?.pid
    const other = holder !== undefined && String(holder) !== after
    if (daemon || waited >= lockMs || other) return daemon
  }
}
