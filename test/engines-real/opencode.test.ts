// The real opencode as an engine of the built `berth`.

import { testEngine } from './engine.ts'

testEngine('opencode')
