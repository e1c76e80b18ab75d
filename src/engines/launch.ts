// What the starts of all engines share.

import { type LaunchInput } from './engine.ts'

/** Without what the run has already: what a person configured for the engine wins. */
export const unset = (input: LaunchInput, env: { [name: string]: string }): { [name: string]: string } =>
  Object.fromEntries(Object.entries(env).filter(([name]) => input.env[name] === undefined))
