// Ten thousand random fleets through crashes (test/core/crash.test.ts plays some of them at each test run).
// BERTH_SEED=n plays only that one; BERTH_SEEDS=n plays that many.

import { expect, test } from 'vitest'
import { play } from '../core/fleets.ts'

const only = process.env['BERTH_SEED']
const seeds = Number(process.env['BERTH_SEEDS'] ?? 10_000)

test('ten thousand random fleets come to rest', async () => {
  let facts = 0
  let crashes = 0
  const first = only === undefined ? 1 : Number(only)
  const last = only === undefined ? seeds : first
  for (let seed = first; seed <= last; seed++) {
    const sim = await play(seed)
    facts += sim.events.length
    crashes += sim.crashes
  }
  process.stdout.write(`${last - first + 1} seeds, ${facts} facts, ${crashes} crashes\n`)
  expect(facts).toBeGreaterThan(0)
})
