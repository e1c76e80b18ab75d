// Case 19: the making of a worktree was killed half way.

import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { type World, kill, makeWorld, processesIn, until } from '../fixtures/berth.ts'

test('a creation that was cut off is named so, and starting again clears it and succeeds', async () => {
  const world = makeWorld()
  const repo = await cutOff(world)
  const task = await world.task(repo, 'cut')
  expect(task.reasonCode).toBe('cut-off')
  expect(await world.berth(['run', '--repo', repo])).toMatchObject({ code: 0 })
  const after = await world.task(repo, 'cut')
  expect(after).toMatchObject({ status: 'ready', changes: { files: 1 } })
  expect(world.git(after.worktree ?? '', 'status', '--porcelain')).toBe('')
})

test('removing it takes away folder, entry and branch, and saves no phantom deletions', async () => {
  const world = makeWorld()
  const repo = await cutOff(world)
  expect(await world.berth(['rm', 'cut', '--branch', '--repo', repo])).toMatchObject({ code: 0 })
  expect(existsSync(join(`${repo}.berths`, 'cut'))).toBe(false)
  expect(world.git(repo, 'worktree', 'list', '--porcelain').match(/^worktree /gm)).toHaveLength(1)
  expect(world.git(repo, 'for-each-ref', 'refs/heads/berth', 'refs/berth')).toBe('')
})

/** Kills all of Berth and git while a slow filter holds the checkout up. */
async function cutOff(world: World): Promise<string> {
  const repo = world.repository('repo', {
    '.gitattributes': '*.slow filter=slow\n',
    'a.slow': '1\n',
    'b.slow': '2\n',
    'c.slow': '3\n',
  })
  const held = join(world.dir, 'held')
  world.git(repo, 'config', 'filter.slow.clean', 'cat')
  world.git(repo, 'config', 'filter.slow.smudge', `touch '${held}'; sleep 300; cat`)
  const { child, ended } = world.start([
    'run',
    '--name',
    'cut',
    '--command',
    'echo x > x',
    '--repo',
    repo,
    'go',
  ])
  await until('the checkout to be under way', () => existsSync(held))
  child.kill('SIGKILL')
  await ended
  await until('all of it to end', () => {
    const left = processesIn(world.dir)
    for (const { pid } of left) kill(pid)
    return left.length === 0
  })
  world.git(repo, 'config', 'filter.slow.smudge', 'cat')
  return repo
}
