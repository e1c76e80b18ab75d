// Making worktrees: what is refused, what is taken up, what is verified and rolled back.

import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type Repository } from '../../src/git/open.ts'
import { workersOf } from '../../src/git/checkout.ts'
import { type AddRequest, addWorktree } from '../../src/git/worktree.ts'
import { makeWorld, type World } from '../fixtures/repository.ts'

let world: World

beforeEach(() => {
  world = makeWorld()
})
afterEach(() => world.clean())

const request = (repo: Repository, over: Partial<AddRequest> = {}): AddRequest => ({
  path: world.path('repo.berths', 'login'),
  branch: 'berth/login',
  commit: world.git(repo.root, 'rev-parse', 'HEAD'),
  lock: world.lock,
  takeUp: true,
  ...over,
})

const branches = (repo: string): string[] =>
  world.git(repo, 'for-each-ref', '--format=%(refname:short)', 'refs/heads').split('\n')

const worktrees = (repo: string): number =>
  world.git(repo, 'worktree', 'list', '--porcelain').split('worktree ').length - 1

test('a worktree is made on a new branch with its files, its marker and no upstream', async () => {
  const repo = await world.open(world.repository())
  const outcome = await addWorktree(repo, request(repo, { marker: '{"task":"login"}' }))
  const path = world.path('repo.berths', 'login')
  const entryDir = join(repo.commonDir, 'worktrees', 'login')
  expect(outcome).toEqual({
    is: 'made',
    path,
    branch: 'berth/login',
    head: world.git(repo.root, 'rev-parse', 'HEAD'),
    entryDir,
    notices: [],
  })
  expect(readFileSync(join(path, 'app.txt'), 'utf8')).toBe('one\n')
  expect(readFileSync(join(entryDir, 'berth.json'), 'utf8')).toBe('{"task":"login"}')
  expect(world.git(path, 'status', '--porcelain')).toBe('')
  expect(world.git(path, 'branch', '--show-current')).toBe('berth/login')
  expect(world.tryGit(path, 'rev-parse', '@{u}').code).not.toBe(0)
})

test('a leftover branch is taken up with its commits (case 01)', async () => {
  const dir = world.repository()
  const base = world.git(dir, 'rev-parse', 'HEAD')
  world.git(dir, 'switch', '-qc', 'berth/login')
  const kept = world.commit(dir, 'earlier', { 'kept.txt': 'kept' })
  world.git(dir, 'switch', '-q', 'main')
  const repo = await world.open(dir)
  const outcome = await addWorktree(repo, request(repo, { commit: base }))
  expect(outcome).toMatchObject({ is: 'made', head: kept, tookUp: 1 })
  expect(existsSync(world.path('repo.berths', 'login', 'kept.txt'))).toBe(true)
})

test('a branch that is there is refused when it may not be taken up', async () => {
  const repo = await world.open(world.repository())
  world.git(repo.root, 'branch', 'berth/login')
  const outcome = await addWorktree(repo, request(repo, { takeUp: false }))
  expect(outcome).toMatchObject({ is: 'refused', what: 'branch', code: 'name-taken' })
  expect(existsSync(world.path('repo.berths'))).toBe(false)
})

test('a branch that is checked out is refused and the path that has it is named (case 01)', async () => {
  const repo = await world.open(world.repository())
  world.git(repo.root, 'worktree', 'add', '-q', '-b', 'berth/login', world.path('other-wt'))
  writeFileSync(world.path('other-wt', 'app.txt'), 'half')
  const outcome = await addWorktree(repo, request(repo))
  expect(outcome).toEqual({
    is: 'refused',
    what: 'branch-checked-out',
    code: 'name-taken',
    message: `the branch 'berth/login' is checked out in '${world.path('other-wt')}'`,
    hint: 'berth run --name NAME "BRIEF"',
    at: world.path('other-wt'),
  })
  expect(readFileSync(world.path('other-wt', 'app.txt'), 'utf8')).toBe('half')
  expect(worktrees(repo.root)).toBe(2)
})

test.each([
  ['rebase', ['-c', 'sequence.editor=sed -i 1s/pick/edit/', 'rebase', '-qi', 'HEAD~1']],
  ['bisect', ['bisect', 'start', 'HEAD', 'HEAD~1']],
])(
  'a branch under %s in another worktree is refused with its place, and that is left as it is',
  async (what, args) => {
    const repo = await world.open(world.repository())
    const other = world.path('other-wt')
    world.git(repo.root, 'worktree', 'add', '-q', '-b', 'berth/login', other)
    for (const text of ['two', 'three']) {
      writeFileSync(join(other, 'app.txt'), text)
      world.git(other, 'commit', '-qam', text)
    }
    world.git(other, ...args)
    if (what === 'bisect') world.git(other, 'checkout', '-q', '--detach')
    const before = world.git(other, 'status')
    expect(await addWorktree(repo, request(repo))).toEqual({
      is: 'refused',
      what: 'branch-busy',
      code: 'name-taken',
      message: `a ${what} of the branch 'berth/login' is not finished in '${other}'`,
      hint: `git -C ${other} status`,
      at: other,
    })
    expect(world.git(other, 'status')).toBe(before)
  },
)

test('a path that is taken, and one that folds to a neighbour, are two other refusals', async () => {
  const repo = await world.open(world.repository())
  mkdirSync(world.path('repo.berths', 'login'), { recursive: true })
  expect(await addWorktree(repo, request(repo))).toMatchObject({
    is: 'refused',
    what: 'path',
    code: 'name-taken',
  })
  const folds = request(repo, { path: world.path('repo.berths', 'LOGIN') })
  expect(await addWorktree(repo, folds)).toMatchObject({
    is: 'refused',
    what: 'path-folds',
    code: 'name-taken',
  })
  expect(branches(repo.root)).toEqual(['main'])
})

test('a path inside the repository or its git directory is refused', async () => {
  const repo = await world.open(world.repository())
  for (const path of [join(repo.root, 'wt'), join(repo.commonDir, 'wt')]) {
    expect(await addWorktree(repo, request(repo, { path }))).toMatchObject({
      what: 'path-inside',
      code: 'path-refused',
    })
  }
  const beside = await addWorktree(repo, request(repo, { path: world.path('repo-2') }))
  expect(beside.is).toBe('made')
})

test('branches that clash as folder and file are refused both ways', async () => {
  const repo = await world.open(world.repository())
  world.git(repo.root, 'branch', 'feat')
  expect(await addWorktree(repo, request(repo, { branch: 'feat/x' }))).toMatchObject({
    what: 'branch-clash',
    message: "the branch 'feat/x' cannot stand beside the branch 'feat'",
  })
  world.git(repo.root, 'branch', 'fix/y')
  expect(await addWorktree(repo, request(repo, { branch: 'fix' }))).toMatchObject({
    what: 'branch-clash',
    message: "the branch 'fix' cannot stand beside the branch 'fix/y'",
  })
})

test('a commit that is not there is refused', async () => {
  const repo = await world.open(world.repository())
  const outcome = await addWorktree(repo, request(repo, { commit: '1'.repeat(40) }))
  expect(outcome).toMatchObject({ is: 'refused', what: 'commit', code: 'not-found' })
  expect(branches(repo.root)).toEqual(['main'])
})

test('a registered worktree that is not there keeps its path', async () => {
  const repo = await world.open(world.repository())
  const path = world.path('repo.berths', 'login')
  world.git(repo.root, 'worktree', 'add', '-q', '-b', 'old', path)
  world.git(world.dir, 'init', '-q', world.path('elsewhere'))
  const { rmSync } = await import('node:fs')
  rmSync(path, { recursive: true })
  const outcome = await addWorktree(repo, request(repo))
  expect(outcome).toMatchObject({ is: 'refused', what: 'path-registered', code: 'name-taken' })
  expect(branches(repo.root)).toEqual(['main', 'old'])
})

test('a failing post-checkout hook is a notice with its text, and the worktree is complete (case 10)', async () => {
  const dir = world.repository()
  world.write(
    join(dir, '.git/hooks/post-checkout'),
    '#!/bin/sh\necho "helper not installed" >&2\nexit 1\n',
    0o755,
  )
  const repo = await world.open(dir)
  const outcome = await addWorktree(repo, request(repo))
  expect(outcome).toMatchObject({
    is: 'made',
    notices: ["the repository's post-checkout hook exited with 1: helper not installed"],
  })
  expect(world.git(world.path('repo.berths', 'login'), 'status', '--porcelain')).toBe('')
})

test('the post-checkout hook runs in the worktree with what git would give it, from core.hooksPath too', async () => {
  const dir = world.repository()
  const hook = `#!/bin/sh\n{ pwd; echo "$@"; } > "${world.path('seen')}"\n`
  world.write(join(dir, '.githooks/post-checkout'), hook, 0o755)
  world.git(dir, 'config', 'core.hooksPath', '.githooks')
  const head = world.commit(dir, 'hook')
  const repo = await world.open(dir)
  expect((await addWorktree(repo, request(repo))).is).toBe('made')
  expect(readFileSync(world.path('seen'), 'utf8')).toBe(
    `${world.path('repo.berths', 'login')}\n${'0'.repeat(40)} ${head} 1\n`,
  )
})

test('a required filter whose program is missing is named before anything is made (case 12)', async () => {
  const dir = world.repository()
  world.git(dir, 'config', 'filter.big.clean', 'cat')
  world.git(dir, 'config', 'filter.big.smudge', 'cat')
  world.commit(dir, 'big', { '.gitattributes': '*.big filter=big\n', 'model.big': 'payload' })
  world.git(dir, 'config', 'filter.big.process', 'no-such-big-tool filter-process')
  world.git(dir, 'config', 'filter.big.required', 'true')
  const repo = await world.open(dir)
  expect(await addWorktree(repo, request(repo))).toEqual({
    is: 'refused',
    what: 'filter',
    code: 'filter-missing',
    message:
      "the program 'no-such-big-tool' is not installed, and files with the attribute 'filter=big' need it; " +
      'install it, or do without',
    hint: 'git config filter.big.required false',
  })
  expect(branches(repo.root)).toEqual(['main'])
})

test('a filter that fails later is rolled back completely', async () => {
  const dir = world.repository()
  world.git(dir, 'config', 'filter.big.clean', 'cat')
  world.git(dir, 'config', 'filter.big.smudge', 'cat')
  world.commit(dir, 'big', { '.gitattributes': '*.big filter=big\n', 'model.big': 'payload' })
  world.git(dir, 'config', 'filter.big.smudge', 'exit 3; cat')
  world.git(dir, 'config', 'filter.big.required', 'true')
  const repo = await world.open(dir)
  const outcome = await addWorktree(repo, request(repo))
  expect(outcome).toMatchObject({ is: 'failed', step: 'checkout', code: 'filter-missing', left: [] })
  expect(branches(repo.root)).toEqual(['main'])
  expect(existsSync(world.path('repo.berths', 'login'))).toBe(false)
  expect(worktrees(repo.root)).toBe(1)
  expect(existsSync(join(repo.commonDir, 'worktrees'))).toBe(false)
})

test('a lock of another program is waited for within a limit, then named (case 08)', async () => {
  const repo = await world.open(world.repository())
  const lockFile = join(repo.commonDir, 'refs/heads/berth/login.lock')
  world.write(lockFile, '')
  const outcome = await addWorktree(repo, request(repo, { lockMs: 200 }))
  expect(outcome).toMatchObject({ is: 'failed', step: 'branch', code: 'git-busy', left: [] })
  expect(outcome).toHaveProperty('reason', expect.stringContaining(lockFile))
  const { rmSync } = await import('node:fs')
  const later = addWorktree(repo, request(repo, { lockMs: 5_000 }))
  setTimeout(() => rmSync(lockFile), 150)
  expect((await later).is).toBe('made')
})

test('a foreign config.lock does not matter, and sixteen worktrees are made at once (case 08)', async () => {
  const dir = world.repository()
  world.remote(dir)
  const repo = await world.open(dir)
  world.write(join(repo.commonDir, 'config.lock'), '')
  const names = Array.from({ length: 16 }, (_, index) => `t${index}`)
  const outcomes = await Promise.all(
    names.map(name =>
      addWorktree(repo, request(repo, { path: world.path('repo.berths', name), branch: `berth/${name}` })),
    ),
  )
  expect(outcomes.map(outcome => outcome.is)).toEqual(names.map(() => 'made'))
  expect(worktrees(dir)).toBe(17)
})

test('what a cancelled making made is taken back', async () => {
  const dir = world.repository()
  world.git(dir, 'config', 'filter.slow.clean', 'cat')
  world.git(dir, 'config', 'filter.slow.smudge', 'cat')
  world.commit(dir, 'slow', { '.gitattributes': '*.slow filter=slow\n', 'f.slow': 'x' })
  world.git(dir, 'config', 'filter.slow.smudge', `touch '${world.path('begun')}'; sleep 30; cat`)
  const repo = await world.open(dir)
  const controller = new AbortController()
  const outcome = addWorktree(repo, request(repo, { signal: controller.signal }))
  await expect.poll(() => existsSync(world.path('begun')), { timeout: 10_000 }).toBe(true)
  controller.abort()
  expect(await outcome).toMatchObject({ is: 'failed', step: 'checkout', code: 'interrupted', left: [] })
  expect(branches(dir)).toEqual(['main'])
  expect(worktrees(dir)).toBe(1)
})

test('a new worktree is as sparse as the main one', async () => {
  const dir = world.repository('repo', { 'in/a.txt': 'a', 'out/b.txt': 'b', 'top.txt': 't' })
  world.git(dir, 'sparse-checkout', 'set', '--cone', 'in')
  const repo = await world.open(dir)
  expect(repo.traits.sparse).toBe(true)
  expect((await addWorktree(repo, request(repo))).is).toBe('made')
  const path = world.path('repo.berths', 'login')
  expect([existsSync(join(path, 'in/a.txt')), existsSync(join(path, 'out/b.txt'))]).toEqual([true, false])
  expect(world.git(path, 'status', '--porcelain')).toBe('')
})

test('a detached worktree and worktrees of bare and shallow repositories are made', async () => {
  const dir = world.repository()
  world.commit(dir, 'second', { 'b.txt': 'b' })
  const bare = await world.open(world.remote(dir))
  expect(bare.bare).toBe(true)
  const commit = world.git(dir, 'rev-parse', 'HEAD')
  expect(
    await addWorktree(bare, request(bare, { branch: null, commit, path: world.path('d') })),
  ).toMatchObject({ is: 'made', branch: null, head: commit })
  world.git(
    world.dir,
    'clone',
    '-q',
    '--depth',
    '1',
    `file://${world.path('remote.git')}`,
    world.path('shallow'),
  )
  const shallow = await world.open(world.path('shallow'))
  expect(shallow.traits.shallow).toBe(true)
  expect((await addWorktree(shallow, request(shallow, { path: world.path('s') }))).is).toBe('made')
})

test('spaces, quotes, newlines and other letters in the path change nothing (case 17)', async () => {
  const folder = world.path('my Répos & "q" %41 it\'s')
  const dir = world.repository(folder.slice(world.dir.length + 1) + '/re po')
  const repo = await world.open(dir)
  const path = join(folder, 'wt\nbranch refs/heads/faked')
  const outcome = await addWorktree(repo, request(repo, { path }))
  expect(outcome).toMatchObject({ is: 'made', path })
  expect(world.git(path, 'branch', '--show-current')).toBe('berth/login')
})

test('the submodules and the filters that are left unfilled are said', async () => {
  const lib = world.repository('lib')
  const dir = world.repository()
  world.git(dir, 'submodule', '-q', 'add', lib, 'lib')
  world.commit(dir, 'sub', { '.gitattributes': '*.bin filter=lfs\n' })
  const repo = await world.open(dir)
  expect(await addWorktree(repo, request(repo))).toMatchObject({
    is: 'made',
    notices: [
      "files with 'filter=lfs' are left as they are in git: no such filter is configured",
      "the submodules are not filled: setup can do it with 'git submodule update --init'",
    ],
  })
})

test('two that want the same path at once: one gets it, and the other touches nothing of it', async () => {
  const repo = await world.open(world.repository())
  const both = await Promise.all([
    addWorktree(repo, request(repo, { branch: 'berth/one' })),
    addWorktree(repo, request(repo, { branch: 'berth/two' })),
  ])
  expect(both.map(outcome => outcome.is).toSorted()).toEqual(['made', 'refused'])
  const made = both.find(outcome => outcome.is === 'made')
  expect(world.git(world.path('repo.berths', 'login'), 'branch', '--show-current')).toBe(made?.branch)
  expect(branches(repo.root)).toEqual([made?.branch, 'main'])
})

test('a making that is cut off while git registers it is taken back, entry included', async () => {
  const repo = await world.open(world.repository())
  world.write(world.path('bin/git'), slowGit(), 0o755)
  const env = { ...repo.env, PATH: `${world.path('bin')}:${repo.env['PATH'] ?? ''}` }
  const controller = new AbortController()
  const outcome = addWorktree({ ...repo, env }, request(repo, { signal: controller.signal }))
  await expect.poll(() => existsSync(world.path('added')), { timeout: 10_000 }).toBe(true)
  controller.abort()
  expect(await outcome).toMatchObject({ is: 'failed', step: 'register', code: 'interrupted', left: [] })
  expect(branches(repo.root)).toEqual(['main'])
  expect(existsSync(join(repo.commonDir, 'worktrees'))).toBe(false)
  expect(existsSync(world.path('repo.berths', 'login'))).toBe(false)
})

test('a person who forbids bare repositories that were only found changes nothing', async () => {
  const dir = world.repository()
  world.git(dir, 'config', '--global', 'safe.bareRepository', 'explicit')
  const repo = await world.open(dir)
  expect((await addWorktree(repo, request(repo))).is).toBe('made')
})

/** A git that hangs after it has registered a worktree. */
function slowGit(): string {
  const real = world.env['PATH']
  return `#!/bin/sh
PATH='${real}'
case " $* " in
*" worktree add "*) git "$@"; echo "gitdir" > '${world.path('added')}'; exec sleep 60;;
esac
exec git "$@"
`
}

test.each([
  [1, 1],
  [2, 1],
  [4, 2],
  [8, 4],
  [64, 4],
])('with %i cores %i processes write the files of a big tree', (cores, workers) => {
  expect(workersOf(cores)).toBe(workers)
})
