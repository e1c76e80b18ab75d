// Integration: merges built off to the side, and the target moved only when nobody's work is in the way.

import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { foreseeMerges } from '../../src/git/foresee.ts'
import { type Git, inDirectory } from '../../src/git/git.ts'
import { mergeInto, type MergeOutcome, type MergeRequest, moveTarget } from '../../src/git/integrate.ts'
import { type Repository } from '../../src/git/open.ts'
import { targetMove } from '../../src/git/target.ts'
import { addWorktree } from '../../src/git/worktree.ts'
import { makeWorld, type World } from '../fixtures/repository.ts'

let world: World
let dir: string
let repo: Repository
let integration: Git

beforeEach(async () => {
  world = makeWorld()
  dir = world.repository('repo', { 'app.txt': 'one\n', 'other.txt': '1\n', '.gitignore': '*.log\n' })
  repo = await world.open(dir)
  const path = world.path('integration')
  const made = await addWorktree(repo, {
    path,
    branch: null,
    commit: head('main'),
    lock: world.lock,
    takeUp: false,
  })
  expect(made.is).toBe('made')
  integration = inDirectory(repo, path)
})
afterEach(() => world.clean())

const head = (revision: string): string => world.git(dir, 'rev-parse', revision)

/** A branch off main with one commit; main stays checked out in the repository. */
function branch(name: string, files: { [path: string]: string }): string {
  const path = world.path(`wt-${name}`)
  world.git(dir, 'worktree', 'add', '-q', '-b', `task/${name}`, path, 'main')
  return world.commit(path, `work of ${name}`, files)
}

const merge = (commit: string, over: Partial<MergeRequest> = {}): Promise<MergeOutcome> =>
  mergeInto(integration, {
    tip: head('main'),
    commit,
    subject: "Merge 'good' into main",
    trailers: { 'Berth-Task': 'good', 'Berth-Run': 'good#1' },
    author: { name: 'good (berth)', email: 'good@berth.invalid' },
    ...over,
  })

const merged = async (commit: string): Promise<string> => {
  const outcome = await merge(commit)
  if (outcome.is !== 'merged') throw new Error(JSON.stringify(outcome))
  return outcome.commit
}

const move = (to: string, from = head('main'), lockMs = 100) =>
  moveTarget(repo, { target: 'main', from, to, lockMs })

test('merges are foreseen one after the other, and nothing of them is written', async () => {
  const first = branch('first', { 'app.txt': 'first\n' })
  const second = branch('second', { 'app.txt': 'second\n' })
  const apart = branch('apart', { 'other.txt': 'apart\n' })
  const old = branch('old', { 'app.txt': 'old\n' })
  world.git(dir, 'merge', '-q', '--no-edit', apart)
  const objects = () => world.git(dir, 'count-objects')
  const before = objects()
  const foresee = (...commits: string[]) => foreseeMerges(repo, head('main'), commits)
  expect(await foresee(first, second, apart, 'f'.repeat(40), head('main^1'))).toMatchObject([
    { is: 'merges' },
    { is: 'conflict', paths: ['app.txt'], after: true },
    { is: 'already' },
    { is: 'unknown' },
    { is: 'already' },
  ])
  expect(objects()).toBe(before)
  world.commit(dir, 'theirs', { 'app.txt': 'theirs\n' })
  expect(await foresee(old, first)).toEqual([
    { is: 'conflict', paths: ['app.txt'], after: false },
    { is: 'conflict', paths: ['app.txt'], after: false },
  ])
})

test('a merge is a merge commit with both parents, trailers, author and committer', async () => {
  const work = branch('good', { 'new.txt': 'fine\n' })
  const tip = head('main')
  const commit = await merged(work)
  expect(world.git(dir, 'log', '-1', '--format=%P%n%an|%cn|%ce%n%B', commit)).toBe(
    `${tip} ${work}\ngood (berth)|Test Person|person@test.invalid\n` +
      "Merge 'good' into main\n\nBerth-Task: good\nBerth-Run: good#1\n",
  )
  expect(world.git(integration.dir, 'rev-parse', 'HEAD')).toBe(commit)
  expect(readFileSync(join(integration.dir, 'new.txt'), 'utf8')).toBe('fine\n')
  expect(head('main')).toBe(tip)
})

test('without an identity of the person the author commits', async () => {
  const work = branch('good', { 'new.txt': 'fine\n' })
  for (const name of ['user.name', 'user.email']) world.git(dir, 'config', '--global', '--unset', name)
  world.git(dir, 'config', '--global', 'user.useConfigOnly', 'true')
  const commit = await merged(work)
  expect(world.git(dir, 'log', '-1', '--format=%an|%cn', commit)).toBe('good (berth)|good (berth)')
})

test('a conflict names its paths, and the queue goes on with the next (case 58)', async () => {
  const bad = branch('bad', { 'app.txt': 'theirs\n' })
  const good = branch('good', { 'new.txt': 'fine\n' })
  world.commit(dir, 'main moved', { 'app.txt': 'ours\n' })
  writeFileSync(join(dir, 'other.txt'), 'user edit\n')
  world.write(join(dir, 'staged.txt'), 'staged\n')
  world.git(dir, 'add', 'staged.txt')
  world.write(join(dir, 'untracked.txt'), 'u\n')
  const before = [head('main'), world.git(dir, 'status', '--porcelain')]
  expect(await merge(bad)).toEqual({ is: 'conflict', paths: ['app.txt'] })
  expect([head('main'), world.git(dir, 'status', '--porcelain')]).toEqual(before)
  expect(world.git(integration.dir, 'status', '--porcelain')).toBe('')
  expect(await move(await merged(good))).toEqual({ is: 'moved' })
  expect(world.git(dir, 'status', '--porcelain')).toBe(before[1])
  expect(readFileSync(join(dir, 'new.txt'), 'utf8')).toBe('fine\n')
})

test('what a cut-off merge left in the integration worktree is cleared, ignored files stay', async () => {
  const good = branch('good', { 'new.txt': 'fine\n' })
  const bad = branch('bad', { 'app.txt': 'theirs\n' })
  world.commit(integration.dir, 'other', { 'app.txt': 'mine\n' })
  world.tryGit(integration.dir, 'merge', bad)
  world.write(join(integration.dir, 'gate-left.txt'), 'x')
  world.write(join(integration.dir, 'cache.log'), 'x')
  world.write(world.path('repo/.git/worktrees/integration/index.lock'), '')
  const commit = await merged(good)
  expect(world.git(integration.dir, 'status', '--porcelain', '--ignored')).toBe('!! cache.log')
  expect(world.git(integration.dir, 'rev-parse', 'HEAD')).toBe(commit)
  expect(world.tryGit(integration.dir, 'rev-parse', '--verify', 'MERGE_HEAD').code).not.toBe(0)
})

test('what the target has already is said, and an unknown commit is a failure and no conflict', async () => {
  expect(await merge(head('main'))).toEqual({ is: 'already' })
  expect(await merge('1'.repeat(40))).toMatchObject({ is: 'failed', step: 'ask' })
})

test('a target that nobody has checked out moves by compare-and-swap', async () => {
  const work = branch('good', { 'new.txt': 'fine\n' })
  const commit = await merged(work)
  const tip = head('main')
  world.git(dir, 'switch', '-q', '-c', 'elsewhere')
  expect(await move(commit, '1'.repeat(40))).toEqual({ is: 'moved-meanwhile', tip })
  expect(await move(commit)).toEqual({ is: 'moved' })
  expect(head('main')).toBe(commit)
  expect(await move(commit, tip)).toEqual({ is: 'moved-meanwhile', tip: commit })
  world.git(dir, 'branch', '-D', 'main')
  expect(await move(commit, tip)).toEqual({ is: 'moved-meanwhile', tip: null })
})

test('the target of a bare repository moves although its HEAD names it', async () => {
  const work = branch('good', { 'new.txt': 'fine\n' })
  const commit = await merged(work)
  const bare = await world.open(world.remote(dir))
  world.git(dir, 'push', '-q', bare.root, `${commit}:refs/heads/next`)
  const outcome = await moveTarget(bare, { target: 'main', from: head('main'), to: commit })
  expect(outcome).toEqual({ is: 'moved' })
})

test('a checked-out target moves with its files, hooks off', async () => {
  world.write(join(dir, '.git/hooks/post-merge'), `#!/bin/sh\ntouch '${world.path('hooked')}'\n`, 0o755)
  const commit = await merged(branch('good', { 'app.txt': 'two\n' }))
  expect(await move(commit)).toEqual({ is: 'moved' })
  expect([head('main'), readFileSync(join(dir, 'app.txt'), 'utf8')]).toEqual([commit, 'two\n'])
  expect(world.git(dir, 'status', '--porcelain')).toBe('')
  expect(() => readFileSync(world.path('hooked'))).toThrow()
})

test('modified, staged, untracked, ignored and hidden files in the way hold the target, with their paths', async () => {
  const work = branch('good', {
    'app.txt': 'two\n',
    'new.txt': 'n\n',
    'debug.log': 'l\n',
    'deep/er/file.txt': 'd\n',
  })
  world.git(world.path('wt-good'), 'add', '-f', 'debug.log')
  const commit = await merged(world.commit(world.path('wt-good'), 'log') || work)
  const tip = head('main')
  const cases: [string, () => void, string[]][] = [
    ['modified', () => writeFileSync(join(dir, 'app.txt'), 'mine\n'), ['app.txt']],
    ['untracked', () => world.write(join(dir, 'new.txt'), 'mine\n'), ['new.txt']],
    ['ignored', () => world.write(join(dir, 'debug.log'), 'mine\n'), ['debug.log']],
    ['a file where a folder goes', () => world.write(join(dir, 'deep'), 'mine\n'), ['deep']],
    ['a folder where a file goes', () => world.write(join(dir, 'new.txt/x'), 'mine\n'), ['new.txt']],
  ]
  for (const [what, make, paths] of cases) {
    make()
    const before = world.git(dir, 'status', '--porcelain', '--ignored')
    expect(await move(commit), what).toEqual({
      is: 'busy',
      paths,
      reason: `'${dir}' has work where 'main' would change`,
    })
    expect([head('main'), world.git(dir, 'status', '--porcelain', '--ignored')]).toEqual([tip, before])
    world.git(dir, 'checkout', '-q', '--', 'app.txt')
    world.git(dir, 'clean', '-qfdx')
  }
  world.git(dir, 'update-index', '--assume-unchanged', 'app.txt')
  writeFileSync(join(dir, 'app.txt'), 'hidden\n')
  expect(await move(commit)).toMatchObject({ is: 'busy', paths: ['app.txt'] })
  expect(readFileSync(join(dir, 'app.txt'), 'utf8')).toBe('hidden\n')
})

test('an operation in progress, a lock and a target checked out twice hold the target', async () => {
  const commit = await merged(branch('good', { 'new.txt': 'n\n' }))
  world.git(dir, 'bisect', 'start')
  expect(await move(commit)).toMatchObject({ is: 'busy', reason: `a bisect is in progress in '${dir}'` })
  world.git(dir, 'bisect', 'reset')
  const lock = join(dir, '.git/index.lock')
  writeFileSync(lock, '')
  expect(await move(commit)).toEqual({ is: 'busy', paths: [lock], reason: `git is busy in '${dir}'` })
  rmSync(lock)
  world.git(dir, 'worktree', 'add', '-q', '-f', world.path('twin'), 'main')
  expect(await move(commit)).toMatchObject({
    is: 'busy',
    reason: "'main' is checked out in more than one worktree",
  })
})

test("a lock that is there for a moment, as of a person's git, is waited out", async () => {
  const commit = await merged(branch('good', { 'new.txt': 'n\n' }))
  const lock = join(dir, '.git/index.lock')
  writeFileSync(lock, '')
  const moving = move(commit, head('main'), 20_000)
  setTimeout(() => rmSync(lock), 200)
  expect(await moving).toEqual({ is: 'moved' })
  expect([head('main'), readFileSync(join(dir, 'new.txt'), 'utf8')]).toEqual([commit, 'n\n'])
})

test('a target that is being rebased somewhere is busy', async () => {
  const commit = await merged(branch('good', { 'new.txt': 'n\n' }))
  world.git(dir, 'switch', '-qc', 'side', 'HEAD')
  world.commit(dir, 'side', { 'app.txt': 'side\n' })
  world.git(dir, 'switch', '-q', 'main')
  const tip = world.commit(dir, 'mine', { 'app.txt': 'mine\n' })
  world.tryGit(dir, 'rebase', 'side')
  expect(world.git(dir, 'rev-parse', '--abbrev-ref', 'HEAD')).toBe('HEAD')
  expect(await move(commit, tip)).toMatchObject({ is: 'busy', reason: `a rebase is in progress in '${dir}'` })
})

test('a sparse checkout of the target moves', async () => {
  const commit = await merged(branch('good', { 'out/x.txt': 'x\n', 'app.txt': 'two\n' }))
  world.git(dir, 'sparse-checkout', 'set', '--cone', 'in')
  expect(await move(commit)).toEqual({ is: 'moved' })
  expect(world.git(dir, 'status', '--porcelain')).toBe('')
})

test('what became of a target is told: same, forward, rewritten, gone (decision 22)', async () => {
  const was = head('main')
  const ask = () => targetMove(repo, { target: 'main', was })
  expect(await ask()).toEqual({ is: 'same' })
  const tip = world.commit(dir, 'second', { 'b.txt': 'b' })
  expect(await ask()).toEqual({ is: 'forward', tip, commits: 1 })
  world.git(dir, 'commit', '-q', '--amend', '-m', 'amended')
  const amended = head('main')
  expect(await targetMove(repo, { target: 'main', was: tip })).toEqual({
    is: 'rewritten',
    tip: amended,
    left: [tip],
  })
  world.git(dir, 'branch', '-m', 'main', 'trunk')
  expect(await ask()).toEqual({ is: 'gone' })
})
