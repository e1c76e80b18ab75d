// The loop over random fleets, crashed and restarted: it always comes to rest, with nothing left behind, nothing done
// twice and nothing lost. Ten thousand seeds more are in test/soak.

import { expect, test } from 'vitest'
import { play, playEveryCrash } from './fleets.ts'

/** Generous: a busy machine is no failure. */
const limitMs = 600_000

test(
  'random fleets come to rest through crashes, sleeps, restarts of the host and meddling people',
  async () => {
    for (let seed = 1; seed <= 200; seed++) await play(seed)
  },
  limitMs,
)

test.each(['none', 'half', 'done'] as const)(
  'a crash after any fact is recovered from when the effect that came next was done: %s',
  async ahead => {
    let crashes = 0
    for (let seed = 1; seed <= 8; seed++) crashes += await playEveryCrash(seed, ahead)
    expect(crashes).toBeGreaterThan(100)
  },
  limitMs,
)
