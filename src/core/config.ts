// Policy and defaults: every limit with a name and a unit. Read and validated at the edge, passed in whole.

/** Limits over the whole fleet of a state directory. */
export type Limits = {
  /** Runs that may work at the same time (those waiting for an answer hold no slot). */
  jobs: number
  /** Runs that may be alive at the same time, waiting ones included. */
  maxAlive: number
  /** Per engine, by its name. */
  perEngine: { [engine: string]: number }
}

export type CommandPolicy = {
  /** A shell line. */
  run: string
  timeoutMs: number
}

export type GatePolicy = CommandPolicy & { name: string; paths?: string[]; mayWrite: boolean }

export type EnginePolicy = {
  type: 'command' | 'claude' | 'codex' | 'gemini' | 'opencode'
  /** Program and flags, no shell. Empty: the engine's own program. */
  argv: string[]
  model?: string
  /** For `command`: how its output is read. */
  reads: 'text' | 'claude' | 'codex' | 'gemini' | 'opencode'
  /** Names of variables of the caller that are passed to it. */
  pass: string[]
  /** Variables set for it. */
  env: { [name: string]: string }
  /** `auto` lets the agent act without asking within its worktree; `ask` lets it wait for a person. */
  permission: 'auto' | 'ask'
}

/** What one project's configuration says, with every default filled in. */
export type ProjectPolicy = {
  target: string | null
  remote: string
  mode: 'local' | 'push' | 'pr'
  /** Absolute. */
  root: string
  branchPrefix: string
  fetch: boolean
  fetchTimeoutMs: number
  setup: CommandPolicy[]
  copies: string[]
  dependencies: { path: string; how: 'install' | 'clone' }[]
  rebuildable: string[]
  protect: string[]
  gates: GatePolicy[]
  engines: { [name: string]: EnginePolicy }
  defaultEngine: string
  land: 'auto' | 'ask' | 'never'
  /** Attempts of a task before it is failed. */
  attempts: number
  backoffMs: number
  backoffMaxMs: number
  /** Tries of a landing whose target moved meanwhile. */
  landingTries: number
  timeoutMs: number
  quietMs: number
  graceMs: number
  /** When a limit names no time. */
  quotaMs: number
  /** Saved at the clean-up after a landing without asking; above it is an item. */
  savedBytes: number
  diskFreeMinBytes: number
  /** Bytes kept of one run's output: head and tail. */
  outputHeadBytes: number
  outputTailBytes: number
  redact: string[]
  pass: string[]
  cwd: string | null
}

const minute = 60_000
const mega = 1_000_000

export const rebuildableDefault = [
  'node_modules',
  '.venv',
  'venv',
  'target',
  'dist',
  'build',
  'out',
  '.next',
  '.nuxt',
  '.turbo',
  '.cache',
  '__pycache__',
  '.pytest_cache',
  '.mypy_cache',
  '.ruff_cache',
  '.tox',
  '.gradle',
  '.parcel-cache',
  '.svelte-kit',
  'coverage',
  '.nyc_output',
  'vendor/bundle',
  '.bundle',
  '.terraform',
  'obj',
  '_build',
  'deps',
]

export const policyDefault: Omit<ProjectPolicy, 'root'> = {
  target: null,
  remote: 'origin',
  mode: 'local',
  branchPrefix: 'berth/',
  fetch: true,
  fetchTimeoutMs: 10_000,
  setup: [],
  copies: [],
  dependencies: [],
  rebuildable: rebuildableDefault,
  protect: [],
  gates: [],
  engines: {},
  defaultEngine: 'claude',
  land: 'ask',
  attempts: 3,
  backoffMs: 2_000,
  backoffMaxMs: 5 * minute,
  landingTries: 5,
  timeoutMs: 120 * minute,
  quietMs: 10 * minute,
  graceMs: 5_000,
  quotaMs: 30 * minute,
  savedBytes: 200 * mega,
  diskFreeMinBytes: 2_000 * mega,
  outputHeadBytes: 16 * mega,
  outputTailBytes: 16 * mega,
  redact: [],
  pass: [],
  cwd: null,
}

/** Setup and gates: the whole tree is ended after this. */
export const commandTimeoutMs = 10 * minute
