// The run that this process is part of.

import { BerthError } from '../core/errors.ts'
import { type Io } from './io.ts'

/** Innermost run of this state directory, and its token. Throws `usage` outside of one. */
export async function ownRun(io: Io): Promise<{ run: string; token: string }> {
  const { stateIdOf } = await import('../daemon/inside.ts')
  const { stateDirOf } = await import('../store/paths.ts')
  const { platform } = await import('../platform/platform.ts')
  const id = stateIdOf(stateDirOf(io.env, platform))
  const elements = (io.env['BERTH_RUN'] ?? '')
    .split(',')
    .filter(element => id !== undefined && element.startsWith(`${id}:`))
  const run = elements.at(-1)?.slice(id!.length + 1)
  const token = io.env['BERTH_TOKEN']
  if (!run || !token) throw new BerthError('usage', 'this is not inside a run of Berth', 'berth inbox')
  return { run, token }
}
