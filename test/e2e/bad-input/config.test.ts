// Bad input, the configuration: file, line and the nearest valid key, before anything is made.

import { join } from 'node:path'
import { expect, test } from 'vitest'
import { expectNothingMade, expectRefusal, watchedWorld } from './refusal.ts'

type Mistake = { message: string; line: number }

const edit = (file: string, line: number): string => `\${EDITOR:-vi} +${line} ${file}`

const texts: [string, string, Mistake][] = [
  [
    'a key that is near a valid one',
    'target = "main"\n\nsetpu = ["npm ci"]\n',
    { message: "line 3: unknown key 'setpu'; did you mean 'setup'?", line: 3 },
  ],
  [
    'a key in a table',
    'target = "main"\n\n[limits]\njob = 3\n',
    { message: "line 4: unknown key 'job' in 'limits'; did you mean 'jobs'?", line: 4 },
  ],
  [
    'a key that belongs into a table',
    'attempts = 3\n',
    { message: "line 1: unknown key 'attempts'; it belongs into '[recovery]'", line: 1 },
  ],
  [
    'a value of the wrong kind',
    '# landing\nland = 3\n',
    { message: "line 2: 'land' must be 'auto', 'ask', 'never'", line: 2 },
  ],
  [
    'a folder outside the repository',
    'land = "ask"\ncwd = "../other"\n',
    { message: "line 2: 'cwd' must be a folder inside the repository", line: 2 },
  ],
  [
    'an engine nobody knows',
    'land = "ask"\n\nengine = "cluade"\n',
    { message: "line 3: unknown engine 'cluade'; did you mean 'claude'?", line: 3 },
  ],
  [
    'text that is no TOML',
    'target = "main"\ngates = ["true"\nland = "ask"\n',
    { message: 'line 3, column 1: expected comma or end of structure', line: 3 },
  ],
]

test.each(texts)('%s is refused with its line', async (_what, text, { message, line }) => {
  const world = watchedWorld()
  const repo = world.repository()
  const file = world.write(join(repo, 'berth.toml'), text)
  const refusal = {
    error: message.includes('unknown engine') ? 'unknown-engine' : 'config',
    message: `'${file}', ${message}`,
    hint: edit(file, line),
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
    {
      error: 'config',
      message: `'${file}', line 2: unknown key 'jbos' in 'limits'; did you mean 'jobs'?`,
      hint: edit(file, 2),
    },
    { cwd: repo },
  )
  await expectNothingMade(world, repo, world.state)
})

test('a gate and an engine whose programs are missing are refused, though consent is given', async () => {
  const world = watchedWorld()
  const repo = world.repository()
  const file = join(repo, 'berth.toml')
  world.write(file, 'gates = [\n  "true",\n  "no-such-program --all",\n]\n')
  await expectRefusal(
    world,
    ['run', '--trust', '--command', 'true', 'x'],
    {
      error: 'gate-missing',
      message: `'${file}', line 1: the gate 'no-such-program --all' needs 'no-such-program', which is not installed`,
      hint: edit(file, 1),
    },
    { cwd: repo },
  )
  world.write(file, '[engines.mine]\ntype = "command"\nargv = ["no-such-agent", "--go"]\n')
  await expectRefusal(
    world,
    ['run', '--trust', '--engine', 'mine', 'x'],
    {
      error: 'engine-missing',
      message: `'${file}', line 3: 'no-such-agent' is not installed`,
      hint: edit(file, 3),
    },
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
