// Setup commands: run in a new workspace before the agent, one after the other.

import { type Site, type Voice, outputOf } from './site.ts'
import { type Place, runInPlace } from './place.ts'

export type SetupOutcome =
  | { is: 'done' }
  /** `outFile` holds the whole output. */
  | { is: 'failed'; reason: string; tail: string[]; outFile?: string }

/** Speaks `setup.started` and `setup.exited` of each; the first that fails ends it, with its whole tree. */
export async function runSetup(site: Site, place: Place, voice: Voice): Promise<SetupOutcome> {
  const of = { project: site.project, task: place.task }
  for (const [index, command] of site.policy.setup.entries()) {
    if (voice.signal.aborted) return { is: 'failed', reason: 'it was cancelled', tail: [] }
    await voice.onFact({ kind: 'setup.started', ...of, command: command.run, index })
    const outFile = outputOf(site, place.task, `setup-${index}`)
    const result = await runInPlace(site, place, { command, outFile, signal: voice.signal })
    const { code, signal, ms, timedOut, tail } = result
    await voice.onFact({
      kind: 'setup.exited',
      ...of,
      command: command.run,
      index,
      code,
      signal,
      ms,
      timedOut,
      tail,
    })
    const reason = reasonFor(command, result)
    if (reason !== undefined) return { is: 'failed', reason, tail, outFile }
  }
  return { is: 'done' }
}

function reasonFor(
  command: { run: string; timeoutMs: number },
  result: Awaited<ReturnType<typeof runInPlace>>,
): string | undefined {
  const what = `setup command '${command.run}'`
  if (result.cancelled) return `${what} was cancelled`
  if (result.timedOut)
    return `${what} timed out after ${Math.round(command.timeoutMs / 1000)} s, and was ended with all it started`
  if (result.left.length > 0) {
    const left = result.left.map(({ pid, command: line }) => `${pid} ${line}`).join(', ')
    return `${what} left processes that could not be ended: ${left}`
  }
  if (result.missing || result.reason !== undefined)
    return `${what} could not be started: ${result.reason ?? 'no such program'}`
  if (result.code === null) return `${what} was ended by ${result.signal}`
  return result.code === 0 ? undefined : `${what} ended with exit code ${result.code}`
}
