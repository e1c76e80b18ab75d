// Making workspaces: what a task gets, what is refused, and what a crash leaves.

import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { execFileSync, spawn } from 'node:child_process'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { prepare } from '../../src/workspace/prepare.ts'
import { kinds, makeVoice, makeYard, type Yard } from '../fixtures/workspace.ts'

let yard: Yard
beforeEach(() => {
  yard = makeYard({
    'app.txt': 'one\n',
    '.gitignore': '.env\n.env.*\n!.env.example\nnode_modules/\ncfg/local.json\n',
  })
})
afterEach(() => yard.clean())

const state = (): string =>
  [
    yard.git(yard.repo, 'for-each-ref', '--format=%(refname) %(objectname)'),
    yard.git(yard.repo, 'worktree', 'list', '--porcelain'),
    yard.git(yard.repo, 'status', '--porcelain'),
    yard.git(yard.repo, 'config', '--local', '--list'),
  ].join('\n')

test('a workspace has a worktree, a branch, a home, ports and the mark of who made it', async () => {
  const site = await yard.site()
  const voice = makeVoice()
  const facts = await prepare(yard.input(site, 'login'), voice)
  const head = yard.git(yard.repo, 'rev-parse', 'main')
  const [ready] = facts
  expect(facts).toEqual([
    {
      kind: 'workspace.ready',
      project: site.project,
      task: 'login',
      path: join(yard.root, 'login'),
      branch: 'berth/login',
      home: site.state.home(site.project, 'login'),
      base: head,
      baseRule: 'current-branch',
      target: 'main',
      ports: expect.any(Array),
      notices: [],
    },
  ])
  if (ready?.kind !== 'workspace.ready') throw new Error('not ready')
  expect(ready.ports).toHaveLength(10)
  expect(yard.git(ready.path, 'status', '--porcelain')).toBe('')
  expect(yard.git(ready.path, 'rev-parse', '--abbrev-ref', 'HEAD')).toBe('berth/login')
  expect(statSync(ready.home).mode & 0o777).toBe(0o700)
  expect(JSON.parse(readFileSync(join(yard.repo, '.git/worktrees/login/berth.json'), 'utf8'))).toMatchObject({
    stateId: 'state-one',
    task: 'login',
    base: head,
  })
  expect(yard.git(yard.repo, 'status', '--porcelain')).toBe('')
})

test('asked again after a crash it finds what it made and makes nothing twice', async () => {
  const site = await yard.site()
  const first = await prepare(yard.input(site, 'login'), makeVoice())
  const before = state()
  const again = await prepare(yard.input(site, 'login'), makeVoice())
  expect(state()).toBe(before)
  const strip = (facts: typeof first): unknown[] => facts.map(fact => ({ ...fact, notices: [] }))
  expect(strip(again)).toEqual(strip(first))
})

test('a path that is taken by another is refused with a way out, and nothing is left', async () => {
  const site = await yard.site()
  mkdirSync(join(yard.root, 'login'), { recursive: true })
  writeFileSync(join(yard.root, 'login', 'mine'), 'keep')
  const before = state()
  const [fact] = await prepare(yard.input(site, 'login'), makeVoice())
  expect(fact).toMatchObject({
    kind: 'workspace.failed',
    step: 'path',
    reason: `'${yard.root}/login' is no worktree that git knows; move it away, or give the task another name`,
    hint: `ls -la ${yard.root}/login`,
  })
  expect(state()).toBe(before)
  expect(readFileSync(join(yard.root, 'login', 'mine'), 'utf8')).toBe('keep')
})

test('another Berth on the same repository takes neither the worktree nor the branch', async () => {
  const one = await yard.site()
  await yard.made(one, 'login')
  const other = await yard.site({}, 'state-two')
  const before = state()
  const [fact] = await prepare(yard.input(other, 'login'), makeVoice())
  expect(fact).toMatchObject({
    kind: 'workspace.failed',
    step: 'path',
    reason: expect.stringContaining('another Berth'),
  })
  const elsewhere = join(yard.root, 'login-b')
  const [second] = await prepare(yard.input(other, 'login', { path: elsewhere }), makeVoice())
  expect(second).toMatchObject({ kind: 'workspace.failed', step: 'branch-checked-out' })
  expect(state()).toBe(before)
})

test('sixteen at once get sixteen worktrees and sixteen blocks of ports', async () => {
  const site = await yard.site()
  const records = await Promise.all(Array.from({ length: 16 }, (_, i) => yard.made(site, `t${i}`)))
  const ports = records.flatMap(record => record.ports)
  expect(new Set(ports).size).toBe(160)
  expect(yard.git(yard.repo, 'worktree', 'list').split('\n')).toHaveLength(17)
})

test('a creation that was cut off is cleared and begun again, its phantom deletions are no work', async () => {
  const site = await yard.site()
  const base = yard.git(yard.repo, 'rev-parse', 'main')
  const path = join(yard.root, 'cut')
  yard.git(yard.repo, 'worktree', 'add', '-q', '--no-checkout', '-b', 'berth/cut', path, base)
  writeFileSync(join(path, 'app.txt'), 'on')
  writeFileSync(join(yard.repo, '.git/worktrees/cut/locked'), 'initializing')
  const voice = makeVoice()
  const facts = await prepare(yard.input(site, 'cut'), voice)
  expect(kinds(facts)).toEqual(['workspace.ready'])
  expect(kinds(voice.facts)).toEqual(['notice.given'])
  expect(yard.git(path, 'status', '--porcelain')).toBe('')
})

test('a creation that was cut off and holds a file of its own is kept, and a person is asked', async () => {
  const site = await yard.site()
  const path = join(yard.root, 'cut')
  yard.git(yard.repo, 'worktree', 'add', '-q', '--no-checkout', '-b', 'berth/cut', path, 'main')
  writeFileSync(join(path, 'notes.txt'), 'mine')
  writeFileSync(join(yard.repo, '.git/worktrees/cut/locked'), 'initializing')
  const before = state()
  const [fact] = await prepare(yard.input(site, 'cut'), makeVoice())
  expect(fact).toMatchObject({
    kind: 'workspace.stuck',
    step: 'create',
    reason: expect.stringContaining('notes.txt'),
  })
  expect(state()).toBe(before)
  expect(readFileSync(join(path, 'notes.txt'), 'utf8')).toBe('mine')
})

test('a half-made directory in which somebody works is left alone', async () => {
  const site = await yard.site()
  const path = join(yard.root, 'cut')
  yard.git(yard.repo, 'worktree', 'add', '-q', '--no-checkout', '-b', 'berth/cut', path, 'main')
  writeFileSync(join(yard.repo, '.git/worktrees/cut/locked'), 'initializing')
  const person = spawn('sleep', ['60'], { cwd: path, stdio: 'ignore' })
  try {
    const [fact] = await prepare(yard.input(site, 'cut'), makeVoice())
    expect(fact).toMatchObject({
      kind: 'workspace.stuck',
      step: 'kill',
      holders: [{ pid: person.pid, whose: 'person' }],
    })
    expect(person.exitCode).toBe(null)
  } finally {
    person.kill('SIGKILL')
  }
})

test('exactly the ignored files that are named are copied; nothing is overwritten, no link is followed', async () => {
  const at = (...parts: string[]): string => join(yard.repo, ...parts)
  yard.commit(yard.repo, 'base', {
    '.env.example': 'EXAMPLE=1\n',
    'cfg/base.json': 'tracked\n',
    'apps/web/w.txt': 'w\n',
  })
  yard.git(yard.repo, 'switch', '-qc', 'next')
  yard.commit(yard.repo, 'next', { '.env.example': 'EXAMPLE=2\n', 'cfg/base.json': 'newer\n' })
  yard.git(yard.repo, 'switch', '-q', 'main')
  yard.write(at('.env'), 'A=1\n', 0o600)
  yard.write(at('apps/web/.env.local'), 'B=2\n')
  yard.write(at('cfg/local.json'), 'local\n')
  yard.write(at('node_modules/dep/.env'), 'TRAP=1\n')
  yard.write(at('.env.d/x'), 'D=1\n')
  yard.write(yard.path('outside/secret.env'), 'OUT=1\n')
  symlinkSync(yard.path('outside/secret.env'), at('.env.shared'))
  symlinkSync('../..', at('apps/web/.env.loop'))
  execFileSync('mkfifo', [at('.env.pipe')])
  const site = await yard.site({ target: 'next', copies: ['.env*', '**/.env*', 'cfg/*'] })
  const voice = makeVoice()
  const [fact] = await prepare(yard.input(site, 'copy'), voice)
  if (fact?.kind !== 'workspace.ready') throw new Error(JSON.stringify(fact))
  const copied = yard.git(fact.path, 'ls-files', '-o', '-i', '--exclude-standard').split('\n').sort()
  expect(copied).toEqual(['.env', '.env.d/x', 'apps/web/.env.local', 'cfg/local.json'])
  expect(statSync(join(fact.path, '.env')).mode & 0o777).toBe(0o600)
  expect(yard.git(fact.path, 'status', '--porcelain')).toBe('')
  expect(readFileSync(join(fact.path, '.env.example'), 'utf8')).toBe('EXAMPLE=2\n')
  expect(voice.facts).toEqual([
    expect.objectContaining({
      kind: 'notice.given',
      text: 'copied .env, .env.d/x, apps/web/.env.local, cfg/local.json',
    }),
  ])
  expect(fact.notices.join('\n')).toContain("'.env.shared' was not copied: it is a link to")
})

test.each(['../outside', 'a/../../b', '~/x', 'C:/x'])(
  'the pattern %s leaves the repository and is refused',
  async pattern => {
    const site = await yard.site({ copies: [pattern] })
    const before = state()
    const [fact] = await prepare(yard.input(site, 'copy'), makeVoice())
    expect(fact).toMatchObject({
      kind: 'workspace.failed',
      reason: expect.stringContaining('leaves the repository'),
    })
    expect(state()).toBe(before)
  },
)

test('a file that the branch does not ignore is not copied into it', async () => {
  yard.write(join(yard.repo, '.git/info/exclude'), 'mine.key\n')
  yard.write(join(yard.repo, 'mine.key'), 'secret')
  const site = await yard.site({ copies: ['mine.key', 'absent.key'] })
  const record = await yard.made(site, 'copy')
  expect(existsSync(join(record.path, 'mine.key'))).toBe(true)
  yard.write(join(yard.repo, '.git/info/exclude'), '')
  yard.write(join(yard.repo, '.gitignore'), 'mine.key\n')
  const [fact] = await prepare(yard.input(site, 'copy-2'), makeVoice())
  if (fact?.kind !== 'workspace.ready') throw new Error(JSON.stringify(fact))
  expect(fact.notices.join('\n')).toContain("'mine.key' was not copied: the branch does not ignore it")
  expect(existsSync(join(fact.path, 'mine.key'))).toBe(false)
})

test('a branch that was left over is taken up with its commits, and began where it left the target', async () => {
  const begun = yard.git(yard.repo, 'rev-parse', 'HEAD')
  yard.git(yard.repo, 'switch', '-qc', 'berth/old')
  yard.commit(yard.repo, 'earlier work', { 'old.txt': 'x' })
  yard.git(yard.repo, 'switch', '-q', 'main')
  yard.commit(yard.repo, 'came in since', { 'since.txt': 'x' })
  const site = await yard.site()
  const [fact] = await prepare(yard.input(site, 'old'), makeVoice())
  expect(fact).toMatchObject({ kind: 'workspace.ready', tookUp: 1, base: begun })
})

test('a target that has diverged from its remote is held, and nothing is made', async () => {
  yard.remote(yard.repo)
  const clone = yard.clone(yard.path('remote.git'), 'clone')
  yard.commit(clone, 'theirs', { 'theirs.txt': 'x' })
  yard.git(clone, 'push', '-q')
  yard.commit(yard.repo, 'ours', { 'ours.txt': 'x' })
  const site = await yard.site()
  const [fact] = await prepare(yard.input(site, 'login'), makeVoice())
  expect(fact).toMatchObject({ kind: 'task.held', reason: 'diverged' })
  expect(existsSync(join(yard.root, 'login'))).toBe(false)
  expect(existsSync(site.state.home(site.project, 'login'))).toBe(false)
  expect(readdirSync(yard.path('run', 'berth-ports'))).toEqual([])
})

test('the home carries the person’s settings without identity, credentials, signing and hooks', async () => {
  const set = (...args: string[]): string => yard.git(yard.dir, 'config', '--global', ...args)
  set('filter.lfs.clean', 'git-lfs clean -- %f')
  set('core.excludesFile', '~/ignore')
  set('core.hooksPath', '/evil')
  set('commit.gpgsign', 'true')
  set('credential.helper', 'store')
  set('url.https://user:token@host/.insteadOf', 'gh:')
  set('http.https://x/.extraHeader', 'Authorization: x')
  set('alias.st', 'status "-s"')
  const site = await yard.site()
  const { home } = await yard.made(site, 'login')
  const listed = execFileSync('git', ['config', '--global', '--list'], {
    env: { ...yard.env, HOME: home, XDG_CONFIG_HOME: '/none' },
    encoding: 'utf8',
  })
  expect(listed.trim().split('\n').sort()).toEqual([
    'advice.detachedhead=false',
    'alias.st=status "-s"',
    'commit.gpgsign=false',
    `core.excludesfile=${yard.home}/ignore`,
    'filter.lfs.clean=git-lfs clean -- %f',
    'init.defaultbranch=main',
    'protocol.file.allow=always',
    'tag.gpgsign=false',
    'user.email=login@berth.invalid',
    'user.name=login (berth)',
  ])
  expect(site.person.git.passed).toEqual([
    { key: 'filter.lfs.clean', value: 'git-lfs clean -- %f' },
    { key: 'core.excludesfile', value: `${yard.home}/ignore` },
  ])
  rmSync(home, { recursive: true })
})
