// The diff of a task: against the merge base, with everything uncommitted, and nothing of the agent's touched.

import { execFileSync } from 'node:child_process'
import { readFileSync, statSync } from 'node:fs'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { taskDiff } from '../../src/daemon/diff.ts'
import { makeWorld, type World } from '../fixtures/repository.ts'

let world: World
beforeEach(() => {
  world = makeWorld()
})
afterEach(() => world.clean())

const text = (bytes: Uint8Array | undefined) => new TextDecoder().decode(bytes)

function makeTask() {
  const repo = world.repository('repo', { 'app.txt': 'one\n', 'old.txt': 'old\nold\nold\n' })
  const base = world.git(repo, 'rev-parse', 'HEAD')
  const worktree = world.path('wt')
  world.git(repo, 'worktree', 'add', '-q', '-b', 'berth/t', worktree)
  const task = {
    task: 't',
    base,
    branch: 'berth/t',
    commit: null,
    worktree,
    status: 'running' as const,
    target: null,
    landedAs: null,
  }
  return { repo, worktree, task }
}

test('committed, staged, unstaged and untracked changes are shown, ignored ones are not, and the index stays', async () => {
  const { repo, worktree, task } = makeTask()
  world.commit(worktree, 'work', { 'app.txt': 'two\n', '.gitignore': 'ignored\n' })
  world.write(`${worktree}/new.txt`, 'new\n')
  world.write(`${worktree}/ignored`, 'x\n')
  world.git(worktree, 'mv', 'old.txt', 'moved.txt')
  const index = world.git(worktree, 'rev-parse', '--path-format=absolute', '--git-path', 'index')
  const before = readFileSync(index)
  const objects = world.git(repo, 'count-objects')
  const { files, patch } = await taskDiff(await world.open(repo), task, { patch: true, colour: false })
  expect(files.map(({ path, change }) => `${change} ${path}`).toSorted()).toEqual([
    'added .gitignore',
    'added new.txt',
    'modified app.txt',
    'renamed moved.txt',
  ])
  expect(text(patch)).toContain('+new\n')
  expect(text(patch)).toContain('rename from old.txt')
  expect(text(patch)).not.toContain('ignored b')
  expect(readFileSync(index)).toEqual(before)
  expect(world.git(repo, 'count-objects')).toBe(objects)
})

test('what came in from the target is not the task’s; after landing it is still all that the task did', async () => {
  const { repo, worktree, task } = makeTask()
  world.commit(worktree, 'work', { 'mine.txt': 'mine\n' })
  world.commit(repo, 'theirs', { 'theirs.txt': 'theirs\n' })
  world.git(worktree, 'merge', '-q', '--no-edit', 'main')
  const opened = await world.open(repo)
  const paths = async () =>
    (await taskDiff(opened, task, { patch: false, colour: false })).files.map(file => file.path)
  expect(await paths()).toEqual(['mine.txt'])
  world.git(repo, 'merge', '-q', '--ff-only', 'berth/t')
  expect(await paths()).toContain('mine.txt')
})

test('what has landed is compared with the target as it was before, whatever became of its branch', async () => {
  const { repo, worktree, task } = makeTask()
  world.commit(worktree, 'work', { 'mine.txt': 'mine\n' })
  world.commit(repo, 'theirs', { 'theirs.txt': 'theirs\n' })
  world.git(worktree, 'merge', '-q', '--no-edit', 'main')
  const commit = world.git(worktree, 'rev-parse', 'HEAD')
  world.git(repo, 'worktree', 'remove', worktree)
  world.git(repo, 'merge', '-q', '--no-ff', '--no-edit', 'berth/t')
  const landedAs = world.git(repo, 'rev-parse', 'HEAD')
  world.git(repo, 'update-ref', 'refs/heads/berth/t', task.base)
  world.commit(repo, 'later', { 'later.txt': 'later\n' })
  const landed = { ...task, status: 'landed' as const, worktree: null, commit, landedAs }
  const { files } = await taskDiff(await world.open(repo), landed, { patch: false, colour: false })
  expect(files.map(file => file.path)).toEqual(['mine.txt'])
})

test('the target that the task lands on counts, not the branch that is checked out', async () => {
  const { repo, worktree, task } = makeTask()
  world.git(repo, 'switch', '-qc', 'develop')
  world.commit(repo, 'theirs', { 'theirs.txt': 'theirs\n' })
  world.git(repo, 'switch', '-q', 'main')
  world.commit(worktree, 'work', { 'mine.txt': 'mine\n' })
  world.git(worktree, 'merge', '-q', '--no-edit', 'develop')
  const diff = await taskDiff(
    await world.open(repo),
    { ...task, target: 'develop' },
    { patch: false, colour: false },
  )
  expect(diff.files.map(file => file.path)).toEqual(['mine.txt'])
})

test('without its worktree the branch, or else its last commit, is compared', async () => {
  const { repo, worktree, task } = makeTask()
  const commit = world.commit(worktree, 'work', {
    'a b.txt': 'x\ny\n',
    bin: new TextDecoder().decode(new Uint8Array([0, 1])),
  })
  world.git(repo, 'worktree', 'remove', '--force', worktree)
  const gone = { ...task, worktree: null }
  const expected = [
    { path: 'a b.txt', change: 'added', insertions: 2, deletions: 0 },
    { path: 'bin', change: 'added', insertions: null, deletions: null },
  ]
  const opened = await world.open(repo)
  expect((await taskDiff(opened, gone, { patch: true, colour: false })).files).toEqual(expected)
  world.git(repo, 'branch', '-D', 'berth/t')
  const landed = await taskDiff(opened, { ...gone, commit }, { patch: true, colour: false })
  expect(landed.files).toEqual(expected)
  expect(text(landed.patch)).toContain('+++ b/a b.txt')
  await expect(taskDiff(opened, gone, { patch: false, colour: false })).rejects.toMatchObject({
    code: 'not-found',
  })
})

test('a diff of megabytes comes whole', async () => {
  const { repo, worktree, task } = makeTask()
  world.write(`${worktree}/big.txt`, `${'0123456789abcdef'.repeat(4)}\n`.repeat(45_000))
  const { patch } = await taskDiff(await world.open(repo), task, { patch: true, colour: false })
  expect(patch!.length).toBeGreaterThan(statSync(`${worktree}/big.txt`).size)
  execFileSync('git', ['-C', repo, 'apply', '--check', '-'], { input: patch!, env: world.env })
})
