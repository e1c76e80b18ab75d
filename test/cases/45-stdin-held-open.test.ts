// Case 45: an agent that reads its input to the end.

import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { until, makeWorld } from '../fixtures/berth.ts'

test.each(['prompt', 'none'])(
  'an agent that reads stdin to the end finishes, started from a pipe that stays open (stdin: %s)',
  async stdin => {
    const world = makeWorld()
    const repo = world.repository()
    const agent = world.script(
      join(world.dir, 'agent.sh'),
      `#!/bin/sh\ncat > "${world.dir}/stdin.seen"; echo done > finished; touch "${world.dir}/finished"\n`,
    )
    world.write(join(world.dir, 'tasks.md'), `## t: title\ncommand: ${agent}\nstdin: ${stdin}\n\nthe brief\n`)
    // `input: undefined` would be /dev/null; this pipe is left open for as long as berth runs.
    const { child, ended } = world.start(['run', '-f', join(world.dir, 'tasks.md'), '--repo', repo])
    await until('the agent to finish', () => existsSync(join(world.dir, 'finished')), 10_000)
    expect(await ended).toMatchObject({ code: 0 })
    child.stdin?.end()
    const seen = world.git(world.dir, 'hash-object', 'stdin.seen').trim()
    const wanted = world.write(join(world.dir, 'wanted'), stdin === 'prompt' ? 'the brief\n' : '')
    expect(seen).toBe(world.git(world.dir, 'hash-object', wanted).trim())
  },
)
