// What random fleets brought to light (test/soak): each seed that once failed is played at every test run.

import { test } from 'vitest'
import { play } from './fleets.ts'

test.each([[704, 'a preparation that waits for `berth resume` after a restart of the host holds no slot']])(
  'seed %i: %s',
  async seed => {
    await play(seed)
  },
)
