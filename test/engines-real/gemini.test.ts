// The real Gemini CLI as an engine of the built `berth`.

import { testEngine } from './engine.ts'

testEngine('gemini')
