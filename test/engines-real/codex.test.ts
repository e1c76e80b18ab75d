// The real Codex as an engine of the built `berth`.

import { existsSync, rmdirSync } from 'node:fs'
import { userInfo } from 'node:os'
import { afterAll } from 'vitest'
import { testEngine } from './engine.ts'

testEngine('codex')

// Codex makes this folder whatever the environment says, and leaves it empty.
const stray = `/tmp/codex-daemon-${userInfo().uid}`
const wasThere = existsSync(stray)
afterAll(() => {
  if (!wasThere && existsSync(stray)) rmdirSync(stray)
})
