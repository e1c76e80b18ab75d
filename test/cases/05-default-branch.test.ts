// Case 05: the default branch is neither main nor master, and origin/HEAD is unset.

import { join } from 'node:path'
import { expect, test } from 'vitest'
import { makeWorld } from '../fixtures/berth.ts'

test('the base is the default branch of the remote, asked and not guessed, and the rule is recorded', async () => {
  const world = makeWorld()
  const seed = join(world.dir, 'seed')
  world.git(world.dir, 'init', '-q', '-b', 'trunk', seed)
  world.write(join(seed, 'app.txt'), '1\n')
  world.git(seed, 'add', '-A')
  world.git(seed, 'commit', '-qm', 'one')
  world.git(seed, 'branch', 'main')
  world.write(join(seed, 'app.txt'), '2\n')
  world.git(seed, 'commit', '-qam', 'two')
  world.git(world.dir, 'clone', '-q', '--bare', seed, join(world.dir, 'remote.git'))
  world.git(world.dir, 'clone', '-q', join(world.dir, 'remote.git'), join(world.dir, 'repo'))
  const repo = join(world.dir, 'repo')
  world.git(repo, 'branch', '-q', 'main', 'origin/main')
  world.git(repo, 'switch', '-qc', 'spike')
  world.git(repo, 'symbolic-ref', '-d', 'refs/remotes/origin/HEAD')
  world.git(repo, 'branch', '-qD', 'trunk')
  const base = world.git(repo, 'rev-parse', 'origin/trunk').trim()

  expect(
    await world.berth(['run', '--name', 't', '--command', 'echo x > x', '--repo', repo, 'go']),
  ).toMatchObject({ code: 0 })
  expect((await world.task(repo, 't')).base).toBe(base)
  const ready = (await world.facts(repo)).find(fact => fact.kind === 'workspace.ready')
  expect(ready).toMatchObject({ base, baseRule: 'ls-remote' })

  // Only the remote has it: landing makes it here, and moves neither the checkout nor the remote.
  expect(await world.berth(['land', 't', '--repo', repo])).toMatchObject({ code: 0 })
  expect(world.git(repo, 'show', 'trunk:x')).toBe('x\n')
  expect(world.git(repo, 'rev-parse', 'trunk^1', 'origin/trunk')).toBe(`${base}\n${base}\n`)
  expect(world.git(repo, 'symbolic-ref', '--short', 'HEAD')).toBe('spike\n')
})
