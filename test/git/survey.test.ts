// What would be lost: everything law 2 names is found, what can be had again is not, and a failure is "unknown".

import { createHash } from 'node:crypto'
import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { inDirectory } from '../../src/git/git.ts'
import { type KnownFile } from '../../src/git/ignored.ts'
import { stashesOf } from '../../src/git/stash.ts'
import { type Survey, surveyWork } from '../../src/git/survey.ts'
import { makeWorld, type World } from '../fixtures/repository.ts'

let world: World

beforeEach(() => {
  world = makeWorld()
})
afterEach(() => world.clean())

const rebuildable = ['node_modules', 'build', 'vendor/bundle']

/** A repository and a worktree of it on `task/a`. */
function worktree(files?: { [path: string]: string }): string {
  const repo = world.repository('repo', files)
  world.git(repo, 'worktree', 'add', '-q', '-b', 'task/a', world.path('wt'))
  return world.path('wt')
}

async function look(dir: string, known: KnownFile[] = []): Promise<Survey> {
  const repo = await world.open(world.path('repo'))
  return surveyWork(inDirectory(repo, dir), { rebuildable, known })
}

test('a clean worktree loses nothing', async () => {
  expect(await look(worktree())).toMatchObject({ losses: [], quiet: [], archiveBytes: 0, branch: 'task/a' })
})

test('staged, unstaged and untracked work is found, whatever the configuration shows', async () => {
  const wt = worktree({ 'a.txt': '1\n', 'b.txt': '1\n' })
  world.git(wt, 'config', 'status.showUntrackedFiles', 'no')
  writeFileSync(join(wt, 'a.txt'), '2\n')
  world.git(wt, 'add', 'a.txt')
  writeFileSync(join(wt, 'b.txt'), '2\n')
  world.write(join(wt, 'new', 'c.txt'), 'c')
  expect((await look(wt)).losses).toEqual([
    { kind: 'staged', count: 1, examples: ['a.txt'] },
    { kind: 'unstaged', count: 1, examples: ['b.txt'] },
    { kind: 'untracked', count: 1, examples: ['new/c.txt'] },
  ])
})

test('edits under skip-worktree and assume-unchanged are found, flags without edits are not', async () => {
  const wt = worktree({ 'a.txt': '1\n', 'b.txt': '1\n', 'c.txt': '1\n', 'd.txt': '1\n' })
  world.git(wt, 'update-index', '--skip-worktree', 'a.txt', 'c.txt')
  world.git(wt, 'update-index', '--assume-unchanged', 'b.txt', 'd.txt')
  writeFileSync(join(wt, 'a.txt'), 'edited\n')
  writeFileSync(join(wt, 'b.txt'), 'edited\n')
  rmSync(join(wt, 'd.txt'))
  expect((await look(wt)).losses).toEqual([{ kind: 'hidden', count: 2, examples: ['a.txt', 'b.txt'] }])
})

test('line endings that git converts are no hidden edit', async () => {
  const wt = worktree({ '.gitattributes': '*.txt eol=crlf\n', 'a.txt': 'one\n' })
  world.git(wt, 'update-index', '--skip-worktree', 'a.txt')
  expect((await look(wt)).losses).toEqual([])
})

test('ignored files are named unless they are rebuildable or just what setup put there (case 20)', async () => {
  const wt = worktree({
    '.gitignore': '.env*\nnode_modules/\n*.sqlite\nbuild/\nnotes/\nlinked\ncfg/\n',
    'build.js': 'x',
  })
  world.write(join(wt, '.env'), 'A=1')
  world.write(join(wt, '.env.local'), 'PORT=4100')
  world.write(join(wt, 'dev.sqlite'), 'rows')
  world.write(join(wt, 'node_modules/x/i.js'), 'x')
  world.write(join(wt, 'packages/p/node_modules/x/i.js'), 'x')
  world.write(join(wt, 'build/out.o'), 'o')
  world.write(join(wt, 'notes/handoff.md'), 'found the cause')
  world.write(join(wt, 'cfg/a.json'), '{}')
  symlinkSync('/tmp/shared', join(wt, 'linked'))
  const sha256 = createHash('sha256').update('A=1').digest('hex')
  const json = createHash('sha256').update('{}').digest('hex')
  const known = [
    { path: '.env', sha256 },
    { path: 'linked', link: '/tmp/shared' },
    { path: 'cfg/a.json', sha256: json },
  ]
  const found = await look(wt, known)
  expect(found.losses).toEqual([
    { kind: 'ignored', count: 3, examples: ['.env.local', 'dev.sqlite', 'notes/'] },
  ])
  expect(found.archiveBytes).toBe(9 + 4 + 15)
  writeFileSync(join(wt, '.env'), 'A=2')
  expect((await look(wt, known)).losses[0]?.examples).toContain('.env')
})

test('a rebuildable folder that git does not ignore, or that holds tracked files, is not let go', async () => {
  const wt = worktree({ '.gitignore': '*.key\n', 'build/keep.txt': 'k' })
  world.write(join(wt, 'build/secret.key'), 's')
  world.write(join(wt, 'node_modules/mine.js'), 'm')
  expect((await look(wt)).losses).toEqual([
    { kind: 'untracked', count: 1, examples: ['node_modules/mine.js'] },
    { kind: 'ignored', count: 1, examples: ['build/secret.key'] },
  ])
})

test('only the contents of a rebuildable folder ignored is as good as the folder', async () => {
  const wt = worktree({ '.gitignore': 'node_modules/*\n' })
  world.write(join(wt, 'node_modules/.cache'), 'm')
  world.write(join(wt, 'node_modules/x/y.js'), 'm')
  expect((await look(wt)).losses).toEqual([])
})

test('nested repositories are found, in a rebuildable folder too', async () => {
  const wt = worktree({ '.gitignore': 'node_modules/\nscratch/\n' })
  for (const name of ['inner', 'node_modules/dep', 'scratch']) {
    mkdirSync(join(wt, name), { recursive: true })
    world.git(join(wt, name), 'init', '-q')
    world.commit(join(wt, name), 'c', { 'f.txt': 'f' })
  }
  const found = await look(wt)
  expect(found.losses).toEqual([
    { kind: 'nested', count: 3, examples: ['inner', 'node_modules/dep', 'scratch'] },
  ])
  expect(found.archiveBytes).toBeGreaterThan(0)
})

test('commits on a detached HEAD are a loss; those of the reflog and of worktree refs are quiet', async () => {
  const wt = worktree()
  world.git(wt, 'switch', '-q', '--detach')
  const dropped = world.commit(wt, 'dropped', { 'x.txt': 'x' })
  world.git(wt, 'reset', '-q', '--hard', 'HEAD~1')
  const marked = world.commit(wt, 'marked', { 'y.txt': 'y' })
  world.git(wt, 'update-ref', 'refs/worktree/mark', marked)
  world.git(wt, 'reset', '-q', '--hard', 'HEAD~1')
  const lost = world.commit(wt, 'lost', { 'z.txt': 'z' })
  const found = await look(wt)
  expect(found.losses).toEqual([{ kind: 'commits', count: 1, examples: [lost] }])
  expect(found.quiet.toSorted()).toEqual([dropped, marked].toSorted())
})

test('commits on the task branch stay with it and are no loss', async () => {
  const wt = worktree()
  world.commit(wt, 'work', { 'x.txt': 'x' })
  expect(await look(wt)).toMatchObject({ losses: [], quiet: [] })
})

test('operations in progress are found: rebase, merge, cherry-pick, bisect', async () => {
  const wt = worktree()
  world.git(wt, 'switch', '-qc', 'side')
  world.commit(wt, 'side', { 'app.txt': 'side\n' })
  world.git(wt, 'switch', '-q', 'task/a')
  world.commit(wt, 'mine', { 'app.txt': 'mine\n' })
  const operations = [
    ['merge', ['merge', 'side'], ['merge', '--abort']],
    ['rebase', ['rebase', 'side'], ['rebase', '--abort']],
    ['cherry-pick', ['cherry-pick', 'side'], ['cherry-pick', '--abort']],
    ['bisect', ['bisect', 'start'], ['bisect', 'reset']],
  ] as const
  for (const [name, begin, end] of operations) {
    world.tryGit(wt, ...begin)
    expect((await look(wt)).losses).toContainEqual({ kind: 'operation', count: 1, examples: [name] })
    world.git(wt, ...end)
  }
  expect((await look(wt)).losses).toEqual([])
})

test('a submodule loses its own commits, edits and files, and an idle one nothing (case 27)', async () => {
  const lib = world.repository('lib')
  const repo = world.repository()
  world.git(repo, 'submodule', '-q', 'add', lib, 'lib')
  world.commit(repo, 'sub')
  const wt = world.path('wt')
  world.git(repo, 'worktree', 'add', '-q', '-b', 'task/a', wt)
  expect((await look(wt)).losses).toEqual([])
  world.git(wt, 'submodule', '-q', 'update', '--init')
  expect((await look(wt)).losses).toEqual([])
  world.write(join(wt, 'lib/new.txt'), 'n')
  expect((await look(wt)).losses).toEqual([{ kind: 'submodule', count: 1, examples: ['lib'] }])
  world.commit(join(wt, 'lib'), 'only here')
  world.commit(wt, 'point at it')
  expect((await look(wt)).losses).toEqual([{ kind: 'submodule', count: 1, examples: ['lib'] }])
})

test('a stash is no loss; those made on a branch or by an address are counted, others are not', async () => {
  const wt = worktree()
  writeFileSync(join(wt, 'app.txt'), 'two\n')
  world.git(wt, 'stash', '-q')
  expect(await look(wt)).toMatchObject({ losses: [] })
  const branch = world.git(wt, 'branch', '--show-current')
  const at = inDirectory(await world.open(world.path('repo')), wt)
  const email = 'agent@berth.invalid'
  expect(await stashesOf(at, { branch, email })).toBe(1)
  expect(await stashesOf(at, { branch: 'other', email })).toBe(0)
  world.git(wt, 'checkout', '-q', '--detach')
  writeFileSync(join(wt, 'app.txt'), 'three\n')
  world.git(wt, '-c', `user.email=${email}`, 'stash', '-q')
  expect(await stashesOf(at, { branch, email })).toBe(2)
})

test('names with spaces, quotes, arrows, newlines and bytes that are no UTF-8 come through (case 17)', async () => {
  const wt = worktree()
  const names = ['d ir/naïve €.txt', 'a -> b.txt', '"quoted".txt', 'line\nbreak.txt']
  for (const name of names) world.write(join(wt, name), 'x')
  writeFileSync(Buffer.concat([Buffer.from(`${wt}/raw-`), Buffer.from([0xff, 0xfe])]), 'x')
  const found = await look(wt)
  expect(found.found.untracked.toSorted()).toEqual([...names, 'raw-\udcff\udcfe'].toSorted())
  expect(found.losses[0]?.examples).toContain('raw-\\xff\\xfe')
  expect(found.losses[0]?.examples).toContain('line\\nbreak.txt')
})

test('a worktree that git cannot read is unknown, never clean', async () => {
  const wt = worktree()
  renameSync(world.path('repo/.git/worktrees/wt/HEAD'), world.path('HEAD'))
  expect((await look(wt)).losses.map(loss => loss.kind)).toContain('unknown')
  rmSync(join(wt, '.git'))
  expect((await look(wt)).losses.map(loss => loss.kind)).toEqual(['unknown'])
})

test('a folder that git could not read makes the answer unknown, although git calls that a success', async () => {
  const wt = worktree()
  const repo = await world.open(world.path('repo'))
  // The superuser can read every folder, so a git that says what it says to others stands in.
  const warning = "warning: could not open directory 'closed/': Permission denied"
  const script = `#!/bin/sh\necho "${warning}" >&2\nPATH='${world.env['PATH']}' exec git "$@"\n`
  world.write(world.path('bin/git'), script, 0o755)
  const env = { ...repo.env, PATH: `${world.path('bin')}:${world.env['PATH']}` }
  const found = await surveyWork({ ...inDirectory(repo, wt), env }, { rebuildable, known: [] })
  expect(found.losses).toEqual([
    { kind: 'unknown', count: 1, examples: ["could not open directory 'closed/': Permission denied"] },
  ])
})

test('a missing filter program does not hide the answer (case 12)', async () => {
  const repo = world.repository()
  world.git(repo, 'config', 'filter.big.clean', 'cat')
  world.git(repo, 'config', 'filter.big.smudge', 'cat')
  world.commit(repo, 'big', { '.gitattributes': '*.big filter=big\n', 'model.big': 'payload' })
  const wt = world.path('wt')
  world.git(repo, 'worktree', 'add', '-q', '-b', 'task/a', wt)
  writeFileSync(join(wt, 'model.big'), 'payload')
  world.git(repo, 'config', 'filter.big.clean', 'no-such-big-tool clean')
  world.git(repo, 'config', 'filter.big.process', 'no-such-big-tool process')
  world.git(repo, 'config', 'filter.big.required', 'true')
  expect((await look(wt)).losses).toEqual([])
  writeFileSync(join(wt, 'model.big'), 'changed')
  expect((await look(wt)).losses).toEqual([{ kind: 'unstaged', count: 1, examples: ['model.big'] }])
})

test('a worktree whose directory is gone can only lose commits', async () => {
  const wt = worktree()
  world.git(wt, 'switch', '-q', '--detach')
  const lost = world.commit(wt, 'lost', { 'z.txt': 'z' })
  rmSync(wt, { recursive: true })
  expect((await look(wt)).losses).toEqual([{ kind: 'commits', count: 1, examples: [lost] }])
})

test('the survey writes nothing: the index keeps its bytes', async () => {
  const wt = worktree()
  const { readFileSync } = await import('node:fs')
  const index = world.path('repo/.git/worktrees/wt/index')
  writeFileSync(join(wt, 'app.txt'), 'two\n')
  const before = readFileSync(index)
  await look(wt)
  expect(readFileSync(index).equals(before)).toBe(true)
})
