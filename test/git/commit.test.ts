// Committing what an agent left: what goes in, what is withheld, and that the agent's index makes sense afterwards.

import { spawn } from 'node:child_process'
import { existsSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { commitLeft, type CommitLeft, type CommitRequest } from '../../src/git/commit.ts'
import { type Git, inDirectory } from '../../src/git/git.ts'
import { makeWorld, type World } from '../fixtures/repository.ts'

let world: World
let wt: string
let at: Git

beforeEach(async () => {
  world = makeWorld()
  const repo = world.repository('repo', {
    'a.txt': '1\n',
    'b.txt': '1\n',
    'gone.txt': '1\n',
    '.gitignore': 'ignored\n',
  })
  wt = world.path('wt')
  world.git(repo, 'worktree', 'add', '-q', '-b', 'task/a', wt)
  at = inDirectory(await world.open(repo), wt)
})
afterEach(() => world.clean())

const commit = (over: Partial<CommitRequest> = {}): Promise<CommitLeft> =>
  commitLeft(at, {
    identity: { name: 'login (berth)', email: 'login@berth.invalid' },
    message: 'berth: uncommitted work of login#1\n',
    ledger: [],
    isSecret: bytes => Buffer.from(bytes).includes('hunter2'),
    ...over,
  })

test('changed, staged, new, deleted and renamed files are committed as the task, hooks off', async () => {
  world.write(world.path('repo/.git/hooks/pre-commit'), '#!/bin/sh\nexit 1\n', 0o755)
  const before = world.git(wt, 'rev-parse', 'HEAD')
  writeFileSync(join(wt, 'a.txt'), '2\n')
  writeFileSync(join(wt, 'b.txt'), '2\n')
  world.git(wt, 'add', 'b.txt')
  rmSync(join(wt, 'gone.txt'))
  world.write(join(wt, 'new/c.txt'), 'c')
  symlinkSync('a.txt', join(wt, 'link'))
  world.write(join(wt, 'ignored'), 'i')
  const left = await commit()
  expect(left).toEqual({ commit: world.git(wt, 'rev-parse', 'task/a'), files: 5, withheld: [], notices: [] })
  expect(world.git(wt, 'rev-parse', 'HEAD~1')).toBe(before)
  expect(world.git(wt, 'log', '-1', '--format=%an|%ae|%cn|%s')).toBe(
    'login (berth)|login@berth.invalid|login (berth)|berth: uncommitted work of login#1',
  )
  expect(world.git(wt, 'show', '--name-status', '--format=')).toBe(
    'M\ta.txt\nM\tb.txt\nD\tgone.txt\nA\tlink\nA\tnew/c.txt',
  )
  expect(world.git(wt, 'status', '--porcelain')).toBe('')
})

test('nothing left makes no commit', async () => {
  const head = world.git(wt, 'rev-parse', 'HEAD')
  expect(await commit()).toEqual({ commit: head, files: 0, withheld: [], notices: [] })
})

test('large files, files with a secret and entries of the ledger are withheld, staged ones too', async () => {
  world.write(join(wt, 'big.bin'), Buffer.alloc(2_000))
  world.write(join(wt, 'leak.txt'), 'password=hunter2\n')
  world.write(join(wt, '.env'), 'A=1\n')
  world.git(wt, 'add', 'leak.txt')
  writeFileSync(join(wt, 'a.txt'), '2\n')
  const left = await commit({ ledger: ['.env'], maxFileBytes: 1_000 })
  expect(left.withheld.toSorted((one, two) => one.path.localeCompare(two.path))).toEqual([
    { path: '.env', why: 'ledger' },
    { path: 'big.bin', why: 'large' },
    { path: 'leak.txt', why: 'secret' },
  ])
  expect(left.files).toBe(1)
  expect(world.git(wt, 'show', '--name-only', '--format=')).toBe('a.txt')
  expect(world.git(wt, 'status', '--porcelain')).toBe('A  leak.txt\n?? .env\n?? big.bin')
})

test('amid an operation nothing is committed and everything is withheld', async () => {
  world.git(wt, 'switch', '-qc', 'side')
  world.commit(wt, 'side', { 'a.txt': 'side\n' })
  world.git(wt, 'switch', '-q', 'task/a')
  const head = world.commit(wt, 'mine', { 'a.txt': 'mine\n' })
  world.tryGit(wt, 'merge', 'side')
  expect(await commit()).toMatchObject({
    commit: head,
    files: 0,
    withheld: [{ path: 'a.txt', why: 'operation' }],
  })
  expect(existsSync(world.path('repo/.git/worktrees/wt/MERGE_HEAD'))).toBe(true)
})

test('a dead lock on the index is set aside and kept, one in use is not touched (case 39)', async () => {
  writeFileSync(join(wt, 'a.txt'), '2\n')
  const lock = world.path('repo/.git/worktrees/wt/index.lock')
  writeFileSync(lock, 'dead')
  expect(await commit()).toMatchObject({
    files: 1,
    notices: [`a dead lock of git was set aside: '${lock}.dead-1'`],
  })
  expect([existsSync(lock), readFileSync(`${lock}.dead-1`, 'utf8')]).toEqual([false, 'dead'])
  writeFileSync(join(wt, 'a.txt'), '3\n')
  world.write(world.path('editor'), '#!/bin/sh\nexec sleep 60\n', 0o755)
  const env = { ...world.env, GIT_EDITOR: world.path('editor') }
  const child = spawn('git', ['commit', '-a'], { cwd: wt, env, detached: true, stdio: 'ignore' })
  try {
    await expect.poll(() => existsSync(lock), { timeout: 10_000 }).toBe(true)
    const head = world.git(wt, 'rev-parse', 'HEAD')
    await expect(commit()).rejects.toMatchObject({
      code: 'git-busy',
      message: expect.stringMatching(/index\.lock' is there: git is busy there \(pid \d+\)$/),
    })
    expect([world.git(wt, 'rev-parse', 'HEAD'), existsSync(lock)]).toEqual([head, true])
  } finally {
    process.kill(-(child.pid ?? 0), 'SIGKILL')
  }
})

test('a nested repository is not swallowed as a link', async () => {
  world.git(world.dir, 'init', '-q', join(wt, 'inner'))
  world.commit(join(wt, 'inner'), 'c', { 'f.txt': 'f' })
  writeFileSync(join(wt, 'a.txt'), '2\n')
  const left = await commit()
  expect([left.files, left.withheld]).toEqual([1, [{ path: 'inner/', why: 'nested' }]])
  expect(world.git(wt, 'status', '--porcelain')).toBe('?? inner/')
})

test('a staged link that .gitmodules does not name is withheld, one that it names is committed', async () => {
  for (const name of ['inner', 'named']) {
    world.git(world.dir, 'init', '-q', join(wt, name))
    world.commit(join(wt, name), 'c', { 'f.txt': 'f' })
  }
  writeFileSync(join(wt, '.gitmodules'), '[submodule "n"]\n\tpath = named\n\turl = ../named\n')
  world.git(wt, 'add', '-A')
  const left = await commit()
  expect([left.files, left.withheld]).toEqual([2, [{ path: 'inner', why: 'nested' }]])
  expect(world.git(wt, 'show', '--name-status', '--format=')).toBe('A\t.gitmodules\nA\tnamed')
  expect(world.git(wt, 'status', '--porcelain')).toBe('A  inner')
})

test('names that are no UTF-8, and a folder where a file was, are committed as they are', async () => {
  const raw = Buffer.concat([Buffer.from(`${wt}/raw-`), Buffer.from([0xff])])
  writeFileSync(raw, 'x')
  rmSync(join(wt, 'a.txt'))
  world.write(join(wt, 'a.txt/inside'), 'x')
  expect((await commit()).withheld).toEqual([])
  expect(world.git(wt, 'status', '--porcelain')).toBe('')
  expect(world.git(wt, '-c', 'core.quotePath=true', 'ls-files').split('\n')).toEqual([
    '.gitignore',
    'a.txt/inside',
    'b.txt',
    'gone.txt',
    '"raw-\\377"',
  ])
})

test('work on a detached HEAD is committed there', async () => {
  world.git(wt, 'switch', '-q', '--detach')
  writeFileSync(join(wt, 'a.txt'), '2\n')
  const left = await commit()
  expect(world.git(wt, 'rev-parse', 'HEAD')).toBe(left.commit)
  expect(world.git(wt, 'rev-parse', 'task/a')).not.toBe(left.commit)
})
