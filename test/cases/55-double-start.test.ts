// Case 55: the same task is started several times in the same moment.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { type World, kill, makeWorld, processesIn, until } from '../fixtures/berth.ts'

test('of six starts in one moment one runs, and five say already running, since when and where', async () => {
  const world = makeWorld()
  const repo = world.repository()
  const agent = onceAgent(world)
  const six = await Promise.all(
    Array.from({ length: 6 }, () =>
      world.berth(['run', '--name', 'x', '--command', agent, '--repo', repo, 'once']),
    ),
  )
  expect(six.map(ran => ran.code).toSorted()).toEqual([0, 5, 5, 5, 5, 5])
  for (const ran of six.filter(one => one.code === 5))
    expect(ran.err).toMatch(/^berth: .*'x'.* already running/m)
  expect(started(world)).toHaveLength(1)
  expect(world.git(repo, 'worktree', 'list', '--porcelain').match(/^worktree /gm)).toHaveLength(2)
  expect(world.git(repo, 'for-each-ref', '--format=%(refname)', 'refs/heads/berth').trim()).toBe(
    'refs/heads/berth/x',
  )
})

test('retry pressed twice is one attempt', async () => {
  const world = makeWorld()
  const repo = world.repository('repo', { 'app.txt': 'one\n', 'berth.toml': '[recovery]\nattempts = 1\n' })
  const agent = world.script(
    join(world.dir, 'a.sh'),
    `#!/bin/sh\necho "$PWD" >> "${world.dir}/started.log"; [ "$BERTH_ATTEMPT" = 2 ] && sleep 5; exit 1\n`,
  )
  expect((await world.berth(['run', '--name', 'x', '--command', agent, '--repo', repo, 'once'])).code).toBe(1)
  const both = await Promise.all([
    world.berth(['retry', 'x', '--repo', repo]),
    world.berth(['retry', 'x', '--repo', repo]),
  ])
  expect(both.map(ran => ran.code).toSorted()).toEqual([0, 5])
  await until('the second attempt to end', async () => {
    const { status, attempt } = await world.task(repo, 'x')
    return status === 'failed' && attempt === 2
  })
  expect(started(world)).toHaveLength(2)
})

test('killed in the moment of the start, the agent is started once or its attempt is marked, never twice', async () => {
  const world = makeWorld()
  const repo = world.repository()
  const agent = onceAgent(world)
  const { child, ended } = world.start(['run', '--name', 'x', '--command', agent, '--repo', repo, 'once'])
  await until('the start to be claimed', async () =>
    (await world.facts(repo)).some(fact => fact.kind === 'run.claimed'),
  )
  child.kill('SIGKILL')
  await ended
  expect(await world.berth(['run', '--repo', repo])).toMatchObject({ code: 0 })
  const facts = await world.facts(repo)
  const begun = facts.filter(fact => fact.kind === 'run.started').map(fact => fact['run'])
  expect(new Set(begun).size).toBe(begun.length)
  expect(started(world).length).toBeLessThanOrEqual(facts.filter(fact => fact.kind === 'run.claimed').length)
  expect(world.git(repo, 'log', '--format=%s', 'berth/x').match(/once/g)).not.toBeNull()
})

test('two Berths with different state directories do not adopt each other’s worktrees and branches', async () => {
  const world = makeWorld()
  const repo = world.repository()
  const agent = onceAgent(world)
  const other = { BERTH_STATE_DIR: join(world.dir, 'other-state') }
  const [a, b] = await Promise.all([
    world.berth(['run', '--name', 'x', '--command', agent, '--repo', repo, 'once']),
    world.berth(['run', '--name', 'y', '--command', agent, '--repo', repo, 'once'], { env: other }),
  ])
  expect([a.code, b.code]).toEqual([0, 0])
  expect(
    (await world.json<{ tasks: { task: string }[] }>(['ls', '--all', '--repo', repo])).tasks.map(
      task => task.task,
    ),
  ).toEqual(['x'])
  const refused = await world.berth(['rm', 'y', '--discard', '--repo', repo])
  expect(refused.code).toBe(2)
  await world.berth(['reconcile', '--fix', '--repo', repo])
  expect(world.git(repo, 'worktree', 'list', '--porcelain').match(/^worktree /gm)).toHaveLength(3)
  await world.berth(['daemon', 'stop', '--stop-runs'], { env: other })
  for (const { pid, command } of processesIn(world.dir)) if (command.includes('other-state')) kill(pid)
})

const onceAgent = (world: World): string =>
  world.script(
    join(world.dir, 'once.sh'),
    `#!/bin/sh\necho "$$ $PWD" >> "${world.dir}/started.log"; sleep 1; echo done >> app.txt; git commit -qam "once"\n`,
  )

const started = (world: World): string[] =>
  readFileSync(join(world.dir, 'started.log'), 'utf8').trim().split('\n')
