// What a process inside a run may do to the Berth that runs it (docs/decisions/0003).

import { BerthError } from '../core/errors.ts'

const allowed: ReadonlySet<string> = new Set(['ask', 'report', 'ls', 'show', 'log', 'diff', 'completion'])

/** Throws `inside-run` for every other verb, towards a state directory that this process is a run of. */
export async function refuseInside(verb: string, env: { [name: string]: string | undefined }): Promise<void> {
  if (allowed.has(verb)) return
  const { isInside, stateIdOf } = await import('../daemon/inside.ts')
  const { platform } = await import('../platform/platform.ts')
  const { stateDirOf } = await import('../store/paths.ts')
  if (!isInside(env, stateIdOf(stateDirOf(env, platform)))) return
  throw new BerthError(
    'inside-run',
    `'berth ${verb}' may not be used inside a run of the same state directory`,
    'berth ask "QUESTION"',
  )
}
