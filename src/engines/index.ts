// Every engine by its name, and the one that a policy means.

import { type EnginePolicy } from '../core/config.ts'
import { claude } from './claude.ts'
import { codex } from './codex.ts'
import { command, commandReading } from './command.ts'
import { type Engine } from './engine.ts'
import { gemini } from './gemini.ts'
import { opencode } from './opencode.ts'

export const engines: { [name in EnginePolicy['type']]: Engine } = {
  command,
  claude,
  codex,
  gemini,
  opencode,
}

/** The adapter for a configured engine: of a command, with the reader that the policy names. */
export const engineFor = ({ type, reads }: Pick<EnginePolicy, 'type' | 'reads'>): Engine =>
  type === 'command' && reads !== 'text' ? commandReading(engines[reads]) : engines[type]
