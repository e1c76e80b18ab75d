// The real Codex as an engine of the built `berth`.

import { testEngine } from './engine.ts'

testEngine('codex')
