// berth.toml: what is refused, with its line and the nearest key; what the layers come to, and what needs consent.

import { parse } from 'smol-toml'
import { expect, test } from 'vitest'
import { policyDefault } from '../../src/core/config.ts'
import { mergeSettings, type Layer } from '../../src/core/policy.ts'
import { checkSettings, lineOf } from '../../src/core/settings.ts'

const check = (text: string, of: 'repository' | 'user' = 'repository') => checkSettings(parse(text), text, of)

const whole = `target = "main"
land = "auto"
setup = ["npm ci", { run = "make assets", timeout = "5m" }]
copies = [".env"]

[[gates]]
name = "tests"
run = "npm test"
paths = ["src/**"]

[[gates]]
run = "npm run lint"
mayWrite = true

[engines.fast]
type = "claude"
model = "haiku"

[engines.own]
argv = ["./agent", "--flag"]
env = { A = "1" }

[limits]
jobs = 3
perEngine = { claude = 2 }
savedBytes = "1GB"

[timeouts]
run = "30m"
`

test('everything that may be said is accepted', () => {
  expect(check(whole)).toMatchObject({ is: 'settings' })
  expect(check('trust = ["~/work"]', 'user')).toMatchObject({
    is: 'settings',
    settings: { trust: ['~/work'] },
  })
})

test.each([
  ['taregt = "x"', 1, "unknown key 'taregt'", "did you mean 'target'?"],
  ['target = "x"\n\n[limits]\njob = 3\n', 4, "unknown key 'job' in 'limits'", "did you mean 'jobs'?"],
  ['jobs = 3', 1, "unknown key 'jobs'", "it belongs into '[limits]'"],
  ['trust = ["/"]', 1, "unknown key 'trust'", expect.stringMatching(/^known keys: target remote /)],
  ['fetch = "yes"', 1, "'fetch' must be 'true' or 'false'", undefined],
  ['land = "now"', 1, "'land' must be 'auto', 'ask', 'never'", undefined],
  [
    '[timeouts]\n# how long\nrun = "30"\n',
    3,
    "'timeouts.run' must be a duration like '90s', '30m' or '2h'",
    undefined,
  ],
  ['[limits]\njobs = 0', 2, "'limits.jobs' must be a whole number of at least 1", undefined],
  [
    'setup = ["a", { run = "b", timeot = "1m" }]',
    1,
    "unknown key 'timeot' in 'setup[1]'",
    "did you mean 'timeout'?",
  ],
  ['setup = [1]', 1, "'setup[0]' must be a shell line or a table", undefined],
  ['[[gates]]\nrun = "a"\n\n[[gates]]\nrun = 1\n', 5, "'gates[1].run' must be text", undefined],
  ['[[gates]]\nname = "x"\n', 1, "'gates[0].run' must be text", undefined],
  ['[engines.x]\ntype = "cluade"\n', 2, /^'engines\.x\.type' must be 'command', 'claude'/, undefined],
  ['[engines.x]\narg = []\n', 2, "unknown key 'arg' in 'engines.x'", "did you mean 'argv'?"],
  ['[engines."a b"]\n', 1, "'engines.a b' must be a name of letters, digits, _ and -", undefined],
  ['redact = ["ok", "("]', 1, "'redact[1]' must be a regular expression", undefined],
  ['text = """\ntarget = 1\n"""\n', 1, "unknown key 'text'", undefined],
])('%j is refused on line %d', (text, line, message, hint) => {
  const found = check(text)
  expect(found).toMatchObject({ is: 'mistake', line })
  if (found.is !== 'mistake') return
  if (typeof message === 'string') expect(found.message).toBe(message)
  else expect(found.message).toMatch(message)
  if (hint !== undefined) expect(found.advice).toEqual(hint)
})

test('the line of a key is found under headers, dotted keys and after strings of many lines', () => {
  const text = 'a.b = 1\nx = """\n[t]\ny = 2\n"""\n[t]\n"y" = 3\n[[u.v]]\nz = 1\n[[u.v]]\nz = 2\n'
  expect(lineOf(text, ['a', 'b'])).toBe(1)
  expect(lineOf(text, ['t', 'y'])).toBe(7)
  expect(lineOf(text, ['u', 'v', 1, 'z'])).toBe(11)
  expect(lineOf(text, ['t', 'none'])).toBe(6)
})

const base = {
  repository: '/r',
  root: '/r.berths',
  jobs: 2,
  resolve: (folder: string, path: string) => `${folder}+${path}`,
  include: [],
  remote: 'origin',
}

const layer = (text: string, from: string, repository = false): Layer => {
  const checked = checkSettings(parse(text), text, 'repository')
  if (checked.is === 'mistake') throw new Error(checked.message)
  return { from, settings: checked.settings, repository }
}

test('nothing said is the default, with the engines that are built in', () => {
  const { policy, limits, consent } = mergeSettings([], base)
  const { engines, ...rest } = policy
  const { engines: _, ...standard } = policyDefault
  expect(rest).toEqual({ ...standard, root: '/r.berths' })
  expect(Object.keys(engines)).toEqual(['command', 'claude', 'codex', 'gemini', 'opencode'])
  expect(limits).toEqual({ jobs: 2, maxAlive: 6, perEngine: {} })
  expect(consent).toEqual([])
})

test('a whole berth.toml becomes policy', () => {
  const { policy, limits } = mergeSettings([layer(whole, 'berth.toml', true)], base)
  expect(policy).toMatchObject({
    target: 'main',
    land: 'auto',
    setup: [
      { run: 'npm ci', timeoutMs: 600_000 },
      { run: 'make assets', timeoutMs: 300_000 },
    ],
    gates: [
      { name: 'tests', run: 'npm test', paths: ['src/**'], mayWrite: false, timeoutMs: 600_000 },
      { name: 'npm run lint', run: 'npm run lint', mayWrite: true, timeoutMs: 600_000 },
    ],
    engines: {
      fast: { type: 'claude', argv: [], model: 'haiku', permission: 'auto' },
      own: { type: 'command', argv: ['./agent', '--flag'], env: { A: '1' } },
    },
    timeoutMs: 1_800_000,
    savedBytes: 1_000_000_000,
  })
  expect(limits).toEqual({ jobs: 3, maxAlive: 9, perEngine: { claude: 2 } })
})

test('later layers win key by key, and every value says where it came from', () => {
  const layers = [
    layer('land = "auto"\nworktrees = "../w"\n[limits]\njobs = 3\nmaxAlive = 4\n', 'berth.toml', true),
    layer('[limits]\njobs = 5\n[engines.own]\nmodel = "m"\n', 'user'),
    layer('land = "never"', '--land'),
  ]
  const { policy, limits, effective } = mergeSettings(layers, base)
  expect(policy).toMatchObject({ land: 'never', root: '/r+../w', engines: { own: { model: 'm' } } })
  expect(limits).toMatchObject({ jobs: 5, maxAlive: 4 })
  const from = Object.fromEntries(effective.map(one => [one.key, one.from]))
  expect(from).toMatchObject({
    land: '--land',
    'limits.jobs': 'user',
    'limits.maxAlive': 'berth.toml',
    worktrees: 'berth.toml',
    'engines.own.model': 'user',
    gates: 'default',
  })
})

test('rebuildable folders are added to the built-in list or taken out of it', () => {
  const { policy } = mergeSettings([layer('rebuildable = ["gen", "!dist"]', 'berth.toml', true)], base)
  expect(policy.rebuildable).toContain('gen')
  expect(policy.rebuildable).toContain('node_modules')
  expect(policy.rebuildable).not.toContain('dist')
})

test('consent is needed for what the repository runs, copies or hands out, and not for what the person says', () => {
  const own = layer(whole, 'berth.toml', true)
  expect(mergeSettings([own], { ...base, include: ['.env.local'] }).consent).toEqual([
    'setup: npm ci',
    'setup: make assets',
    'gate: npm test',
    'gate: npm run lint',
    'copy: .env',
    'copy: .env.local',
    'engine own, argv: ["./agent","--flag"]',
    'engine own, env: {"A":"1"}',
  ])
  expect(mergeSettings([layer(whole, 'user')], base).consent).toEqual([])
  expect(mergeSettings([own, layer('setup = []\ngates = []\ncopies = []', 'user')], base).consent).toEqual([
    'engine own, argv: ["./agent","--flag"]',
    'engine own, env: {"A":"1"}',
  ])
})
