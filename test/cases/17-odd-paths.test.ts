// Case 17: spaces, quotes, a newline and non-ASCII in paths.

import { join } from 'node:path'
import { expect, test } from 'vitest'
import { makeWorld } from '../fixtures/berth.ts'

test('everything works from a repository with an odd path beside a worktree with a newline in its name', async () => {
  const world = makeWorld()
  const odd = `my Répos & "q" %41 it's`
  const repo = world.repository(`${odd}/re po`)
  const other = join(world.dir, odd, 'wt\nbranch refs/heads/faked')
  world.git(repo, 'worktree', 'add', '-q', '-b', 'real', other)
  const files = ['d ir/naïve €.txt', 'a -> b.txt', '"quoted".txt']
  const agent = world.script(
    join(world.dir, 'agent.sh'),
    `#!/bin/sh\nmkdir 'd ir'; printf x > 'd ir/naïve €.txt'; printf y > 'a -> b.txt'; printf z > '"quoted".txt'\n`,
  )

  expect(await world.berth(['run', '--name', 't', '--command', agent, 'go'], { cwd: repo })).toMatchObject({
    code: 0,
  })
  const task = await world.task(repo, 't')
  expect(task).toMatchObject({
    status: 'ready',
    worktree: join(`${repo}.berths`, 't'),
    changes: { files: 3 },
  })
  const names = (await world.berth(['diff', 't', '--name-only', '--repo', repo])).out
  for (const file of files) expect(names.split('\n')).toContain(file)
  expect((await world.berth(['log', '--format', 'md', '--repo', repo])).code).toBe(0)
  expect(await world.berth(['rm', 't', '--repo', repo])).toMatchObject({ code: 0 })
  expect(
    world
      .git(repo, 'worktree', 'list', '--porcelain', '-z')
      .split('\0')
      .filter(line => line.startsWith('branch ')),
  ).toEqual(['branch refs/heads/main', 'branch refs/heads/real'])
})

test('differences are asked for without a daemon, before there is one', async () => {
  const world = makeWorld()
  const repo = world.repository('re po')
  await world.berth(['run', '--name', 't', '--command', 'echo x > x.txt', '--repo', repo, 'go'])
  expect(await world.berth(['reconcile', '--repo', repo])).toMatchObject({ code: 0, err: '' })
})
