// Which berth.toml counts, what goes over it, where a mistake stands, and what needs consent (docs/decisions/0016).

import { realpathSync, symlinkSync } from 'node:fs'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { BerthError } from '../../src/core/errors.ts'
import {
  configure,
  consentNeeded,
  consentTo,
  type Configured,
  type Flags,
} from '../../src/daemon/configure.ts'
import { programOf, requireGatePrograms } from '../../src/daemon/gateprograms.ts'
import { makeWorld, type World } from '../fixtures/repository.ts'

let world: World
beforeEach(() => {
  world = makeWorld()
})
afterEach(() => world.clean())

const configured = async (
  dir: string,
  env: { [name: string]: string } = {},
  flags?: Flags,
): Promise<Configured> =>
  configure(await world.open(dir), {
    env: { ...world.env, ...env },
    root: `${dir}.berths`,
    ...(flags && { flags }),
  })

const refusal = async (work: Promise<unknown>) => {
  const error = await work.then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  if (!(error instanceof BerthError)) throw error ?? new Error('nothing was refused')
  return { code: error.code, message: error.message, hint: error.hint }
}

const user = (text: string) => world.write(`${world.home}/.config/berth/config.toml`, text)

test('without any configuration the defaults count', async () => {
  const found = await configured(world.repository())
  expect(found).toMatchObject({
    source: 'none',
    target: 'main',
    trusted: false,
    consent: [],
    policy: { land: 'ask' },
  })
})

test('a pattern of files to copy that leads out of the repository is refused where it is written', async () => {
  const repo = world.repository('repo', { 'berth.toml': 'land = "ask"\n', 'etc/own': 'x\n' })
  world.write(world.path('outside'), 'x')
  for (const pattern of ['../x', 'a/../../b', '~/x', 'C:/x', world.path('outside'), `${world.dir}/out*`]) {
    const said = `'${pattern}' leads out of the repository; name files from its root`
    world.commit(repo, 'toml', {
      '.worktreeinclude': '',
      'berth.toml': `land = "ask"\n\ncopies = [".env", "!${pattern}"]\n`,
    })
    await expect(configured(repo), pattern).rejects.toMatchObject({
      code: 'config',
      message: `'main:berth.toml', line 3: 'copies': ${said.replace("'", "'!")}`,
    })
    world.commit(repo, 'include', {
      'berth.toml': 'land = "ask"\n',
      '.worktreeinclude': `# x\n.env\n${pattern}\n`,
    })
    await expect(configured(repo), pattern).rejects.toMatchObject({
      code: 'config',
      message: `'main:.worktreeinclude', line 3: ${said}`,
    })
  }
  const inside = ['/.env', '/etc/*', '*.local', 'a..b', '/nowhere/at/all']
  world.commit(repo, 'inside', { '.worktreeinclude': `${inside.join('\n')}\n` })
  expect((await configured(repo)).policy.copies).toEqual(inside)
})

test('the berth.toml of the target counts, not that of a branch that is checked out', async () => {
  const repo = world.repository('repo', {
    'berth.toml': 'land = "auto"\n',
    '.worktreeinclude': '# x\n.env\n',
  })
  world.git(repo, 'switch', '-qc', 'other')
  world.commit(repo, 'other', { 'berth.toml': 'land = "never"\n' })
  const tip = world.git(repo, 'rev-parse', 'main')
  const found = await configured(repo, { BERTH_TARGET: 'other', BERTH_BASE: 'other' })
  // Without a remote the branch that is checked out is the target.
  expect(found.target).toBe('other')
  world.git(repo, 'switch', '-q', 'main')
  world.remote(repo)
  world.git(repo, 'switch', '-q', 'other')
  expect(await configured(repo)).toMatchObject({
    source: `berth.toml at main ${tip.slice(0, 10)}`,
    policy: { land: 'auto', copies: ['.env'] },
  })
  // The only remote is the one that is meant, whatever its name.
  world.git(repo, 'remote', 'rename', 'origin', 'upstream')
  expect(await configured(repo)).toMatchObject({ target: 'main', policy: { remote: 'upstream' } })
})

test('a mistake in the checkout is nobody’s business while the target has a berth.toml', async () => {
  const repo = world.repository('repo', { 'berth.toml': 'land = "auto"\n' })
  world.write(`${repo}/berth.toml`, 'half a li')
  expect(await configured(repo)).toMatchObject({ policy: { land: 'auto' } })
})

test('while the target has none, that of the checkout counts, uncommitted as it is', async () => {
  const repo = world.repository()
  world.write(`${repo}/berth.toml`, 'land = "auto"\n')
  expect(await configured(repo)).toMatchObject({
    source: 'berth.toml of the checkout',
    policy: { land: 'auto' },
  })
})

test('a berth.toml may name another target, whose berth.toml counts then; a circle is refused', async () => {
  const repo = world.repository('repo', { 'berth.toml': 'target = "dev"\nland = "auto"\n' })
  world.git(repo, 'branch', 'dev')
  expect(await configured(repo)).toMatchObject({ target: 'dev', policy: { land: 'auto' } })
  world.git(repo, 'switch', '-q', 'dev')
  world.commit(repo, 'back', { 'berth.toml': 'target = "main"\n' })
  expect(await refusal(configured(repo))).toMatchObject({ code: 'config', message: /lead in a circle/ })
})

test('the user goes over the repository, BERTH_* over the user, flags over all', async () => {
  const repo = world.repository('repo', {
    'berth.toml': 'land = "auto"\nengine = "codex"\n[limits]\njobs = 3\n',
  })
  user('engine = "gemini"\n[limits]\njobs = 4\n')
  expect(await configured(repo)).toMatchObject({
    policy: { land: 'auto', defaultEngine: 'gemini' },
    limits: { jobs: 4 },
  })
  const env = { BERTH_JOBS: '5', BERTH_LAND: 'never' }
  expect(await configured(repo, env)).toMatchObject({ policy: { land: 'never' }, limits: { jobs: 5 } })
  expect(await configured(repo, env, { jobs: 6, land: 'ask' })).toMatchObject({
    policy: { land: 'ask' },
    limits: { jobs: 6 },
  })
})

test('mistakes name file, line and the nearest key, wherever they stand', async () => {
  const repo = world.repository('repo', { 'berth.toml': '# x\ntaregt = "main"\n' })
  expect(await refusal(configured(repo))).toEqual({
    code: 'config',
    message: "'main:berth.toml', line 2: unknown key 'taregt'; did you mean 'target'?",
    hint: expect.stringMatching(/^git -C \S+\/repo show [0-9a-f]{10}:berth\.toml$/) as unknown,
  })
  world.commit(repo, 'syntax', { 'berth.toml': 'land = "auto\n' })
  expect(await refusal(configured(repo))).toMatchObject({
    message: /^'main:berth.toml', line 1, column \d+: /,
  })
  world.commit(repo, 'fine', { 'berth.toml': '' })
  user('\n[limits]\njobs = "many"\n')
  expect(await refusal(configured(repo))).toMatchObject({
    message: `'${world.home}/.config/berth/config.toml', line 3: 'limits.jobs' must be a whole number of at least 1`,
  })
  user('')
  expect(await refusal(configured(repo, { BERTH_JOBS: 'x' }))).toMatchObject({
    message: "'BERTH_JOBS' must be a whole number of at least 1",
    hint: 'unset BERTH_JOBS',
  })
  expect(await refusal(configured(repo, { BERTH_ENGINE: 'cluade' }))).toMatchObject({
    code: 'unknown-engine',
    message: "'BERTH_ENGINE': unknown engine 'cluade'; did you mean 'claude'?",
  })
})

test('consent is asked for what the repository runs, once per content', async () => {
  const repo = world.repository('repo', { 'berth.toml': 'setup = ["npm ci"]\n' })
  const first = await configured(repo)
  expect(consentTo(first, { trust: false, before: [] })).toBe('missing')
  expect(await refusal(Promise.reject(consentNeeded(first)))).toEqual({
    code: 'consent-needed',
    message: `'${first.source}' makes Berth run or copy what nobody has agreed to: setup: npm ci`,
    hint: 'berth config',
  })
  expect(consentTo(first, { trust: true, before: [] })).toBe('now')
  expect(consentTo(first, { trust: false, before: [first.hash] })).toBe('before')
  world.commit(repo, 'same', { 'berth.toml': '# a comment\nsetup = ["npm ci"]\n' })
  expect((await configured(repo)).hash).toBe(first.hash)
  world.commit(repo, 'other', { 'berth.toml': 'setup = ["npm ci && evil"]\n' })
  expect((await configured(repo)).hash).not.toBe(first.hash)
})

test('the user trusts paths by whole components and real places', async () => {
  const repo = world.repository('work/repo', { 'berth.toml': 'setup = ["true"]\n' })
  const trusted = async (path: string) => {
    user(`trust = [${JSON.stringify(path)}]\n`)
    return (await configured(repo)).trusted
  }
  expect(await trusted(world.path('work'))).toBe(true)
  expect(await trusted(world.path('wor'))).toBe(false)
  expect(await trusted(world.path('work/repo'))).toBe(true)
  symlinkSync(realpathSync(world.path('work')), world.path('link'))
  expect(await trusted(world.path('link'))).toBe(true)
  symlinkSync(realpathSync(world.path('work')), `${world.home}/code`)
  expect(await trusted('~/code')).toBe(true)
  expect(await trusted('~/cod')).toBe(false)
})

test.each([
  ['npm test', 'npm'],
  ['CI=1 npm test', 'npm'],
  ['/usr/bin/make -j', '/usr/bin/make'],
  ['cd a && npm test', undefined],
  ['./gradlew test', undefined],
  ['"my tool" x', undefined],
  ['$TOOL x', undefined],
  ['test -f x', undefined],
  ['(npm test)', undefined],
  ['', undefined],
])('the program of the gate %j is %j', (line, program) => expect(programOf(line)).toBe(program))

test('a gate whose program is missing is refused before anything runs', async () => {
  const gate = (run: string) => [{ name: 'tests', run }]
  const missing = refusal(
    Promise.resolve().then(() => requireGatePrograms(gate('no-such-program x'), world.env)),
  )
  expect(await missing).toEqual({
    code: 'gate-missing',
    message: "the gate 'tests' needs 'no-such-program', which is not installed",
    hint: 'berth run --gate COMMAND "BRIEF"',
  })
  expect(() => requireGatePrograms(gate('git status'), world.env)).not.toThrow()
  expect(() => requireGatePrograms(gate('/no/such/program'), world.env)).toThrow(BerthError)
})
