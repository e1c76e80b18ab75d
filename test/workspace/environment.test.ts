// The environment of a run: everything set that isolates it, nothing of the caller that was not asked for.

import { expect, test } from 'vitest'
import { accountFor, buildEnv, composeName, type EnvironmentInput } from '../../src/workspace/environment.ts'

const input = (over: Partial<EnvironmentInput> = {}): EnvironmentInput => ({
  caller: { PATH: '/usr/bin:/bin' },
  windows: false,
  home: '/state/homes/p/login',
  temp: '/run/t-1',
  binDir: '/state/bin',
  identity: { name: 'login (berth)', email: 'login@berth.invalid' },
  git: [{ key: 'core.autocrlf', value: 'input' }],
  toolHomes: {},
  pass: [],
  set: {},
  engineNames: ['CLAUDE_CONFIG_DIR', 'CODEX_HOME', 'CODEX_API_KEY'],
  task: {
    task: 'login',
    markers: ['S:W', 'S:R2'],
    token: 'tok',
    attempt: 2,
    promptFile: '/run/t-1/prompt.md',
    repo: '/repo',
    base: 'a'.repeat(40),
    target: 'main',
    stateDir: '/state',
    worktree: '/repo.berths/login',
    ports: [21000, 21001],
  },
  ...over,
})

/** All that a caller could carry in, each with what must become of it. */
const hostile: { [name: string]: [value: string, becomes: string] } = {
  PATH: ['/usr/bin', 'replaced'],
  HOME: ['/home/me', 'replaced'],
  USERPROFILE: ['C:\\me', 'replaced'],
  HOMEDRIVE: ['C:', 'replaced'],
  HOMEPATH: ['\\me', 'replaced'],
  APPDATA: ['x', 'replaced'],
  LOCALAPPDATA: ['x', 'replaced'],
  XDG_CONFIG_HOME: ['/home/me/.config', 'replaced'],
  XDG_DATA_HOME: ['x', 'replaced'],
  XDG_STATE_HOME: ['x', 'replaced'],
  XDG_CACHE_HOME: ['x', 'replaced'],
  XDG_RUNTIME_DIR: ['/run/user/1000', 'replaced'],
  TMPDIR: ['/var/tmp', 'replaced'],
  TEMP: ['x', 'replaced'],
  TMP: ['x', 'replaced'],
  GIT_AUTHOR_NAME: ['Me', 'replaced'],
  GIT_AUTHOR_EMAIL: ['me@x', 'replaced'],
  GIT_COMMITTER_NAME: ['Me', 'replaced'],
  GIT_COMMITTER_EMAIL: ['me@x', 'replaced'],
  GIT_CONFIG_COUNT: ['1', 'replaced'],
  GIT_CONFIG_KEY_0: ['core.hooksPath', 'replaced'],
  GIT_CONFIG_VALUE_0: ['/evil', 'replaced'],
  GIT_CONFIG_KEY_9: ['x', 'dropped: redirects git'],
  GIT_DIR: ['/elsewhere/.git', 'dropped: redirects git'],
  GIT_WORK_TREE: ['/elsewhere', 'dropped: redirects git'],
  GIT_INDEX_FILE: ['/elsewhere/index', 'dropped: redirects git'],
  GIT_OBJECT_DIRECTORY: ['x', 'dropped: redirects git'],
  GIT_SSH_COMMAND: ['x', 'dropped: redirects git'],
  GIT_EDITOR: ['vi', 'replaced'],
  PAGER: ['less', 'replaced'],
  BERTH_RUN: ['S0:R1', 'replaced'],
  BERTH_TOKEN: ['theirs', 'replaced'],
  BERTH_STATE_DIR: ['/other', 'replaced'],
  BERTH_DEBUG: ['1', 'dropped: berth'],
  CLAUDECODE: ['1', 'dropped: session marker'],
  CLAUDE_CODE_ENTRYPOINT: ['cli', 'dropped: session marker'],
  CLAUDE_CODE_OAUTH_TOKEN: ['t', 'dropped: session marker'],
  CODEX_THREAD_ID: ['x', 'dropped: session marker'],
  CODEX_SOMETHING: ['x', 'dropped: session marker'],
  GEMINI_CLI: ['1', 'dropped: session marker'],
  OPENCODE: ['1', 'dropped: session marker'],
  OPENCODE_PID: ['1', 'dropped: session marker'],
  AGENT: ['1', 'dropped: session marker'],
  AI_AGENT: ['x', 'dropped: session marker'],
  CLAUDE_CONFIG_DIR: ['/home/me/.claude', 'dropped: engine'],
  CODEX_HOME: ['/home/me/.codex', 'dropped: engine'],
  ANTHROPIC_API_KEY: ['sk', 'dropped: not on the list'],
  AWS_SECRET_ACCESS_KEY: ['sk', 'dropped: not on the list'],
  NODE_OPTIONS: ['--require evil', 'dropped: not on the list'],
  LD_PRELOAD: ['x.so', 'dropped: not on the list'],
  LANGUAGE: ['de', 'dropped: not on the list'],
  DISPLAY: [':0', 'dropped: not on the list'],
  SSH_ASKPASS: ['x', 'dropped: not on the list'],
  PWD: ['/', 'dropped: not on the list'],
  LANG: ['de_DE.UTF-8', 'allowed'],
  LC_TIME: ['de_DE.UTF-8', 'allowed'],
  TZ: ['Europe/Berlin', 'allowed'],
  TERM: ['xterm', 'allowed'],
  SSL_CERT_FILE: ['/ca.pem', 'allowed'],
  NODE_EXTRA_CA_CERTS: ['/ca.pem', 'allowed'],
  https_proxy: ['http://proxy', 'allowed'],
  NO_PROXY: ['localhost', 'allowed'],
  CARGO_HOME: ['/home/me/.cargo', 'tool-home'],
  WANTED: ['yes', 'passed'],
}

test('every variable of a hostile caller is accounted for, and only the allowed and the passed get through', () => {
  const caller = Object.fromEntries(Object.entries(hostile).map(([name, [value]]) => [name, value]))
  const given = input({
    caller,
    pass: ['WANTED', 'GIT_DIR', 'CLAUDECODE', 'HOME', 'CODEX_HOME', 'BERTH_DEBUG'],
    toolHomes: { CARGO_HOME: '/home/me/.cargo' },
  })
  expect(accountFor(given)).toEqual(
    Object.fromEntries(Object.entries(hostile).map(([name, [, becomes]]) => [name, becomes])),
  )
  const env = buildEnv(given)
  const through = Object.keys(caller).filter(name => env[name] === caller[name])
  expect(through.sort()).toEqual(
    Object.entries(hostile)
      .filter(([, [, becomes]]) => ['allowed', 'passed', 'tool-home'].includes(becomes))
      .map(([name]) => name)
      .sort(),
  )
})

test('the whole environment of a run', () => {
  expect(buildEnv(input({ caller: { PATH: '/usr/bin:/bin', BERTH_RUN: 'S0:R1', LANG: 'C.UTF-8' } }))).toEqual(
    {
      LANG: 'C.UTF-8',
      PATH: '/state/bin:/usr/bin:/bin',
      HOME: '/state/homes/p/login',
      USERPROFILE: '/state/homes/p/login',
      HOMEDRIVE: '',
      HOMEPATH: '/state/homes/p/login',
      APPDATA: '/state/homes/p/login/AppData/Roaming',
      LOCALAPPDATA: '/state/homes/p/login/AppData/Local',
      XDG_CONFIG_HOME: '/state/homes/p/login/.config',
      XDG_DATA_HOME: '/state/homes/p/login/.local/share',
      XDG_STATE_HOME: '/state/homes/p/login/.local/state',
      XDG_CACHE_HOME: '/state/homes/p/login/.cache',
      XDG_RUNTIME_DIR: '/run/t-1',
      TMPDIR: '/run/t-1',
      TEMP: '/run/t-1',
      TMP: '/run/t-1',
      GIT_AUTHOR_NAME: 'login (berth)',
      GIT_AUTHOR_EMAIL: 'login@berth.invalid',
      GIT_COMMITTER_NAME: 'login (berth)',
      GIT_COMMITTER_EMAIL: 'login@berth.invalid',
      GIT_TERMINAL_PROMPT: '0',
      GIT_EDITOR: 'true',
      GIT_PAGER: 'cat',
      PAGER: 'cat',
      GIT_CONFIG_COUNT: '3',
      GIT_CONFIG_KEY_0: 'core.autocrlf',
      GIT_CONFIG_VALUE_0: 'input',
      GIT_CONFIG_KEY_1: 'commit.gpgsign',
      GIT_CONFIG_VALUE_1: 'false',
      GIT_CONFIG_KEY_2: 'tag.gpgsign',
      GIT_CONFIG_VALUE_2: 'false',
      BERTH_RUN: 'S0:R1,S:W,S:R2',
      BERTH_TASK: 'login',
      BERTH_ATTEMPT: '2',
      BERTH_REPO: '/repo',
      BERTH_BASE: 'a'.repeat(40),
      BERTH_TARGET: 'main',
      BERTH_STATE_DIR: '/state',
      BERTH_TOKEN: 'tok',
      BERTH_PROMPT_FILE: '/run/t-1/prompt.md',
      BERTH_PORT_0: '21000',
      BERTH_PORT_1: '21001',
      PORT: '21000',
      COMPOSE_PROJECT_NAME: composeName('login', '/repo.berths/login'),
    },
  )
})

test('configuration may set what it likes, but not what isolates, and wins over what is passed', () => {
  const env = buildEnv(
    input({
      caller: { PATH: '/bin', MODE: 'theirs' },
      pass: ['MODE'],
      set: { MODE: 'ours', HOME: '/home/me', GIT_AUTHOR_NAME: 'x' },
    }),
  )
  expect(env['MODE']).toBe('ours')
  expect(env['HOME']).toBe('/state/homes/p/login')
  expect(env['GIT_AUTHOR_NAME']).toBe('login (berth)')
})

test('a key that is named to be passed is passed, although it looks like a mark of a session', () => {
  const env = buildEnv(input({ caller: { CLAUDE_CODE_OAUTH_TOKEN: 't' }, pass: ['CLAUDE_CODE_OAUTH_TOKEN'] }))
  expect(env['CLAUDE_CODE_OAUTH_TOKEN']).toBe('t')
})

test('on Windows names are compared without case and what libuv refills is always set', () => {
  const env = buildEnv(
    input({
      windows: true,
      home: 'D:\\state\\homes\\p\\login',
      temp: 'D:\\t',
      binDir: 'D:\\state\\bin',
      caller: {
        Path: 'C:\\Windows\\system32',
        UserProfile: 'C:\\Users\\me',
        SystemRoot: 'C:\\Windows',
        ComSpec: 'C:\\Windows\\system32\\cmd.exe',
        Git_Dir: 'C:\\x',
        ClaudeCode: '1',
        berth_run: 'S0:R1',
        Wanted: 'yes',
      },
      pass: ['WANTED'],
    }),
  )
  const upper = Object.keys(env).map(name => name.toUpperCase())
  expect(new Set(upper).size).toBe(upper.length)
  expect(env).toMatchObject({
    PATH: 'D:\\state\\bin;C:\\Windows\\system32',
    USERPROFILE: 'D:\\state\\homes\\p\\login',
    HOMEDRIVE: 'D:',
    HOMEPATH: '\\state\\homes\\p\\login',
    APPDATA: 'D:\\state\\homes\\p\\login\\AppData\\Roaming',
    TEMP: 'D:\\t',
    SystemRoot: 'C:\\Windows',
    ComSpec: 'C:\\Windows\\system32\\cmd.exe',
    Wanted: 'yes',
    BERTH_RUN: 'S0:R1,S:W,S:R2',
  })
  expect(upper).not.toContain('GIT_DIR')
  expect(upper).not.toContain('CLAUDECODE')
})

test('compose project names are valid and tell equal names in two repositories apart', () => {
  const one = composeName('Login.Page', '/a/app.berths/login')
  const two = composeName('Login.Page', '/b/app.berths/login')
  expect(one).toMatch(/^[a-z0-9][a-z0-9_-]*$/)
  expect(two).not.toBe(one)
})
