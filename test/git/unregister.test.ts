// Taking worktrees out, and what was half made: exactly one entry, copied first; nothing of its own is cleared.

import { execFileSync, spawn } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { deleteBranch } from '../../src/git/branch.ts'
import { clearHalfMade, inspectHalfMade } from '../../src/git/half.ts'
import { listWorktrees } from '../../src/git/list.ts'
import { type Repository } from '../../src/git/open.ts'
import { unregister, type UnregisterRequest } from '../../src/git/unregister.ts'
import { addWorktree } from '../../src/git/worktree.ts'
import { makeWorld, type World } from '../fixtures/repository.ts'

let world: World
let dir: string
let repo: Repository

beforeEach(async () => {
  world = makeWorld()
  dir = world.repository()
  repo = await world.open(dir)
})
afterEach(() => world.clean())

const add = (name: string): string => {
  const path = world.path('root', name)
  world.git(dir, 'worktree', 'add', '-q', '-b', `task/${name}`, path)
  return path
}

const take = (path: string, over: Partial<UnregisterRequest> = {}) =>
  unregister(repo, { path, trash: world.path('root/.trash/id.git'), lock: world.lock, ...over })

const paths = (): string[] =>
  world
    .git(dir, 'worktree', 'list', '--porcelain')
    .split('\n')
    .filter(row => row.startsWith('worktree '))
    .map(row => row.slice(9))

test('one entry is copied and taken out, and the bystander whose disk is away keeps everything (case 31)', async () => {
  const a = add('a')
  mkdirSync(world.path('vol'))
  const b = world.path('vol', 'b')
  world.git(dir, 'worktree', 'add', '-q', '-b', 'task/b', b)
  world.write(join(b, 'staged.txt'), 'staged')
  world.git(b, 'add', 'staged.txt')
  world.git(b, 'update-ref', 'refs/worktree/mark', 'HEAD')
  world.tryGit(b, 'bisect', 'start')
  renameSync(world.path('vol'), world.path('vol.unmounted'))
  renameSync(a, world.path('aside'))
  expect(await take(a)).toEqual({ is: 'unregistered', copy: world.path('root/.trash/id.git') })
  expect(readdirSync(world.path('root/.trash/id.git'))).toEqual(
    expect.arrayContaining(['HEAD', 'index', 'logs', 'gitdir']),
  )
  expect(paths()).toEqual([dir, b])
  renameSync(world.path('vol.unmounted'), world.path('vol'))
  expect(world.git(b, 'status', '--porcelain')).toBe('A  staged.txt')
  expect(world.git(b, 'rev-parse', 'refs/worktree/mark')).toBe(world.git(dir, 'rev-parse', 'main'))
  expect(await take(a)).toEqual({ is: 'already' })
})

test('a directory that is still there, the main worktree and a foreign lock are refused (case 32)', async () => {
  const a = add('a')
  expect(await take(a)).toMatchObject({ is: 'refused', code: 'refused' })
  world.git(dir, 'worktree', 'lock', '--reason', 'held by a person: demo on Friday', a)
  renameSync(a, world.path('stick'))
  expect(await take(a)).toEqual({
    is: 'refused',
    code: 'locked',
    reason: `'${a}' is locked: held by a person: demo on Friday`,
  })
  expect(paths()).toEqual([dir, a])
  expect(await take(a, { unlock: true })).toMatchObject({ is: 'unregistered' })
  expect(paths()).toEqual([dir])
})

test('a name that is the beginning of another takes out only its own (case 36)', async () => {
  const one = add('task-1')
  const ten = add('task-10')
  rmSync(one, { recursive: true })
  expect(await take(one)).toMatchObject({ is: 'unregistered' })
  expect(paths()).toEqual([dir, ten])
})

test('a copy that cannot be made stops everything before the point of no return', async () => {
  const a = add('a')
  rmSync(a, { recursive: true })
  writeFileSync(world.path('root/.trash'), 'a file')
  expect(await take(a)).toMatchObject({ is: 'failed', step: 'copy' })
  expect(paths()).toEqual([dir, a])
})

test('an earlier whole copy is kept, and the entry is taken out all the same', async () => {
  const a = add('a')
  rmSync(a, { recursive: true })
  mkdirSync(world.path('root/.trash/id.git'), { recursive: true })
  writeFileSync(world.path('root/.trash/id.git/HEAD'), 'the earlier one')
  expect(await take(a)).toMatchObject({ is: 'unregistered' })
  expect(readdirSync(world.path('root/.trash/id.git'))).toEqual(['HEAD'])
  expect(paths()).toEqual([dir])
})

test('a lock that came after the list is respected', async () => {
  const a = add('a')
  const list = await listWorktrees(repo)
  world.git(dir, 'worktree', 'lock', a)
  rmSync(a, { recursive: true })
  const known = list.is === 'list' ? list.entries : []
  expect(await take(a, { known })).toMatchObject({ is: 'failed', step: 'remove' })
  expect(paths()).toEqual([dir, a])
})

test('a branch goes only by compare-and-swap and never while it is checked out', async () => {
  const a = add('a')
  const commit = world.git(a, 'rev-parse', 'HEAD')
  expect(await deleteBranch(repo, { branch: 'task/a', commit })).toEqual({
    is: 'kept',
    reason: `it is checked out in '${a}'`,
  })
  world.git(dir, 'worktree', 'remove', a)
  const more = world.git(dir, 'commit-tree', `${commit}^{tree}`, '-p', commit, '-m', 'more')
  world.git(dir, 'update-ref', 'refs/heads/task/a', more)
  expect(await deleteBranch(repo, { branch: 'task/a', commit })).toEqual({
    is: 'kept',
    reason: `it moved to ${more} meanwhile`,
  })
  world.git(dir, 'config', 'branch.task/a.remote', 'origin')
  expect(await deleteBranch(repo, { branch: 'task/a', commit: more })).toEqual({ is: 'deleted' })
  expect(world.tryGit(dir, 'config', '--get-regexp', '^branch\\.').code).toBe(1)
  expect(await deleteBranch(repo, { branch: 'task/a', commit: more })).toEqual({ is: 'already' })
})

/** `git worktree add` killed while it fills the worktree (case 19). */
async function cutOff(): Promise<string> {
  world.git(dir, 'config', 'filter.slow.clean', 'cat')
  world.git(dir, 'config', 'filter.slow.smudge', 'cat')
  world.commit(dir, 'files', { '.gitattributes': '*.slow filter=slow\n', 'f1.slow': '1\n', 'f2.slow': '2\n' })
  world.git(dir, 'config', 'filter.slow.smudge', 'sleep 30; cat')
  const path = world.path('root', 'cut')
  const child = spawn('git', ['-C', dir, 'worktree', 'add', '-b', 'task/cut', path, 'main'], {
    env: world.env,
    detached: true,
    stdio: 'ignore',
  })
  await expect.poll(() => existsSync(join(path, '.gitattributes')), { timeout: 10_000 }).toBe(true)
  const ended = new Promise(resolve => child.once('exit', resolve))
  process.kill(-(child.pid ?? 0), 'SIGKILL')
  await ended
  world.git(dir, 'config', 'filter.slow.smudge', 'cat')
  repo = await world.open(dir)
  return path
}

test('a worktree whose making was killed is recognised, cleared and can be made again (case 19)', async () => {
  const path = await cutOff()
  const base = world.git(dir, 'rev-parse', 'main')
  const request = { path, branch: 'task/cut', base }
  expect(await inspectHalfMade(repo, request)).toMatchObject({ is: 'half', unique: [], commits: 0 })
  expect(await clearHalfMade(repo, { ...request, lock: world.lock })).toEqual({ is: 'cleared' })
  expect([
    existsSync(path),
    paths(),
    world.tryGit(dir, 'rev-parse', '--verify', 'refs/heads/task/cut').code,
  ]).toEqual([false, [dir], 128])
  expect(await inspectHalfMade(repo, request)).toEqual({ is: 'absent' })
  const made = await addWorktree(repo, {
    path,
    branch: 'task/cut',
    commit: base,
    lock: world.lock,
    takeUp: true,
  })
  expect(made.is).toBe('made')
  expect(await inspectHalfMade(repo, request)).toMatchObject({
    is: 'complete',
    head: base,
    branch: 'task/cut',
  })
})

test('a half-made worktree with a file of its own, or a changed one, is kept and the files are named', async () => {
  const path = await cutOff()
  const request = { path, branch: 'task/cut', base: world.git(dir, 'rev-parse', 'main') }
  writeFileSync(join(path, '.gitattributes'), '*.slow fil')
  expect(await inspectHalfMade(repo, request)).toMatchObject({ is: 'half', unique: [] })
  writeFileSync(join(path, 'app.txt'), 'mine')
  world.write(join(path, 'only-copy.txt'), 'mine')
  const outcome = await clearHalfMade(repo, { ...request, lock: world.lock })
  expect(outcome).toEqual({
    is: 'refused',
    reason: `'${path}' holds files of its own`,
    unique: ['only-copy.txt', 'app.txt'],
  })
  expect(existsSync(join(path, 'only-copy.txt'))).toBe(true)
})

test('each earlier moment of a making that was cut off is recognised and cleared', async () => {
  const path = world.path('root', 'cut')
  const base = world.git(dir, 'rev-parse', 'main')
  const request = { path, branch: 'task/cut', base }
  mkdirSync(path, { recursive: true })
  expect(await inspectHalfMade(repo, request)).toMatchObject({ is: 'half', entryDir: null })
  expect(await clearHalfMade(repo, { ...request, lock: world.lock })).toEqual({ is: 'cleared' })
  world.git(dir, 'update-ref', 'refs/heads/task/cut', base)
  world.git(dir, 'worktree', 'add', '-q', '--no-checkout', path, 'task/cut')
  expect(await inspectHalfMade(repo, request)).toMatchObject({ is: 'half', unique: [], commits: 0 })
  expect(await clearHalfMade(repo, { ...request, lock: world.lock })).toEqual({ is: 'cleared' })
  world.git(dir, 'worktree', 'add', '-q', '--no-checkout', '-b', 'task/cut', path)
  rmSync(world.path('repo/.git/worktrees/cut/HEAD'))
  rmSync(path, { recursive: true })
  expect(await clearHalfMade(repo, { ...request, lock: world.lock })).toEqual({ is: 'cleared' })
  expect(readdirSync(world.path('repo/.git'))).not.toContain('worktrees')
})

test('a folder that is no worktree, and one on another branch, are not ours (case 33)', async () => {
  const base = world.git(dir, 'rev-parse', 'main')
  world.write(world.path('root/users-folder/keep.txt'), 'keep')
  const folder = { path: world.path('root/users-folder'), branch: 'task/x', base }
  expect(await inspectHalfMade(repo, folder)).toMatchObject({ is: 'other' })
  const a = add('a')
  expect(await inspectHalfMade(repo, { path: a, branch: 'task/other', base })).toMatchObject({ is: 'other' })
  expect((await clearHalfMade(repo, { path: a, branch: 'task/a', base, lock: world.lock })).is).toBe(
    'refused',
  )
  expect(execFileSync('ls', [a], { encoding: 'utf8' })).toBe('app.txt\n')
})
