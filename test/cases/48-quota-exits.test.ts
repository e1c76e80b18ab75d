// Case 48: usage limit, overload and an expired login.

import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { type World, makeWorld, until } from '../fixtures/berth.ts'

const calls = (world: World, name: string): number =>
  existsSync(join(world.dir, name))
    ? readFileSync(join(world.dir, name), 'utf8').trim().split('\n').length
    : 0

test('a limit holds the engine for all five tasks: one call, status retrying until the named time', async () => {
  const world = makeWorld()
  const repo = world.repository()
  const agent = world.script(
    join(world.dir, 'a.sh'),
    `#!/bin/sh\necho x >> "${world.dir}/calls"; echo half >> app.txt; echo "You have hit your session limit. Resets 7:10pm (UTC)" >&2; exit 1\n`,
  )
  const { child, ended } = world.start([
    'run',
    '--command',
    agent,
    '--jobs',
    '1',
    '--repo',
    repo,
    'one',
    'two',
    'three',
    'four',
    'five',
  ])
  const held = await until('a task to wait for quota', async () => {
    const { tasks } = await world.json<{
      tasks: { status: string; reasonCode: string; waitsFor: string; until: string; worktree: string }[]
    }>(['ls', '--repo', repo])
    const waiting = tasks.filter(task => task.waitsFor === 'quota')
    return waiting.length === 5 && waiting
  })
  const first = held.find(task => task.status === 'retrying')
  expect(first).toMatchObject({ reasonCode: 'quota' })
  expect(first?.until).toMatch(/T19:10:00/)
  expect(readFileSync(join(first?.worktree ?? '', 'app.txt'), 'utf8')).toBe('one\nhalf\n')
  expect(calls(world, 'calls')).toBe(1)
  // the state survives a restart
  child.kill('SIGKILL')
  await ended
  const after = await world.json<{ tasks: { waitsFor: string }[] }>(['ls', '--repo', repo])
  expect(after.tasks.every(task => task.waitsFor === 'quota')).toBe(true)
  expect(calls(world, 'calls')).toBe(1)
})

test('a limit said with exit 0 in a structured result is waited out, and the task is then done', async () => {
  const world = makeWorld()
  const repo = world.repository()
  const agent = world.script(
    join(world.dir, 'a.sh'),
    `#!/bin/sh
[ -e "${world.dir}/until" ] || echo $(($(date +%s) + 4)) > "${world.dir}/until"
echo x >> "${world.dir}/calls"
if [ "$(date +%s)" -lt "$(cat "${world.dir}/until")" ]; then echo "{\\"type\\":\\"result\\",\\"is_error\\":true,\\"result\\":\\"Usage limit reached|$(cat "${world.dir}/until")\\"}"; exit 0; fi
echo ok >> app.txt; git commit -qam "after the limit"
`,
  )
  expect(await world.berth(['run', '--name', 't', '--command', agent, '--repo', repo, 'go'])).toMatchObject({
    code: 0,
  })
  expect(await world.task(repo, 't')).toMatchObject({ status: 'ready', attempt: 2 })
  expect(calls(world, 'calls')).toBe(2)
})

test('an overloaded service is tried again with growing pauses, each attempt on the timeline', async () => {
  const world = makeWorld()
  const repo = world.repository()
  const agent = world.script(
    join(world.dir, 'a.sh'),
    `#!/bin/sh\necho x >> "${world.dir}/calls"; if [ "$(wc -l < "${world.dir}/calls")" -lt 3 ]; then echo '{"type":"error","status":529,"message":"overloaded"}'; exit 1; fi\necho ok >> app.txt; git commit -qam "third try"\n`,
  )
  expect(await world.berth(['run', '--name', 't', '--command', agent, '--repo', repo, 'go'])).toMatchObject({
    code: 0,
  })
  const starts = (await world.facts(repo))
    .filter(fact => fact.kind === 'run.started')
    .map(fact => Date.parse(String(fact['at'])))
  expect(starts).toHaveLength(3)
  expect((starts[2] ?? 0) - (starts[1] ?? 0)).toBeGreaterThan((starts[1] ?? 0) - (starts[0] ?? 0))
})

test('an expired login needs a person, and is not tried again', async () => {
  const world = makeWorld()
  const repo = world.repository()
  const agent = world.script(
    join(world.dir, 'a.sh'),
    `#!/bin/sh\necho x >> "${world.dir}/calls"; echo "401 invalid authentication credentials, please log in again" >&2; exit 1\n`,
  )
  expect(await world.berth(['run', '--name', 't', '--command', agent, '--repo', repo, 'go'])).toMatchObject({
    code: 3,
  })
  expect(await world.items(repo)).toMatchObject([{ kind: 'signed-out', task: 't' }])
  expect(calls(world, 'calls')).toBe(1)
})

test('text that an agent merely writes about is no limit', async () => {
  const world = makeWorld()
  const repo = world.repository()
  const agent = world.script(
    join(world.dir, 'a.sh'),
    `#!/bin/sh\necho 'Added the message "You have hit your session limit" to the docs'; echo doc >> app.txt; git commit -qam doc\n`,
  )
  expect(await world.berth(['run', '--name', 't', '--command', agent, '--repo', repo, 'go'])).toMatchObject({
    code: 0,
  })
  expect(await world.task(repo, 't')).toMatchObject({ status: 'ready', attempt: 1 })
})
