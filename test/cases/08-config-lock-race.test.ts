// Case 08: many worktrees made at once, while another program holds git's config lock.

import { existsSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { type TaskView } from '../../src/core/api.ts'
import { type World, makeWorld } from '../fixtures/berth.ts'

const count = 12

test('twelve tasks from two processes get twelve worktrees and branches while a foreign lock comes and goes', async () => {
  const world = makeWorld()
  const repo = cloned(world)
  const lock = join(repo, '.git/config.lock')
  writeFileSync(lock, '')
  const half = (n: number) => Array.from({ length: count / 2 }, (_, i) => `task ${n}${i}`)
  const run = (n: number) =>
    world.berth(['run', '--command', 'echo x > x', '--jobs', String(count), '--repo', repo, ...half(n)])
  const both = Promise.all([run(1), run(2)])
  const gone = new Promise(resolve => setTimeout(() => resolve(rmSync(lock)), 3000))
  expect((await both).map(ran => ran.code)).toEqual([0, 0])
  await gone

  const { tasks } = await world.json<{ tasks: TaskView[] }>(['ls', '--all', '--repo', repo])
  expect(tasks.filter(task => task.status === 'ready')).toHaveLength(count)
  expect(new Set(tasks.map(task => task.worktree)).size).toBe(count)
  for (const task of tasks) expect(existsSync(join(task.worktree ?? '', 'x'))).toBe(true)
  expect(
    world.git(repo, 'for-each-ref', '--format=%(refname)', 'refs/heads/berth').trim().split('\n'),
  ).toHaveLength(count)
  expect(world.git(repo, 'worktree', 'list', '--porcelain').match(/^worktree /gm)).toHaveLength(count + 1)
})

function cloned(world: World): string {
  const seed = world.repository('seed')
  world.git(world.dir, 'clone', '-q', '--bare', seed, join(world.dir, 'remote.git'))
  world.git(world.dir, 'clone', '-q', join(world.dir, 'remote.git'), join(world.dir, 'repo'))
  return join(world.dir, 'repo')
}
