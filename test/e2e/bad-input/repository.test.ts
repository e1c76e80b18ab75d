// Bad input, where: a place without a repository, one without a commit, one of somebody else.

import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { expectNothingMade, expectRefusal, watchedWorld } from './refusal.ts'

const work = ['run', '--command', 'touch ran', '--name', 't', 'do it']

test('a folder without a repository is refused, with the command that makes one, and stays empty', async () => {
  const world = watchedWorld()
  const place = join(world.dir, 'plain')
  mkdirSync(place)
  await expectRefusal(
    world,
    work,
    {
      error: 'not-a-repository',
      message: `'${place}' is not in a git repository`,
      hint: `git -C ${place} init`,
    },
    { cwd: place },
  )
  expect(readdirSync(place)).toEqual([])
  expect(existsSync(`${place}.berths`)).toBe(false)
})

test('where Berth was never used there is nothing to compare or to remove, and nothing is recorded', async () => {
  const world = watchedWorld()
  const repo = world.repository()
  for (const args of [['reconcile'], ['reconcile', '--fix'], ['purge'], ['purge', '--yes']])
    expect(await world.berth(args, { cwd: repo })).toMatchObject({ code: 0, err: '' })
  expect(await world.json(['reconcile'], { cwd: repo })).toEqual({
    berth: 1,
    differences: [],
    finished: [],
  })
  expect(existsSync(world.state)).toBe(false)
})

test('a --repo that is no folder is refused, also by verbs that only read', async () => {
  const world = watchedWorld()
  const repo = world.repository()
  for (const place of [join(world.dir, 'nowhere'), join(repo, 'app.txt')]) {
    const refusal = {
      error: 'not-a-repository',
      message: `'${place}' is not a directory`,
      hint: `ls ${place.endsWith('nowhere') ? world.dir : repo}`,
    } as const
    await expectRefusal(world, [...work, '--repo', place], refusal)
    await expectRefusal(world, ['ls', '--repo', place], refusal)
  }
  await expectNothingMade(world, repo, world.state)
})

test('a repository without a commit is refused, with the command that makes the first', async () => {
  const world = watchedWorld()
  const repo = join(world.dir, 'repo')
  world.write(join(repo, 'notes.txt'), 'mine\n')
  world.git(repo, 'init', '-q')
  await expectRefusal(
    world,
    work,
    {
      error: 'no-commits',
      message: `the repository '${repo}' has no commit yet`,
      hint: `git -C ${repo} commit --allow-empty -m 'first commit'`,
    },
    { cwd: repo },
  )
  expect(readdirSync(repo).toSorted()).toEqual(['.git', 'notes.txt'])
  expect(existsSync(join(repo, '.git/worktrees'))).toBe(false)
  expect(existsSync(`${repo}.berths`)).toBe(false)
})

test('a repository of another user is refused, with the command that trusts it, and nobody trusts it for you', async () => {
  const world = watchedWorld()
  const repo = world.repository()
  const root = process.getuid?.() === 0
  if (root) execFileSync('chown', ['-R', '65534:65534', repo])
  const env = root ? {} : { GIT_TEST_ASSUME_DIFFERENT_OWNER: '1' }
  const config = readFileSync(join(world.home, '.gitconfig'), 'utf8')
  await expectRefusal(
    world,
    work,
    {
      error: 'foreign-owner',
      message: `'${repo}' belongs to another user, and git does not trust it`,
      hint: `git config --global --add safe.directory ${repo}`,
    },
    { cwd: repo, env },
  )
  expect(readFileSync(join(world.home, '.gitconfig'), 'utf8')).toBe(config)
  if (root) execFileSync('chown', ['-R', '0:0', repo])
  await expectNothingMade(world, repo, world.state)
})
