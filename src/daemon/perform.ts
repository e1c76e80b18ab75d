// Every effect of core/effect.ts and the one function that performs it. Each may be asked twice.

import { unreachable } from '../core/errors.ts'
import { type Effect } from '../core/effect.ts'
import { type Fact } from '../core/event.ts'
import { type Perform, type PerformContext } from './loop.ts'
import { performCollect } from './perform/collect.ts'
import { performEnd } from './perform/end.ts'
import { performIntegrate, performLand } from './perform/landing.ts'
import { performPrepare } from './perform/prepare.ts'
import { performStart } from './perform/start.ts'
import { performTeardown } from './perform/teardown.ts'
import { performVerify } from './perform/verify.ts'
import { type Shell } from './shell.ts'

/** What comes after a run waits this long at most for others to be begun. */
const patienceMs = 500

const isLater = (effect: Effect): boolean => effect.do === 'collect' || effect.do === 'verify'

/** Acts on the world as the loop decided. `shell` is complete by the time the first effect is asked for. */
export const makePerform =
  (shell: Shell): Perform =>
  async (effect, context) => {
    // The end of the loop cuts it off: what fails for that reason is done again by the next.
    try {
      const facts = await act(shell, effect, context)
      return shell.ended.aborted ? facts.filter(fact => !isFailure(fact)) : facts
    } catch (error) {
      if (shell.ended.aborted) return []
      throw error
    }
  }

const failures: ReadonlySet<Fact['kind']> = new Set<Fact['kind']>([
  'workspace.failed',
  'workspace.stuck',
  'task.red',
  'landing.failed',
  'teardown.refused',
])

const isFailure = (fact: Fact): boolean =>
  failures.has(fact.kind) ||
  (fact.kind === 'run.collected' && fact.outcome.is === 'unknown') ||
  (fact.kind === 'task.ready' && fact.red !== undefined)

async function act(shell: Shell, effect: Effect, { signal, record }: PerformContext): Promise<Fact[]> {
  // Facts of an effect under way reach the log before the effect goes on.
  const voice = {
    signal,
    onFact: async (fact: Parameters<typeof record>[0][number]) => void record([fact]),
  }
  if (isLater(effect)) await shell.turns.afterStarts(patienceMs)
  if (signal.aborted) return []
  switch (effect.do) {
    case 'prepare':
      return shell.turns.starting(() => performPrepare(shell, effect, voice))
    case 'start':
      return shell.turns.starting(() => performStart(shell, effect, voice))
    case 'end':
      return performEnd(shell, effect)
    case 'collect':
      return performCollect(shell, effect, voice)
    case 'verify':
      return performVerify(shell, effect, voice)
    case 'integrate':
      return performIntegrate(shell, effect, voice)
    case 'land':
      return performLand(shell, effect, voice)
    case 'teardown':
      return performTeardown(shell, effect, voice)
    default:
      return unreachable(effect)
  }
}
