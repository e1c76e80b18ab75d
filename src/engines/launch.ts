// What the starts of all engines share, and what they say when a session cannot be continued.

import { type LaunchInput, type Report } from './engine.ts'

/** Without what the run has already: what a person configured for the engine wins. */
export const unset = (input: LaunchInput, env: { [name: string]: string }): { [name: string]: string } =>
  Object.fromEntries(Object.entries(env).filter(([name]) => input.env[name] === undefined))

/** What a launch says of the session that it continues. */
export const continued = ({ resume }: LaunchInput): { session?: string } =>
  resume === undefined ? {} : { session: resume }

const lost =
  /^(\S*Error\S*:? )?(No conversation found with session ID|Error resuming session|Session not found)/

/** A line of stderr by which a program says that there is no session to continue. */
export const sessionLostIn = (line: string): Report[] =>
  lost.test(line) || line.includes('thread/resume failed') ? [{ is: 'session-lost' }] : []
