// Opening a repository: what is handled, and each precondition with its own error and a command as hint.

import { execFileSync } from 'node:child_process'
import { chownSync, mkdirSync, readdirSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { BerthError } from '../../src/core/errors.ts'
import { listWorktrees } from '../../src/git/list.ts'
import { atLeast, openRepository } from '../../src/git/open.ts'
import { makeWorld, type World } from '../fixtures/repository.ts'

let world: World

beforeEach(() => {
  world = makeWorld()
})
afterEach(() => world.clean())

async function failureOf(dir: string): Promise<{ code: string; message: string; hint: string | undefined }> {
  try {
    await world.open(dir)
  } catch (error) {
    if (error instanceof BerthError) return { code: error.code, message: error.message, hint: error.hint }
    throw error
  }
  throw new Error('it was opened')
}

/** The hint is a command: it is run as it stands. */
const runHint = (hint: string | undefined): void => {
  execFileSync('sh', ['-c', hint ?? 'false'], { env: world.env, stdio: 'pipe' })
}

test('a repository is one project from its root, a folder inside, a worktree, a link and its git directory', async () => {
  const dir = world.repository('repo', { 'src/a.txt': 'a' })
  world.git(dir, 'worktree', 'add', '-q', '-b', 'other', world.path('wt'))
  symlinkSync(dir, world.path('link'))
  const places = [dir, join(dir, 'src'), world.path('wt'), world.path('link'), join(dir, '.git')]
  const repos = await Promise.all(places.map(world.open))
  expect(new Set(repos.map(repo => repo.id)).size).toBe(1)
  expect(repos.map(repo => [repo.root, repo.commonDir, repo.bare])).toEqual(
    places.map(() => [dir, join(dir, '.git'), false]),
  )
  expect(repos[0]?.id).toMatch(/^[0-9a-f]{16}$/)
  expect(repos.map(repo => repo.worktree)).toEqual([dir, dir, world.path('wt'), dir, null])
})

test('no repository, no folder and no commit are three errors (case 04)', async () => {
  mkdirSync(world.path('plain'))
  expect(await failureOf(world.path('plain'))).toEqual({
    code: 'not-a-repository',
    message: `'${world.path('plain')}' is not in a git repository`,
    hint: `git -C ${world.path('plain')} init`,
  })
  expect(await failureOf(world.path('nowhere'))).toMatchObject({
    code: 'not-a-repository',
    message: `'${world.path('nowhere')}' is not a directory`,
  })
  const empty = world.path('empty')
  world.git(world.dir, 'init', '-q', empty)
  writeFileSync(join(empty, 'notes.txt'), 'draft')
  const failure = await failureOf(empty)
  expect(failure).toMatchObject({
    code: 'no-commits',
    message: `the repository '${empty}' has no commit yet`,
  })
  expect(readdirSync(join(empty, '.git'))).not.toContain('worktrees')
  expect(world.git(empty, 'status', '--porcelain')).toBe('?? notes.txt')
  runHint(failure.hint)
  expect((await world.open(empty)).root).toBe(empty)
})

test('a repository whose HEAD is unborn while it has branches is opened', async () => {
  const dir = world.repository()
  world.git(dir, 'symbolic-ref', 'HEAD', 'refs/heads/unborn')
  expect((await world.open(dir)).root).toBe(dir)
})

test('a bare repository is worked from itself, from the folder that names it and from its worktree (case 13)', async () => {
  const seed = world.repository('seed')
  mkdirSync(world.path('fine'))
  const bare = world.path('fine', '.bare')
  world.git(world.dir, 'clone', '-q', '--bare', seed, bare)
  writeFileSync(world.path('fine', '.git'), 'gitdir: ./.bare\n')
  world.git(bare, 'worktree', 'add', '-q', world.path('fine', 'main'), 'main')
  for (const place of [world.path('fine'), bare, world.path('fine', 'main')]) {
    expect(await world.open(place)).toMatchObject({ bare: true, root: bare, commonDir: bare })
  }
})

test('worktrees that believe they are bare are an error whose hint puts it right (case 13)', async () => {
  const seed = world.repository('seed')
  const bare = world.path('broken.git')
  world.git(world.dir, 'clone', '-q', '--bare', seed, bare)
  world.git(bare, 'worktree', 'add', '-q', world.path('wt'), 'main')
  world.git(bare, 'config', 'extensions.worktreeConfig', 'true')
  for (const place of [bare, world.path('wt')]) expect((await failureOf(place)).code).toBe('bare-worktree')
  runHint((await failureOf(bare)).hint)
  expect((await world.open(world.path('wt'))).bare).toBe(true)
  expect(world.git(world.path('wt'), 'status', '--porcelain')).toBe('')
})

test('a repository of another user is refused with the command that trusts it (case 16)', async context => {
  if (process.getuid?.() !== 0) return context.skip()
  const dir = world.repository()
  const own = (path: string): void => {
    chownSync(path, 65534, 65534)
    for (const item of readdirSync(path, { withFileTypes: true })) {
      if (item.isDirectory()) own(join(path, item.name))
      else chownSync(join(path, item.name), 65534, 65534)
    }
  }
  own(dir)
  const before = world.git(world.dir, 'config', '--global', '--list')
  const failure = await failureOf(dir)
  expect(failure).toEqual({
    code: 'foreign-owner',
    message: `'${dir}' belongs to another user, and git does not trust it`,
    hint: `git config --global --add safe.directory ${dir}`,
  })
  expect(world.git(world.dir, 'config', '--global', '--list')).toBe(before)
  runHint(failure.hint)
  expect((await world.open(dir)).root).toBe(dir)
})

test('git that is missing or too old is an error of its own', async () => {
  const dir = world.repository()
  const open = (path: string) =>
    openRepository(dir, { env: { ...world.env, PATH: path }, hooksDir: world.hooksDir })
  await expect(open(world.path('no-bin'))).rejects.toMatchObject({ code: 'git-too-old' })
  world.write(world.path('bin/git'), '#!/bin/sh\necho git version 2.34.1\n', 0o755)
  await expect(open(`${world.path('bin')}:${world.env['PATH']}`)).rejects.toMatchObject({
    code: 'git-too-old',
    message: "git '2.34.1' is too old, '2.38' is needed",
  })
  expect([atLeast('2.38.0', '2.38'), atLeast('3.0', '2.38'), atLeast('2.9.5', '2.38')]).toEqual([
    true,
    true,
    false,
  ])
})

test('an odd place is one entry with its true name and branch (case 17)', async () => {
  const dir = world.repository(`my Répos & "q" %41 it's/re po`)
  const odd = world.path('wt\nbranch refs/heads/faked')
  world.git(dir, 'worktree', 'add', '-q', '-b', 'real', odd)
  const repo = await world.open(dir)
  expect(repo.root).toBe(realpathSync(dir))
  expect(await listWorktrees(repo)).toMatchObject({
    is: 'list',
    entries: [
      { path: dir, main: true, branch: 'main' },
      { path: odd, main: false, branch: 'real', locked: null, prunable: null },
    ],
  })
  expect((await world.open(odd)).root).toBe(dir)
})

test('a list that git cannot give is unknown, not empty', async () => {
  const dir = world.repository()
  const repo = await world.open(dir)
  rmSync(join(dir, '.git', 'HEAD'))
  expect((await listWorktrees(repo)).is).toBe('unknown')
})
