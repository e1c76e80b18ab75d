// The complete environment of a run, a setup command or a gate: an allow-list, so that nothing leaks by default.

export type Environment = { [name: string]: string | undefined }

export type Identity = { name: string; email: string }

export type EnvironmentInput = {
  /** The person's environment: that of the call which submitted the task. */
  caller: Environment
  windows: boolean
  /** Of the task, kept over its runs. */
  home: string
  /** Of this run, setup or gate alone. */
  temp: string
  /** Holds a `berth` that is this very Berth; comes first on PATH. */
  binDir: string
  identity: Identity
  /** Git settings that an empty home would lose (home.ts `readPersonGit`), as GIT_CONFIG_COUNT pairs. */
  git: { key: string; value: string }[]
  /** Tool homes and caches outside the task's home that exist (home.ts `findToolHomes`). */
  toolHomes: { [name: string]: string }
  /** Names of variables that are passed through: of the project, of the engine (its API key), of the call. */
  pass: string[]
  /** Variables set by configuration: they win over what is passed, never over what isolates. */
  set: { [name: string]: string }
  /** Variables that hold another engine's or account's place: never inherited, even when named in `pass`. */
  engineNames: string[]
  task: {
    task: string
    /** `<state id>:<run id>`, outermost first, appended to the caller's list (docs/decisions/0001). */
    markers: string[]
    token?: string
    attempt: number
    promptFile?: string
    /** The repository's main worktree (or the bare repository). */
    repo: string
    base: string
    target: string
    stateDir: string
    worktree: string
    ports: number[]
  }
}

/** What becomes of one variable of the caller. */
export type Disposition =
  | 'allowed'
  | 'passed'
  | 'replaced'
  | 'tool-home'
  | 'dropped: session marker'
  | 'dropped: redirects git'
  | 'dropped: engine'
  | 'dropped: berth'
  | 'dropped: not on the list'

/** Who a task's commits are by. */
export const identityOf = (task: string): Identity => ({
  name: `${task} (berth)`,
  email: `${task}@berth.invalid`,
})

/**
 * The whole environment; nothing else reaches the process. On Windows names are compared without case, so that
 * `Path` and `PATH` never stand side by side, and every variable that libuv would refill from its parent is set.
 */
export function buildEnv(input: EnvironmentInput): { [name: string]: string } {
  const env = new Map<string, { name: string; value: string }>()
  const put = (name: string, value: string): void => {
    env.set(keyOf(name, input.windows), { name, value })
  }
  const own = ownVariables(input)
  const isolating = keysOf(own, input.windows)
  for (const [name, value] of Object.entries(input.caller)) {
    if (value === undefined) continue
    const disposition = dispositionOf(name, input, isolating)
    if (disposition === 'allowed' || disposition === 'passed') put(name, value)
  }
  for (const [name, value] of Object.entries(input.toolHomes)) put(name, value)
  for (const [name, value] of Object.entries(input.set)) {
    if (!isolating.has(keyOf(name, input.windows))) put(name, value)
  }
  for (const [name, value] of Object.entries(own)) put(name, value)
  return Object.fromEntries([...env.values()].map(({ name, value }) => [name, value]))
}

/** For each variable of the caller, what becomes of it and why: the proof that none is forgotten. */
export function accountFor(input: EnvironmentInput): { [name: string]: Disposition } {
  const isolating = keysOf(ownVariables(input), input.windows)
  return Object.fromEntries(
    Object.keys(input.caller).map(name => [name, dispositionOf(name, input, isolating)]),
  )
}

/** Decides by name alone. What isolates is decided first: no configuration can pass it. */
function dispositionOf(name: string, input: EnvironmentInput, isolating: Set<string>): Disposition {
  const key = keyOf(name, input.windows)
  const has = (names: readonly string[]): boolean => names.some(each => keyOf(each, input.windows) === key)
  if (isolating.has(key)) return 'replaced'
  if (key.startsWith('BERTH_')) return 'dropped: berth'
  if (key.startsWith('GIT_')) return 'dropped: redirects git'
  if (has(sessionMarkers)) return 'dropped: session marker'
  if (has(input.engineNames)) return 'dropped: engine'
  if (has(Object.keys(input.toolHomes))) return 'tool-home'
  if (has(input.pass)) return 'passed'
  if (sessionPrefixes.some(prefix => key.startsWith(prefix))) return 'dropped: session marker'
  if (has(allowed) || key.startsWith('LC_') || (input.windows && has(allowedOnWindows))) return 'allowed'
  return 'dropped: not on the list'
}

/** Compose wants `[a-z0-9][a-z0-9_-]*`, and two projects may have equal folder names: so a digest of the path. */
export function composeName(task: string, worktree: string): string {
  const word = task.toLowerCase().replace(/[^a-z0-9_-]+/g, '-')
  return `berth-${word.slice(0, 40)}-${digestOf(worktree)}`
}

/** The person's own, harmless, and needed for tools to work at all. */
const allowed = [
  'LANG',
  'TZ',
  'TERM',
  'COLORTERM',
  'SHELL',
  'USER',
  'LOGNAME',
  'SSL_CERT_FILE',
  'SSL_CERT_DIR',
  'NODE_EXTRA_CA_CERTS',
  'REQUESTS_CA_BUNDLE',
  'CURL_CA_BUNDLE',
  'CARGO_HTTP_CAINFO',
  'PIP_CERT',
  'AWS_CA_BUNDLE',
  'HTTP_PROXY',
  'HTTPS_PROXY',
  'ALL_PROXY',
  'NO_PROXY',
  'http_proxy',
  'https_proxy',
  'all_proxy',
  'no_proxy',
  'LOCALE_ARCHIVE',
  'NIX_PROFILES',
  'NIX_SSL_CERT_FILE',
  'XDG_DATA_DIRS',
  'XDG_CONFIG_DIRS',
  'JAVA_HOME',
  'GOROOT',
  'DOTNET_ROOT',
  'ANDROID_HOME',
  'ANDROID_SDK_ROOT',
] as const

/** Without these a Windows program does not start, or does not find its own parts. */
const allowedOnWindows = [
  'SYSTEMROOT',
  'SYSTEMDRIVE',
  'WINDIR',
  'COMSPEC',
  'PATHEXT',
  'OS',
  'PROGRAMDATA',
  'PROGRAMFILES',
  'PROGRAMFILES(X86)',
  'PROGRAMW6432',
  'COMMONPROGRAMFILES',
  'COMMONPROGRAMFILES(X86)',
  'COMMONPROGRAMW6432',
  'ALLUSERSPROFILE',
  'PUBLIC',
  'NUMBER_OF_PROCESSORS',
  'PROCESSOR_ARCHITECTURE',
  'PROCESSOR_IDENTIFIER',
  'USERNAME',
  'USERDOMAIN',
  'COMPUTERNAME',
] as const

/** Set by agent programs in what they start (measured): an agent that sees them behaves as if nested. */
const sessionMarkers = [
  'CLAUDECODE',
  'CLAUDE_CODE_SESSION_ID',
  'CLAUDE_CODE_ENTRYPOINT',
  'CLAUDE_CODE_SSE_PORT',
  'CODEX_THREAD_ID',
  'CODEX_TOOL_CALL_ID',
  'CODEX_SANDBOX',
  'CODEX_SANDBOX_NETWORK_DISABLED',
  'AI_AGENT',
  'AGENT',
  'GEMINI_CLI',
  'OPENCODE',
  'OPENCODE_PID',
  'QWEN_CODE',
  'COPILOT_AGENT_SESSION_ID',
  'CURSOR_AGENT',
  'CURSOR_TRACE_ID',
] as const
/** Of the same programs: dropped too, unless named in `pass` (keys have such names). */
const sessionPrefixes = ['CLAUDE_CODE_', 'CODEX_', 'OPENCODE_', 'COPILOT_', 'GEMINI_CLI_'] as const

const keyOf = (name: string, windows: boolean): string => (windows ? name.toUpperCase() : name)

const keysOf = (own: { [name: string]: string }, windows: boolean): Set<string> =>
  new Set(Object.keys(own).map(name => keyOf(name, windows)))

function ownVariables(input: EnvironmentInput): { [name: string]: string } {
  return {
    ...placeVariables(input),
    ...gitVariables(input),
    ...taskVariables(input),
  }
}

function placeVariables({ caller, windows, home, temp, binDir }: EnvironmentInput): {
  [name: string]: string
} {
  const slash = windows ? '\\' : '/'
  const at = (...parts: string[]): string => [home, ...parts].join(slash)
  const drive = windows ? /^[A-Za-z]:/.exec(home)?.[0] : undefined
  const path = callerValue(caller, 'PATH', windows)
  return {
    PATH: [binDir, ...(path === undefined || path === '' ? [] : [path])].join(windows ? ';' : ':'),
    HOME: home,
    USERPROFILE: home,
    HOMEDRIVE: drive ?? '',
    HOMEPATH: drive === undefined ? home : home.slice(drive.length),
    APPDATA: at('AppData', 'Roaming'),
    LOCALAPPDATA: at('AppData', 'Local'),
    XDG_CONFIG_HOME: at('.config'),
    XDG_DATA_HOME: at('.local', 'share'),
    XDG_STATE_HOME: at('.local', 'state'),
    XDG_CACHE_HOME: at('.cache'),
    XDG_RUNTIME_DIR: temp,
    TMPDIR: temp,
    TEMP: temp,
    TMP: temp,
  }
}

function gitVariables({ identity, git }: EnvironmentInput): { [name: string]: string } {
  const settings = [...git, { key: 'commit.gpgsign', value: 'false' }, { key: 'tag.gpgsign', value: 'false' }]
  return {
    GIT_AUTHOR_NAME: identity.name,
    GIT_AUTHOR_EMAIL: identity.email,
    GIT_COMMITTER_NAME: identity.name,
    GIT_COMMITTER_EMAIL: identity.email,
    GIT_TERMINAL_PROMPT: '0',
    // Nobody is there to write a message or to page: both would wait for ever.
    GIT_EDITOR: 'true',
    GIT_PAGER: 'cat',
    PAGER: 'cat',
    GIT_CONFIG_COUNT: String(settings.length),
    ...Object.fromEntries(
      settings.flatMap(({ key, value }, i) => [
        [`GIT_CONFIG_KEY_${i}`, key],
        [`GIT_CONFIG_VALUE_${i}`, value],
      ]),
    ),
  }
}

function taskVariables({ caller, windows, task }: EnvironmentInput): { [name: string]: string } {
  const outer = callerValue(caller, 'BERTH_RUN', windows)
  const [firstPort] = task.ports
  return {
    BERTH_RUN: [...(outer === undefined || outer === '' ? [] : [outer]), ...task.markers].join(','),
    BERTH_TASK: task.task,
    BERTH_ATTEMPT: String(task.attempt),
    BERTH_REPO: task.repo,
    BERTH_BASE: task.base,
    BERTH_TARGET: task.target,
    BERTH_STATE_DIR: task.stateDir,
    ...(task.token === undefined ? {} : { BERTH_TOKEN: task.token }),
    ...(task.promptFile === undefined ? {} : { BERTH_PROMPT_FILE: task.promptFile }),
    ...Object.fromEntries(task.ports.map((port, i) => [`BERTH_PORT_${i}`, String(port)])),
    ...(firstPort === undefined ? {} : { PORT: String(firstPort) }),
    COMPOSE_PROJECT_NAME: composeName(task.task, task.worktree),
  }
}

function callerValue(caller: Environment, name: string, windows: boolean): string | undefined {
  if (!windows) return caller[name]
  return Object.entries(caller).find(([each]) => each.toUpperCase() === name)?.[1]
}

/** FNV-1a, 32 bits: tells paths apart in a name, protects nothing. */
function digestOf(text: string): string {
  let hash = 0x811c9dc5
  for (const byte of new TextEncoder().encode(text)) hash = Math.imul(hash ^ byte, 0x01000193) >>> 0
  return hash.toString(16).padStart(8, '0')
}
