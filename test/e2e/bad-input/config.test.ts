// Bad input, the configuration: file, line and the nearest valid key, before anything is made.

import { join } from 'node:path'
import { expect, test } from 'vitest'
import { expectNothingMade, expectRefusal, watchedWorld } from './refusal.ts'

type Mistake = { message: string; hint?: string }

const texts: [string, string, Mistake][] = [
  [
    'a key that is near a valid one',
    'target = "main"\n\nsetpu = ["npm ci"]\n',
    { message: "line 3: unknown key 'setpu'", hint: 'setup = ...' },
  ],
  [
    'a key in a table',
    'target = "main"\n\n[limits]\njob = 3\n',
    { message: "line 4: unknown key 'job' in 'limits'", hint: 'jobs = ...' },
  ],
  [
    'a key that belongs into a table',
    'attempts = 3\n',
    { message: "line 1: unknown key 'attempts'", hint: '[recovery] attempts = ...' },
  ],
  [
    'a value of the wrong kind',
    '# landing\nland = 3\n',
    { message: "line 2: 'land' must be 'auto', 'ask', 'never'" },
  ],
  [
    'text that is no TOML',
    'target = "main"\ngates = ["true"\nland = "ask"\n',
    { message: 'line 3, column 1: expected comma or end of structure' },
  ],
]

test.each(texts)('%s is refused with its line', async (_what, text, { message, hint }) => {
  const world = watchedWorld()
  const repo = world.repository()
  const file = world.write(join(repo, 'berth.toml'), text)
  const refusal = {
    error: 'config',
    message: `'${file}', ${message}`,
    ...(hint !== undefined && { hint }),
  } as const
  await expectRefusal(world, ['run', '--command', 'true', 'x'], refusal, { cwd: repo })
  await expectRefusal(world, ['config'], refusal, { cwd: repo })
  await expectNothingMade(world, repo, world.state)
})

test("a mistake in the user's own configuration names that file", async () => {
  const world = watchedWorld()
  const repo = world.repository()
  const file = world.write(join(world.home, '.config/berth/config.toml'), '[limits]\njbos = 2\n')
  await expectRefusal(
    world,
    ['run', '--command', 'true', 'x'],
    { error: 'config', message: `'${file}', line 2: unknown key 'jbos' in 'limits'`, hint: 'jobs = ...' },
    { cwd: repo },
  )
  await expectNothingMade(world, repo, world.state)
})

test('a gate and an engine whose programs are missing are refused, though consent is given', async () => {
  const world = watchedWorld()
  const repo = world.repository()
  world.write(join(repo, 'berth.toml'), 'gates = ["no-such-program --all"]\n')
  await expectRefusal(
    world,
    ['run', '--trust', '--command', 'true', 'x'],
    {
      error: 'gate-missing',
      message: "the gate 'no-such-program --all' needs 'no-such-program', which is not installed",
      hint: "install 'no-such-program', or change the gate",
    },
    { cwd: repo },
  )
  world.write(
    join(repo, 'berth.toml'),
    '[engines.mine]\ntype = "command"\nargv = ["no-such-agent", "--go"]\n',
  )
  await expectRefusal(
    world,
    ['run', '--trust', '--engine', 'mine', 'x'],
    { error: 'engine-missing', message: "'no-such-agent' is not installed" },
    { cwd: repo },
  )
  await expectNothingMade(world, repo, world.state)
})

test('a mistake made while a task rests holds what is new, and loses nothing of what is there', async () => {
  const world = watchedWorld()
  const repo = world.repository()
  const args = ['run', '--name', 'a', '--command', 'echo work > w.txt', '--repo', repo, 'x']
  expect(await world.berth(args)).toMatchObject({ code: 0 })
  world.write(join(repo, 'berth.toml'), 'nonsense = 1\n')
  expect(await world.berth(['run', '--command', 'true', '--repo', repo, 'y'])).toMatchObject({ code: 2 })
  expect(await world.task(repo, 'a')).toMatchObject({ status: 'ready' })
  expect(world.git(repo, 'show', 'berth/a:w.txt')).toBe('work\n')
})
