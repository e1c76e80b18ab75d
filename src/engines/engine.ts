// What an engine adapter is: a pure description of how to start an agent program and how to read what it says.

import { type Outcome, type RunEnd, type Usage } from '../core/outcome.ts'

/** All that an adapter may use to describe a start. Paths are absolute. */
export type LaunchInput = {
  /** Program and leading arguments, resolved by the caller (argv of the config, or the engine's own program). */
  program: string[]
  prompt: string
  promptFile: string
  model?: string
  /** Our own UUID for a new session, where the program takes one. */
  session: string
  /** The session id of an earlier run of the same task, to be continued. */
  resume?: string
  home: string
  temp: string
  worktree: string
  gitCommonDir: string
  permission: 'auto' | 'ask'
  /** Variables that the run gets anyway (home, XDG, identity, marker, passed ones): to read, not to repeat. */
  env: { [name: string]: string }
  windows: boolean
  root: boolean
}

export type Launch = {
  file: string
  args: string[]
  /** Added to `env`: never a name that it has already, since what a person configured wins. */
  env: { [name: string]: string }
  stdin: 'prompt' | 'none'
  /** Written before the start; `path` is relative to `home`. An existing file is left alone unless `merge` is given. */
  files: { path: string; content: string; merge?: 'json' | 'replace' }[]
  /**
   * The session that is continued. Not that of a new one: until the program has said that it has begun there may be
   * nothing to continue (measured: one that fails at its first request may leave no session behind).
   */
  session?: string
}

/** One thing learnt from the output. */
export type Report =
  /** It can be continued from now on. */
  | { is: 'session'; id: string; model?: string }
  /** The session that was to be continued is gone: the next attempt begins anew. */
  | { is: 'session-lost' }
  | { is: 'message'; role: 'agent' | 'thought' | 'user'; text: string }
  | { is: 'tool'; id: string; tool: string; paths: string[]; command?: string }
  | { is: 'tool-ended'; id: string; ok: boolean; exitCode?: number; paths: string[] }
  /** Of one call, to be added; or all of this run; or all of its session, with the earlier runs that it continues. */
  | { is: 'usage'; usage: Usage; of: 'call' | 'run' | 'session' }
  | { is: 'activity'; activity: 'working' | 'blocked' | 'done'; note: string }
  | { is: 'retrying'; status?: number; text: string }
  | { is: 'limited'; until: number | null; text: string }
  | { is: 'signed-out'; text: string }

/** What the adapter remembers between lines; JSON, so that it can be kept. */
export type ReadState = { [key: string]: unknown }

export type Ended = {
  code: number | null
  signal: string | null
  /** The last lines of stderr, at most 20, without escape codes. */
  stderr: string[]
  state: ReadState
  now: number
}

export type Engine = {
  name: string
  /** The program looked for on PATH. */
  program: string
  versionArgs: string[]
  /** How it is installed, as a command: the hint when it is missing. */
  install: string
  /** The variable that holds its API key, if it can work with one. */
  keyNames: string[]
  /** Variables of the engine that hold a place on disk or another account: set or removed, never inherited. */
  ownNames: string[]
  launch(input: LaunchInput): Launch
  /** Reads one whole line of output. Unknown lines are no reports, never an error. */
  read(
    state: ReadState,
    line: string,
    stream: 'out' | 'err',
    now: number,
  ): { state: ReadState; reports: Report[] }
  /** The honest end: terminal event, exit code and stderr together. */
  conclude(ended: Ended): RunEnd
}

export type { Outcome }
