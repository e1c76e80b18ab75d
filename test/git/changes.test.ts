// What was changed since a commit: files, lines and commits, the uncommitted included.

import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { changesBetween, changesSince, commitsOnlyOn, headOf, startOf } from '../../src/git/changes.ts'
import { type Git, inDirectory } from '../../src/git/git.ts'
import { makeWorld, type World } from '../fixtures/repository.ts'

let world: World
let wt: string
let at: Git
let base: string

beforeEach(async () => {
  world = makeWorld()
  const lines = Array.from({ length: 20 }, (_, index) => `line ${index}\n`).join('')
  const dir = world.repository('repo', { 'a.txt': '1\n2\n', 'gone.txt': '1\n', 'old name.txt': lines })
  base = world.git(dir, 'rev-parse', 'HEAD')
  wt = world.path('wt')
  world.git(dir, 'worktree', 'add', '-q', '-b', 'task/a', wt)
  at = inDirectory(await world.open(dir), wt)
})
afterEach(() => world.clean())

test('nothing changed is said with where HEAD is', async () => {
  expect(await changesSince(at, base)).toEqual({
    is: 'changes',
    since: base,
    head: base,
    branch: 'task/a',
    files: 0,
    insertions: 0,
    deletions: 0,
    commits: 0,
    dirty: false,
    paths: [],
  })
})

test('committed, uncommitted, renamed, deleted, binary and untracked changes are counted', async () => {
  world.git(wt, 'mv', 'old name.txt', 'new\nname.txt')
  const head = world.commit(wt, 'work', { 'a.txt': '1\n2\n3\n' })
  rmSync(join(wt, 'gone.txt'))
  writeFileSync(join(wt, 'bin'), Buffer.from([0, 1, 2]))
  world.git(wt, 'add', 'bin')
  world.write(join(wt, 'new/un tracked.txt'), 'x\ny')
  const changes = await changesSince(at, base)
  expect(changes).toMatchObject({ head, files: 5, insertions: 3, deletions: 1, commits: 1, dirty: true })
  const paths = changes.is === 'changes' ? changes.paths : []
  expect(paths.toSorted((one, two) => (one.path < two.path ? -1 : 1))).toEqual([
    { path: 'a.txt', change: 'modified', insertions: 1, deletions: 0 },
    { path: 'bin', change: 'added', insertions: null, deletions: null },
    { path: 'gone.txt', change: 'deleted', insertions: 0, deletions: 1 },
    { path: 'new\nname.txt', change: 'renamed', insertions: 0, deletions: 0, from: 'old name.txt' },
    { path: 'new/un tracked.txt', change: 'added', insertions: 2, deletions: 0, untracked: true },
  ])
  const between = await changesBetween(at, base, head)
  expect(between.is === 'paths' ? between.paths.map(path => path.path) : []).toEqual([
    'a.txt',
    'new\nname.txt',
  ])
})

test('a base that is not there, and a worktree that cannot be read, are unknown', async () => {
  expect((await changesSince(at, '1'.repeat(40))).is).toBe('unknown')
  rmSync(join(wt, '.git'))
  expect((await changesSince(at, base)).is).toBe('unknown')
})

test('HEAD is told on a branch, detached and unborn', async () => {
  expect(await headOf(at)).toEqual({ is: 'head', commit: base, branch: 'task/a' })
  world.git(wt, 'switch', '-q', '--detach')
  expect(await headOf(at)).toEqual({ is: 'head', commit: base, branch: null })
  world.git(wt, 'switch', '-q', '--orphan', 'new')
  expect(await headOf(at)).toEqual({ is: 'unborn', branch: 'new' })
})

test('commits that exist only on a branch are told apart from pushed and missing ones (case 23)', async () => {
  const dir = world.path('repo')
  world.remote(dir)
  const one = world.commit(wt, 'one', { 'x.txt': '1' })
  const two = world.commit(wt, 'two', { 'x.txt': '2' })
  expect(await commitsOnlyOn(at, 'task/a')).toEqual([two, one])
  world.git(wt, 'push', '-q', 'origin', 'HEAD:refs/heads/renamed-there')
  expect(await commitsOnlyOn(at, 'task/a')).toEqual([])
  expect(await commitsOnlyOn(at, 'task/none')).toBe(undefined)
})

test('work begins at its base, or at what of the target it was merged with or rebased on since', async () => {
  const repo = world.path('repo')
  const target = 'refs/heads/main'
  const start = async () => startOf(at, base, { head: world.git(wt, 'rev-parse', 'HEAD'), target })
  world.commit(wt, 'mine', { 'mine.txt': '1\n', 'a.txt': 'mine\n' })
  const theirs = world.commit(repo, 'theirs', { 'theirs.txt': '1\n2\n', 'a.txt': 'theirs\n' })
  expect(await start()).toBe(base)
  // A merge with a conflict counts as soon as it is begun.
  expect(() => world.git(wt, 'merge', '-q', '--no-edit', 'main')).toThrow()
  expect(await start()).toBe(theirs)
  world.git(wt, 'checkout', '-q', '--ours', 'a.txt')
  world.git(wt, 'commit', '-qam', 'merged')
  expect(await start()).toBe(theirs)
  expect(await changesSince(at, base, { target })).toMatchObject({ since: theirs, files: 2, commits: 2 })
  expect(await changesSince(at, base)).toMatchObject({ since: base, files: 3, commits: 3 })
  world.git(wt, 'reset', '-q', '--hard', base)
  world.commit(wt, 'mine again', { 'mine.txt': '1\n' })
  world.git(wt, 'rebase', '-q', 'main')
  expect(await changesSince(at, base, { target })).toMatchObject({ since: theirs, files: 1, commits: 1 })
  // In the target already: where it began.
  world.git(repo, 'merge', '-q', '--ff-only', 'task/a')
  expect(await start()).toBe(base)
})
