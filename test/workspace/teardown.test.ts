// Removing workspaces: what refuses, what is left alone, what is gone, and what a crash leaves.

import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type Fact } from '../../src/core/event.ts'
import { type WorkspaceRecord } from '../../src/workspace/site.ts'
import { type TeardownInput } from '../../src/workspace/teardown.ts'
import { kinds, makeVoice, makeYard, teardown, type Yard } from '../fixtures/workspace.ts'

let yard: Yard
const started: ChildProcess[] = []
beforeEach(() => {
  yard = makeYard({
    'app.txt': 'one\n',
    '.gitignore': '.env\n.env.local\n*.sqlite\nnotes/\nnode_modules/\ndist/\n.agent\nshared.json\n',
  })
})
afterEach(() => {
  for (const child of started.splice(0)) child.kill('SIGKILL')
  yard.clean()
})

type Record = WorkspaceRecord & { task: string }

const registry = (): string =>
  [
    yard.git(yard.repo, 'for-each-ref', '--format=%(refname) %(objectname)'),
    yard.git(yard.repo, 'worktree', 'list', '--porcelain'),
    yard.git(yard.repo, 'status', '--porcelain'),
  ].join('\n')

const tree = (path: string): string =>
  existsSync(path)
    ? execFileSync('find', [path, '-printf', '%p %y %l %s\n'], { encoding: 'utf8' })
        .split('\n')
        .sort()
        .join('\n')
    : 'not there'

/** Runs a removal that must be refused, and proves that nothing was changed by it. */
async function refused(input: TeardownInput): Promise<Fact & { kind: 'teardown.refused' }> {
  const before = `${registry()}\n${tree(input.workspace.path)}`
  const voice = makeVoice()
  const [fact, ...more] = await teardown(input, voice)
  expect(more).toEqual([])
  if (fact?.kind !== 'teardown.refused') throw new Error(JSON.stringify([fact, voice.facts]))
  expect(voice.facts).toEqual([])
  expect(`${registry()}\n${tree(input.workspace.path)}`).toBe(before)
  return fact
}

async function removed(input: TeardownInput): Promise<{ facts: Fact[]; spoken: Fact[] }> {
  const voice = makeVoice()
  const facts = await teardown(input, voice)
  expect(facts).toEqual([expect.objectContaining({ kind: 'workspace.removed' })])
  expect(existsSync(input.workspace.path)).toBe(false)
  expect(yard.git(yard.repo, 'worktree', 'list', '--porcelain')).not.toContain(
    `worktree ${input.workspace.path}\n`,
  )
  expect(trash()).toEqual([])
  return { facts, spoken: voice.facts }
}

const trash = (): string[] =>
  existsSync(join(yard.root, '.trash')) ? readdirSync(join(yard.root, '.trash')) : []

const inWorktree = (record: Record, file: string, text = 'x\n'): void =>
  yard.write(join(record.path, file), text)

test('each kind of work refuses a plain removal, named; nothing is changed', async () => {
  const site = await yard.site()
  const record = await yard.made(site, 'w')
  inWorktree(record, 'untracked.txt')
  inWorktree(record, 'staged.txt')
  yard.git(record.path, 'add', 'staged.txt')
  inWorktree(record, 'app.txt', 'changed\n')
  inWorktree(record, '.env.local', 'UNIQUE=1\n')
  inWorktree(record, 'notes/n', 'n')
  inWorktree(record, 'node_modules/x/index.js', 'rebuildable')
  const fact = await refused(yard.removal(site, record))
  expect(fact.code).toBe('loss')
  expect(fact.hint).toBe('berth rm w --save')
  expect(fact.losses.map(({ kind }) => kind).sort()).toEqual(['ignored', 'staged', 'unstaged', 'untracked'])
  expect(JSON.stringify(fact.losses)).toContain('.env.local')
  expect(JSON.stringify(fact.losses)).not.toContain('node_modules')
})

test('commits on a detached HEAD refuse; commits on the task’s own branch do not, and the branch stays', async () => {
  const site = await yard.site()
  const record = await yard.made(site, 'w')
  yard.git(record.path, 'checkout', '-q', '--detach')
  const lost = yard.commit(record.path, 'detached', { 'd.txt': 'x' })
  const fact = await refused(yard.removal(site, record))
  expect(fact).toMatchObject({ code: 'loss', losses: [{ kind: 'commits', examples: [lost] }] })
  yard.git(record.path, 'checkout', '-q', 'berth/w')
  yard.git(record.path, 'reset', '-q', '--hard', lost)
  const { spoken } = await removed(yard.removal(site, record))
  expect(spoken.at(-3)).toMatchObject({ kind: 'branch.kept', branch: 'berth/w', commit: lost })
  expect(yard.git(yard.repo, 'rev-parse', 'berth/w')).toBe(lost)
})

test('--branch takes a branch that is not in the target only when its commits are saved or given up', async () => {
  const site = await yard.site()
  const record = await yard.made(site, 'w')
  const commit = yard.commit(record.path, 'work', { 'w.txt': 'x' })
  const fact = await refused(yard.removal(site, record, { branch: true }))
  expect(fact).toMatchObject({ code: 'loss', losses: [{ kind: 'commits', examples: [commit] }] })
  const { spoken } = await removed(yard.removal(site, record, { branch: true, save: true }))
  const saved = spoken.find(({ kind }) => kind === 'work.saved')
  if (saved?.kind !== 'work.saved') throw new Error('nothing saved')
  expect(yard.git(yard.repo, 'merge-base', '--is-ancestor', commit, saved.ref)).toBe('')
  expect(spoken).toContainEqual(expect.objectContaining({ kind: 'branch.deleted', commit, rule: 'asked' }))
})

test('--discard gives work up, says so, and keeps the branch', async () => {
  const site = await yard.site()
  const record = await yard.made(site, 'w')
  yard.commit(record.path, 'work', { 'w.txt': 'x' })
  inWorktree(record, 'untracked.txt')
  const { spoken } = await removed(yard.removal(site, record, { discard: true }))
  expect(spoken).toContainEqual(
    expect.objectContaining({
      kind: 'teardown.stepped',
      step: 'save',
      detail: 'given up: 1 untracked (untracked.txt)',
    }),
  )
  expect(yard.git(yard.repo, 'rev-parse', 'berth/w')).not.toBe(record.base)
})

test('--save writes everything, reads it back, and only then goes on', async () => {
  const site = await yard.site()
  const record = await yard.made(site, 'w')
  inWorktree(record, 'untracked.txt', 'precious\n')
  inWorktree(record, '.env.local', 'UNIQUE=1\n')
  const { spoken } = await removed(yard.removal(site, record, { save: true }))
  const saved = spoken.find(({ kind }) => kind === 'work.saved')
  if (saved?.kind !== 'work.saved') throw new Error('nothing saved')
  expect(yard.git(yard.repo, 'show', `${saved.ref}:untracked.txt`)).toBe('precious')
  expect(execFileSync('tar', ['-tf', saved.archive ?? ''], { encoding: 'utf8' })).toContain('.env.local')
  expect(kinds(spoken).indexOf('work.saved')).toBeLessThan(kinds(spoken).indexOf('workspace.aside'))
})

test('the whole way of an untouched workspace, step by step; its empty branch goes', async () => {
  const site = await yard.site({ copies: ['.env'] })
  yard.write(join(yard.repo, '.env'), 'A=1\n')
  const record = await yard.made(site, 'w')
  expect(existsSync(join(record.path, '.env'))).toBe(true)
  const { spoken, facts } = await removed(yard.removal(site, record))
  expect(kinds(spoken)).toEqual([
    'teardown.stepped refuse',
    'teardown.stepped cancel',
    'teardown.stepped quit',
    'teardown.stepped kill',
    'teardown.stepped save',
    'workspace.aside',
    'teardown.stepped aside',
    'teardown.stepped unregister',
    'teardown.stepped delete',
    'branch.deleted',
    'teardown.stepped branch',
    'teardown.stepped release',
  ])
  expect(facts[0]).toMatchObject({ named: [] })
  expect(existsSync(record.home)).toBe(false)
  expect(yard.git(yard.repo, 'for-each-ref', 'refs/heads/berth', 'refs/berth')).toBe('')
  expect(readdirSync(yard.path('run', 'berth-ports'))).toEqual([])
})

test('what setup copied is no work while it is as it was, and work once it was changed', async () => {
  const site = await yard.site({ copies: ['.env'] })
  yard.write(join(yard.repo, '.env'), 'A=1\n')
  const record = await yard.made(site, 'w')
  inWorktree(record, '.env', 'A=2\n')
  expect(await refused(yard.removal(site, record))).toMatchObject({
    losses: [{ kind: 'ignored', examples: ['.env'] }],
  })
})

test('a worktree that was moved is not said to be removed, whoever moved it', async () => {
  const site = await yard.site()
  const [byHand, byGit] = await Promise.all(['hand', 'git'].map(name => yard.made(site, name)))
  if (!byHand || !byGit) throw new Error('not made')
  const [elsewhere, away] = [yard.path('repo.berths/elsewhere'), yard.path('away')]
  renameSync(byHand.path, elsewhere)
  yard.git(yard.repo, 'worktree', 'move', byGit.path, away)
  const discard = { save: false, discard: true }
  for (const [record, place, back] of [
    [byHand, elsewhere, `mv ${elsewhere} ${byHand.path}`],
    [byGit, away, `git -C ${yard.repo} worktree move ${away} ${byGit.path}`],
  ] as const) {
    const input = yard.removal(site, record)
    for (const mode of [input.mode, { ...input.mode, ...discard }])
      expect(await refused({ ...input, mode })).toMatchObject({
        reason: `the worktree of '${record.task}' was moved to '${place}'`,
        hint: back,
      })
    expect(existsSync(join(place, '.git'))).toBe(true)
    execFileSync('sh', ['-c', back])
    await removed(input)
  }
  expect(registry()).not.toContain('repo.berths')
})

test('a live run, a lock, a place inside and another Berth refuse', async () => {
  const site = await yard.site()
  const record = await yard.made(site, 'w')
  const input = yard.removal(site, record)
  expect(await refused({ ...input, runs: [{ run: 'r', dir: yard.path('none'), live: true }] })).toMatchObject(
    {
      code: 'live-run',
      hint: 'berth stop w',
    },
  )
  mkdirSync(join(record.path, 'sub'))
  expect(await refused({ ...input, cwd: join(record.path, 'sub') })).toMatchObject({
    code: 'cwd-inside',
    hint: expect.stringContaining('cd '),
  })
  expect(await refused({ ...input, project: 'other' })).toMatchObject({ code: 'not-ours' })
  expect(await refused({ ...input, stateId: 'other' })).toMatchObject({ code: 'not-ours' })
  expect(await refused({ ...input, task: 'other' })).toMatchObject({ code: 'not-ours' })
  yard.git(yard.repo, 'worktree', 'lock', '--reason', 'on my stick', record.path)
  expect(await refused(input)).toMatchObject({
    code: 'locked',
    reason: expect.stringContaining('on my stick'),
  })
  await removed({ ...input, mode: { ...input.mode, unlock: true } })
})

test('the main worktree, a person’s worktree and a path that leads elsewhere are never taken', async () => {
  const site = await yard.site()
  const record = await yard.made(site, 'w')
  const input = yard.removal(site, record, { discard: true })
  const at = (path: string): TeardownInput => ({ ...input, workspace: { ...record, path } })
  expect(await refused(at(yard.repo))).toMatchObject({ code: 'not-ours' })
  yard.git(yard.repo, 'worktree', 'add', '-q', '-b', 'mine', join(yard.root, 'mine'))
  expect(await refused(at(join(yard.root, 'mine')))).toMatchObject({ code: 'not-ours' })
  mkdirSync(join(yard.root, 'plain'))
  expect(await refused(at(join(yard.root, 'plain')))).toMatchObject({ code: 'not-ours' })
  yard.write(yard.path('elsewhere/file'), 'keep')
  symlinkSync(yard.path('elsewhere'), join(yard.root, 'link'))
  expect(await refused(at(join(yard.root, 'link')))).toMatchObject({ code: 'not-ours' })
  expect(await refused(at(yard.dir))).toMatchObject({ code: 'not-ours' })
})

test('a list that git cannot give refuses: it is not an empty list', async () => {
  const site = await yard.site()
  const record = await yard.made(site, 'w')
  yard.write(
    yard.path('bin/git'),
    '#!/bin/sh\ncase "$*" in *"worktree list"*) exit 3;; esac\nexec /usr/bin/git "$@"\n',
    0o755,
  )
  const broken = {
    ...site,
    repo: { ...site.repo, env: { ...site.repo.env, PATH: `${yard.path('bin')}:${yard.env['PATH']}` } },
  }
  expect(await refused({ ...yard.removal(site, record, { discard: true }), ...broken })).toMatchObject({
    code: 'refused',
  })
  expect(existsSync(record.path)).toBe(true)
})

test('links to dependencies and shared files are taken away, never what they point at', async () => {
  yard.write(yard.path('home/skills/review/SKILL.md'), 'skill')
  yard.write(yard.path('home/settings.json'), '{}')
  yard.write(join(yard.repo, 'node_modules/left-pad/index.js'), 'code')
  const site = await yard.site()
  const record = await yard.made(site, 'w')
  symlinkSync(join(yard.repo, 'node_modules'), join(record.path, 'node_modules'))
  mkdirSync(join(record.path, '.agent'))
  symlinkSync(yard.path('home/skills'), join(record.path, '.agent/skills'))
  linkSync(yard.path('home/settings.json'), join(record.path, 'shared.json'))
  chmodSync(join(yard.repo, 'node_modules/left-pad'), 0o500)
  const outside = tree(join(yard.repo, 'node_modules')) + tree(yard.path('home'))
  const fact = await refused(yard.removal(site, record))
  expect(fact.code).toBe('loss')
  await removed(yard.removal(site, record, { discard: true }))
  expect(tree(join(yard.repo, 'node_modules')) + tree(yard.path('home'))).toBe(outside)
  expect(lstatSync(join(yard.repo, 'node_modules/left-pad')).mode & 0o777).toBe(0o500)
})

test('a bystander whose volume is not mounted keeps index, bisect and refs', async () => {
  const site = await yard.site()
  const record = await yard.made(site, 'a')
  const volume = yard.path('vol2')
  yard.git(yard.repo, 'worktree', 'add', '-q', '-b', 'task/b', join(volume, 'wt-b'))
  const b = join(volume, 'wt-b')
  yard.write(join(b, 'staged.txt'), 'staged')
  yard.git(b, 'add', 'staged.txt')
  yard.git(b, 'update-ref', 'refs/worktree/mark', 'HEAD')
  renameSync(volume, yard.path('away'))
  await removed(yard.removal(site, record))
  renameSync(yard.path('away'), volume)
  expect(yard.git(b, 'status', '--porcelain')).toBe('A  staged.txt')
  expect(yard.git(b, 'rev-parse', '--verify', 'refs/worktree/mark')).toBe(yard.git(b, 'rev-parse', 'HEAD'))
})

test('a workspace whose directory and volume are away refuses, and is whole when it comes back', async () => {
  const site = await yard.site()
  const record = await yard.made(site, 'a')
  renameSync(yard.root, yard.path('away'))
  const voice = makeVoice()
  const [fact] = await teardown(yard.removal(site, record), voice)
  expect(fact).toMatchObject({
    kind: 'teardown.refused',
    code: 'loss',
    reason: expect.stringContaining('not mounted'),
  })
  renameSync(yard.path('away'), yard.root)
  expect(yard.git(record.path, 'status', '--porcelain')).toBe('')
})

test('a directory that is gone by another hand: staged work refuses, reflog commits are kept, the rest is taken out', async () => {
  const site = await yard.site()
  const record = await yard.made(site, 'a')
  const lost = yard.commit(record.path, 'dropped', { 'x.txt': 'x' })
  yard.git(record.path, 'reset', '-q', '--hard', 'HEAD~1')
  inWorktree(record, 'staged.txt')
  yard.git(record.path, 'add', 'staged.txt')
  rmSync(record.path, { recursive: true })
  const [fact] = await teardown(yard.removal(site, record), makeVoice())
  expect(fact).toMatchObject({
    kind: 'teardown.refused',
    code: 'loss',
    losses: [{ kind: 'staged', examples: ['staged.txt'] }],
  })
  rmSync(join(yard.repo, '.git/worktrees/a/index'))
  yard.git(yard.repo, '--git-dir', join(yard.repo, '.git/worktrees/a'), 'read-tree', 'HEAD')
  const { spoken } = await removed(yard.removal(site, record))
  const saved = spoken.find(({ kind }) => kind === 'work.saved')
  if (saved?.kind !== 'work.saved') throw new Error('nothing saved')
  expect(yard.git(yard.repo, 'merge-base', '--is-ancestor', lost, saved.ref)).toBe('')
})

test('an unregistered directory may hold work: only --discard removes it', async () => {
  const site = await yard.site()
  const record = await yard.made(site, 'a')
  inWorktree(record, 'only-copy.txt')
  rmSync(join(yard.repo, '.git/worktrees/a'), { recursive: true })
  expect(await refused(yard.removal(site, record))).toMatchObject({
    code: 'loss',
    losses: [{ kind: 'unknown' }],
  })
  expect(await refused(yard.removal(site, record, { save: true }))).toMatchObject({ code: 'loss' })
  await removed(yard.removal(site, record, { discard: true }))
})

test('a creation that was cut off is removed without its phantom deletions being work', async () => {
  const site = await yard.site()
  const record = await yard.made(site, 'a')
  const { base: _base, ...half } = record
  unlinkSync(join(yard.repo, '.git/worktrees/a/index'))
  writeFileSync(join(yard.repo, '.git/worktrees/a/locked'), 'initializing')
  await removed(yard.removal(site, half))
  expect(yard.git(yard.repo, 'for-each-ref', 'refs/heads/berth', 'refs/berth')).toBe('')
})

const sleeper = (
  cwd: string,
  options: { env?: { [name: string]: string }; script?: string } = {},
): ChildProcess => {
  const child = spawn('sh', ['-c', options.script ?? 'exec sleep 120'], {
    cwd,
    stdio: 'ignore',
    detached: true,
    env: { PATH: process.env['PATH'] ?? '', ...options.env },
  })
  started.push(child)
  return child
}

const gone = async (child: ChildProcess): Promise<void> => {
  if (child.exitCode !== null || child.signalCode !== null) return
  await new Promise((resolve, reject) => {
    const limit = setTimeout(() => reject(new Error(`process ${child.pid} lives on`)), 10_000)
    child.once('exit', () => resolve(clearTimeout(limit)))
  })
}

const mark = async (record: Record): Promise<{ BERTH_RUN: string }> => {
  const { workspaceMark } = await import('../../src/workspace/site.ts')
  const site = await yard.site()
  return { BERTH_RUN: `other:1,${workspaceMark(site, record.task)},state-one:run-1` }
}

test('what a task started is ended, also in a session of its own and deaf to SIGTERM; like names live on', async () => {
  const site = await yard.site()
  const [record, sibling, other] = await Promise.all(
    ['task-1', 'task-10', 'task-1b'].map(name => yard.made(site, name)),
  )
  if (record === undefined || sibling === undefined || other === undefined) throw new Error('not made')
  const env = await mark(record)
  const own = [
    sleeper(record.path, { env }),
    sleeper(yard.dir, { env, script: "trap '' TERM; while :; do sleep 1; done" }),
  ]
  const others = [
    sleeper(sibling.path),
    sleeper(other.path),
    sleeper(yard.repo, { script: `exec tail -f '${record.path}/none' /dev/null` }),
  ]
  const { spoken } = await removed(yard.removal(site, record))
  await Promise.all(own.map(gone))
  expect(spoken).toContainEqual(
    expect.objectContaining({ step: 'kill', detail: expect.stringMatching(/ended \d+ processes/) }),
  )
  for (const child of others) expect([child.exitCode, child.signalCode]).toEqual([null, null])
})

test('a person’s shell inside is named and left alone; one that writes there refuses', async () => {
  const site = await yard.site()
  const record = await yard.made(site, 'w')
  const writer = sleeper(yard.dir, { script: `exec 3>>'${record.path}/app.txt'; exec sleep 120` })
  await opened(writer.pid ?? 0, `${record.path}/app.txt`)
  const fact = await refused(yard.removal(site, record))
  expect(fact).toMatchObject({ code: 'held', holders: [{ pid: writer.pid, whose: 'person' }] })
  writer.kill('SIGKILL')
  await gone(writer)
  const shell = sleeper(record.path)
  const { facts } = await removed(yard.removal(site, record))
  expect(facts[0]).toMatchObject({ named: [{ pid: shell.pid, whose: 'person' }] })
  expect([shell.exitCode, shell.signalCode]).toEqual([null, null])
})

test('a port of the block that is still listened on is named with its holder, and the removal stays until it is free', async () => {
  const site = await yard.site()
  const record = await yard.made(site, 'w')
  const port = record.ports[3] ?? 0
  const program = `require('net').createServer().listen(${port}, '127.0.0.1', () => console.log('on'))`
  const server = spawn(process.execPath, ['-e', program], {
    cwd: yard.dir,
    env: { PATH: process.env['PATH'] },
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  started.push(server)
  await once(server.stdout, 'data')
  const input = yard.removal(site, record)
  const stays = await teardown(input, makeVoice())
  expect(stays).toMatchObject([
    {
      kind: 'workspace.stuck',
      step: 'release',
      reason: `port ${port} is still in use`,
      holders: [{ pid: server.pid, whose: 'unknown', what: `listens on port ${port}` }],
    },
  ])
  expect(server.exitCode).toBe(null)
  expect(readdirSync(yard.path('run', 'berth-ports'))).toEqual([`${record.ports[0]}.json`])
  server.kill('SIGKILL')
  await gone(server)
  await removed(input)
  expect(readdirSync(yard.path('run', 'berth-ports'))).toEqual([])
})

async function opened(pid: number, file: string): Promise<void> {
  const limit = performance.now() + 5_000
  while (!spawnSync('sh', ['-c', `readlink /proc/${pid}/fd/3`], { encoding: 'utf8' }).stdout.includes(file)) {
    if (performance.now() > limit) throw new Error(`'${file}' was not opened`)
    await new Promise(resolve => setTimeout(resolve, 10))
  }
}

test('work that appears while the tree is being ended refuses, although it was not there at first', async () => {
  const site = await yard.site()
  const record = await yard.made(site, 'w')
  const env = await mark(record)
  const script = `trap 'echo late > late.txt; exit' TERM; echo > '${yard.path('up')}'; while :; do sleep 0.05; done`
  sleeper(record.path, { env, script })
  await until(() => existsSync(yard.path('up')))
  const voice = makeVoice()
  const [fact] = await teardown(yard.removal(site, record), voice)
  expect(fact).toMatchObject({
    kind: 'teardown.refused',
    code: 'loss',
    losses: [{ kind: 'untracked', examples: ['late.txt'] }],
  })
  expect(readFileSync(join(record.path, 'late.txt'), 'utf8')).toBe('late\n')
})

async function until(holds: () => boolean): Promise<void> {
  const limit = performance.now() + 10_000
  while (!holds()) {
    if (performance.now() > limit) throw new Error('it did not come true')
    await new Promise(resolve => setTimeout(resolve, 10))
  }
}

test.runIf(process.getuid?.() === 0)(
  'what cannot be deleted stays in the trash, is said, and is finished later',
  async () => {
    const site = await yard.site()
    const record = await yard.made(site, 'w')
    inWorktree(record, 'dist/fixed')
    const lock = spawnSync('chattr', ['+i', join(record.path, 'dist/fixed')])
    if (lock.status !== 0) return
    const voice = makeVoice()
    // An immutable file lets its directory be moved.
    const [fact] = await teardown({ ...yard.removal(site, record), deleteMs: 500 }, voice)
    const moved = voice.facts.find(each => each.kind === 'workspace.aside')
    if (moved?.kind !== 'workspace.aside') throw new Error(JSON.stringify([fact, voice.facts]))
    expect(fact).toMatchObject({
      kind: 'workspace.stuck',
      step: 'delete',
      reason: expect.stringContaining('fixed'),
    })
    expect(yard.git(yard.repo, 'worktree', 'list').split('\n')).toHaveLength(1)
    spawnSync('chattr', ['-i', join(moved.trash, 'dist/fixed')])
    await removed({ ...yard.removal(site, record), trash: moved.trash })
  },
)

test('a crash after each step is gone on from by the next call, and nothing is done twice', async () => {
  const site = await yard.site()
  const steps = [
    'refuse',
    'kill',
    'save',
    'workspace.aside',
    'aside',
    'unregister',
    'delete',
    'branch',
    'release',
  ]
  for (const [i, stop] of steps.entries()) {
    const record = await yard.made(site, `crash-${i}`)
    inWorktree(record, 'untracked.txt', 'precious\n')
    const input = yard.removal(site, record, { save: true })
    const spoken: Fact[] = []
    const crash = makeVoice()
    crash.onFact = async fact => {
      const name = fact.kind === 'teardown.stepped' ? fact.step : fact.kind
      if (spoken.some(each => (each.kind === 'teardown.stepped' ? each.step : each.kind) === stop))
        throw new Error('crash')
      spoken.push(fact)
      if (name === stop) throw new Error('crash')
    }
    const [fact] = await teardown(input, crash)
    expect(fact).toMatchObject({ kind: 'workspace.stuck', reason: 'crash' })
    const aside = spoken.find(each => each.kind === 'workspace.aside')
    const next = aside?.kind === 'workspace.aside' ? { ...input, trash: aside.trash } : input
    await removed(next)
    if (i === 0) await removed(next)
    const saved = yard
      .git(yard.repo, 'for-each-ref', '--format=%(refname)', `refs/berth/saved/crash-${i}`)
      .split('\n')
    for (const ref of saved) expect(yard.git(yard.repo, 'show', `${ref}:untracked.txt`)).toBe('precious')
  }
})

test('the engine’s sessions are kept beside the run’s output, without known secrets', async () => {
  const site = await yard.site()
  const record = await yard.made(site, 'w')
  yard.write(join(record.home, '.claude/projects/x/s.jsonl'), '{"text":"my key is hunter2-hunter2"}\n')
  yard.write(join(record.home, '.claude/.credentials.json'), 'never')
  const dir = site.state.run('run-1')
  mkdirSync(dir, { recursive: true })
  await removed({
    ...yard.removal(site, record),
    runs: [{ run: 'run-1', dir, live: false }],
    secrets: ['hunter2-hunter2'],
  })
  const kept = readFileSync(join(dir, 'sessions/.claude/projects/x/s.jsonl'), 'utf8')
  expect(kept).toContain('my key is')
  expect(kept).not.toContain('hunter2')
  expect(existsSync(join(dir, 'sessions/.claude/.credentials.json'))).toBe(false)
})
