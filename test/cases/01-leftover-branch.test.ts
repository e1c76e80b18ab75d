// Case 01: the wanted branch name is already there.

import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { makeWorld } from '../fixtures/berth.ts'

test('a branch left by an earlier run is taken up with its commit, and the timeline says so', async () => {
  const world = makeWorld()
  const repo = world.repository()
  world.git(repo, 'switch', '-qc', 'berth/login')
  world.write(join(repo, 'kept.txt'), 'kept\n')
  world.git(repo, 'add', '-A')
  world.git(repo, 'commit', '-qm', 'work of an earlier run')
  const keep = world.git(repo, 'rev-parse', 'HEAD').trim()
  world.git(repo, 'switch', '-q', 'main')

  const ran = await world.berth([
    'run',
    '--name',
    'login',
    '--command',
    'echo more > more.txt',
    '--repo',
    repo,
    'go on',
  ])
  expect(ran).toMatchObject({ code: 0 })
  expect(world.git(repo, 'branch', '--contains', keep)).toContain('berth/')
  const ready = (await world.facts(repo)).find(fact => fact.kind === 'workspace.ready')
  expect(ready).toMatchObject({ branch: 'berth/login', tookUp: 1 })
  const { out } = await world.berth(['log', '--kind', 'workspace.ready', '--repo', repo])
  expect(out).toContain('the branch was there, and its commit is kept')
})

test('a branch that is checked out elsewhere is refused with its path, and nothing is left behind', async () => {
  const world = makeWorld()
  const repo = world.repository()
  const other = join(world.dir, 'other-wt')
  world.git(repo, 'worktree', 'add', '-q', '-b', 'berth/search', other)
  world.write(join(other, 'app.txt'), 'one\nhalf\n')

  const ran = await world.berth(['run', '--name', 'search', '--command', 'true', '--repo', repo, 'look'])
  expect(ran.code).not.toBe(0)
  expect(ran.err).toContain(other)
  expect(readFileSync(join(other, 'app.txt'), 'utf8')).toBe('one\nhalf\n')
  expect(world.git(repo, 'worktree', 'list', '--porcelain').match(/^worktree /gm)).toHaveLength(2)
  expect(existsSync(join(`${repo}.berths`, 'search'))).toBe(false)

  // The task goes, and the branch that was never its own stays, also when nobody has it checked out any more.
  world.git(repo, 'worktree', 'remove', '--force', other)
  const removed = await world.berth(['rm', 'search', '--branch', '--discard', '--repo', repo])
  expect(removed).toMatchObject({ code: 0, out: "removed 'search'\n" })
  world.git(repo, 'rev-parse', 'refs/heads/berth/search')
})

test('a folder that is in the way is an answer of its own, and is left as it is', async () => {
  const world = makeWorld()
  const repo = world.repository()
  world.write(join(`${repo}.berths`, 'docs', 'mine.txt'), 'mine\n')
  const ran = await world.berth([
    'run',
    '--name',
    'docs',
    '--command',
    'echo x > x.txt',
    '--repo',
    repo,
    'write',
  ])
  const mine = (): string => readFileSync(join(`${repo}.berths`, 'docs', 'mine.txt'), 'utf8')
  expect(mine()).toBe('mine\n')
  expect(ran.code).toBe(1)
  expect(ran.err).toContain(`'${join(`${repo}.berths`, 'docs')}' is no worktree that git knows; move it away`)
  expect(await world.berth(['rm', 'docs', '--repo', repo])).toMatchObject({
    code: 0,
    out: "removed 'docs'\n",
  })
  expect(mine()).toBe('mine\n')
})
