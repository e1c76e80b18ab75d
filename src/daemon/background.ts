// A loop in a process of its own: starting it, waiting for it, and being it.

import { BerthError } from '../core/errors.ts'
import { spawnApart } from '../process/spawn.ts'
import { privateDir, readIfThere } from '../store/files.ts'
import { join } from 'node:path'
import { startDaemon } from './daemon.ts'
import { findInstallation } from './installation.ts'
import { openRemote } from './remote.ts'

type Env = { [name: string]: string | undefined }

export type Child = { pid: number; exited: Promise<number | null>; errFile: string }

const answerMs = 20_000
const lockMs = 20_000
const pauseMs = 10

/** Starts one and waits until it answers. Throws `daemon-down` with what it said. */
export async function startBackground(
  dir: string,
  { env, keep, now }: { env: Env; keep: boolean; now: () => number },
): Promise<void> {
  await untilAnswers(dir, await spawnBackground(dir, { env, keep }), now)
}

/** Starts a process that becomes the loop as soon as no other is. */
export async function spawnBackground(
  dir: string,
  { env, keep }: { env: Env; keep: boolean },
): Promise<Child> {
  const { node, main } = findInstallation()
  const errFile = join(privateDir(dir), 'daemon.err')
  const args = [main, 'daemon', 'run', ...(keep ? ['--keep'] : [])]
  return {
    ...(await spawnApart({ file: node, args, env: { ...env, BERTH_STATE_DIR: dir }, cwd: dir, errFile })),
    errFile,
  }
}

export async function untilAnswers(dir: string, child: Child, now: () => number): Promise<void> {
  const until = now() + answerMs
  let ended = false
  void child.exited.then(() => (ended = true))
  for (;;) {
    const remote = await openRemote(dir, { now, upgrade: false })
    if (remote && remote !== 'upgraded') return void (await remote.close())
    const said = ended ? (readIfThere(child.errFile)?.toString('utf8').trim() ?? '') : ''
    if (ended || now() > until)
      throw new BerthError(
        'daemon-down',
        `the loop did not start in the background${said && `: ${said.split('\n')[0]}`}`,
      )
    await new Promise(resolve => setTimeout(resolve, pauseMs))
  }
}

/** Is the loop until there is nothing to do, or somebody ends it. Gives the exit code. */
export async function serveBackground(
  dir: string,
  { env, keep }: { env: Env; keep: boolean },
): Promise<number> {
  const daemon = await startDaemon({ dir, env, admission: 'open', foreground: false, keep, lockMs })
  // Somebody else was faster: they serve as well.
  if (!daemon) return 0
  const stop = (): void => void daemon.end('asked by a signal')
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, stop)
  process.on('SIGHUP', () => {})
  await daemon.ended
  return 0
}
