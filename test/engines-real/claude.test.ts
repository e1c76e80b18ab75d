// The real Claude Code as an engine of the built `berth`.

import { testEngine } from './engine.ts'

testEngine('claude')
