// What the landing queue knows of a task: facts folded. `undefined`: it has not been tried.

import { type Event } from './event.ts'
import { type Landing } from './outcome.ts'
import { type Moment, momentOf } from './run.ts'

type OfLanding = {
  commit: string
  target: string
  since: Moment
  /** How often it was tried for this commit. */ tries: number
}

export type LandingState =
  | (OfLanding & { phase: 'claimed' })
  | (OfLanding & { phase: 'tested'; tip: string; merge: string })
  | (OfLanding & { phase: 'failed'; failure: Landing })
  | (OfLanding & { phase: 'landed'; merge: string; rule: string })

export function applyLanding(landing: LandingState | undefined, event: Event): LandingState | undefined {
  if (landing?.phase === 'landed') return landing
  const since = momentOf(event)
  switch (event.kind) {
    case 'landing.claimed':
      return {
        phase: 'claimed',
        commit: event.commit,
        target: event.target,
        since,
        tries: (landing?.tries ?? 0) + 1,
      }
    case 'landing.tested': {
      if (landing?.phase !== 'claimed') return landing
      const { commit, target, tip, merge } = event
      return { phase: 'tested', commit, target, tip, merge, since, tries: landing.tries }
    }
    case 'landing.landed': {
      const { commit, target, merge, rule } = event
      return { phase: 'landed', commit, target, merge, rule, since, tries: landing?.tries ?? 1 }
    }
    case 'landing.failed':
      if (landing === undefined || landing.phase === 'failed') return landing
      return {
        phase: 'failed',
        commit: event.commit,
        target: landing.target,
        failure: event.failure,
        since,
        tries: landing.tries,
      }
    default:
      return landing
  }
}
