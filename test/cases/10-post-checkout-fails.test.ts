// Case 10: a post-checkout hook exits non-zero although the worktree is complete.

import { join } from 'node:path'
import { expect, test } from 'vitest'
import { makeWorld } from '../fixtures/berth.ts'

test('the task goes on with a notice that carries the hook’s words, and the same start can be given again', async () => {
  const world = makeWorld()
  const repo = world.repository()
  const seen = join(world.dir, 'hook-ran')
  world.script(
    join(repo, '.git/hooks/post-checkout'),
    `#!/bin/sh\ntouch "${seen}"\necho "helper not installed" >&2\nexit 1\n`,
  )

  expect(
    await world.berth(['run', '--name', 't', '--command', 'echo x > x', '--repo', repo, 'go']),
  ).toMatchObject({ code: 0 })
  world.git(world.dir, 'hash-object', seen)
  const ready = (await world.facts(repo)).find(fact => fact.kind === 'workspace.ready')
  expect(JSON.stringify(ready?.['notices'])).toContain('helper not installed')
  const { out } = await world.berth(['log', '--kind', 'workspace.ready', '--repo', repo])
  expect(out).toContain('helper not installed')
  expect(await world.berth(['rm', 't', '--branch', '--discard', '--repo', repo])).toMatchObject({ code: 0 })
  expect(
    await world.berth(['run', '--name', 't', '--command', 'echo x > x', '--repo', repo, 'go']),
  ).toMatchObject({ code: 0 })
})
