// Case 09: a branch cut from origin/main pushes to main.

import { join } from 'node:path'
import { expect, test } from 'vitest'
import { makeWorld } from '../fixtures/berth.ts'

test.each(['true', 'git branch -m renamed'])(
  'a bare push in the worktree does not move the remote’s main (after: %s)',
  async first => {
    const world = makeWorld()
    const seed = world.repository('seed')
    const remote = join(world.dir, 'remote.git')
    world.git(world.dir, 'clone', '-q', '--bare', seed, remote)
    const repo = join(world.dir, 'repo')
    world.git(world.dir, 'clone', '-q', remote, repo)
    world.git(repo, 'config', '--global', 'push.default', 'upstream')
    const main = world.git(remote, 'rev-parse', 'main')

    const agent = world.script(
      join(world.dir, 'agent.sh'),
      `#!/bin/sh\n${first}\necho x > x.txt; git add x.txt; git commit -qm x\ngit rev-parse '@{u}' && touch "${world.dir}/has-upstream"\ngit push; exit 0\n`,
    )
    await world.berth(['run', '--name', 't', '--command', agent, '--repo', repo, 'go'])
    expect(world.git(remote, 'rev-parse', 'main')).toBe(main)
    expect(() => world.git(world.dir, 'hash-object', 'has-upstream')).toThrow()
  },
)
