// Bad input, what was typed: verbs, flags, engines, names, revisions and gates that are not there.

import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { main } from '../../fixtures/berth.ts'
import { expectNothingMade, expectRefusal, type Refusal, watchedWorld } from './refusal.ts'

const shape = 'use a-z, 0-9, dot, underscore and dash, beginning with a letter or digit'
const noName = (name: string, why: string): string => `'${name}' cannot be the name of a task: ${why}`
const long = 'a'.repeat(49)

/** Without `--command`: the arguments say all. */
const typed: [string, string[], Refusal][] = [
  ['an unknown verb', ['lss'], { error: 'unknown-verb', message: "unknown verb 'lss'", hint: 'berth ls' }],
  [
    'an unknown verb that is near none',
    ['frobnicate'],
    { error: 'unknown-verb', message: "unknown verb 'frobnicate'", hint: 'berth --help' },
  ],
  [
    'an unknown flag',
    ['run', '--engien', 'claude', 'x'],
    {
      error: 'unknown-flag',
      message: "unknown flag '--engien' of 'berth run'",
      hint: 'berth run --engine claude x',
    },
  ],
  [
    'an unknown flag of a reading verb',
    ['ls', '--al'],
    { error: 'unknown-flag', message: "unknown flag '--al' of 'berth ls'", hint: 'berth ls --all' },
  ],
  [
    'an unknown engine',
    ['run', '--engine', 'cluade', 'x'],
    {
      error: 'unknown-engine',
      message: "unknown engine 'cluade'; did you mean 'claude'?",
      hint: 'berth doctor',
    },
  ],
  [
    'an unknown engine that is near none',
    ['run', '--engine', 'zzz', 'x'],
    {
      error: 'unknown-engine',
      message: "unknown engine 'zzz'; known engines: command claude codex gemini opencode",
      hint: 'berth doctor',
    },
  ],
  [
    'an engine that is not installed',
    ['run', '--engine', 'codex', 'x'],
    {
      error: 'engine-missing',
      message: "'codex' is not installed (install it: npm install -g @openai/codex)",
      hint: 'npm install -g @openai/codex',
    },
  ],
  [
    'a name with a space',
    ['run', '--name', 'Fix It', '--command', 'true', 'x'],
    { error: 'bad-name', message: noName('Fix It', shape), hint: 'berth run --name fix-it --command true x' },
  ],
  [
    'a name that leads out of the folder',
    ['run', '--name', '../up', '--command', 'true', 'x'],
    { error: 'bad-name', message: noName('../up', shape), hint: 'berth run --name up --command true x' },
  ],
  [
    'a name that Windows keeps for a device',
    ['run', '--name', 'con', '--command', 'true', 'x'],
    {
      error: 'bad-name',
      message: noName('con', 'Windows reserves this name for a device'),
      hint: 'berth run --name task-con --command true x',
    },
  ],
  [
    'a name that git refuses',
    ['run', '--name', 'fix.lock', '--command', 'true', 'x'],
    {
      error: 'bad-name',
      message: noName('fix.lock', "'..', a dot at the end and '.lock' at the end are not allowed"),
      hint: 'berth run --name fix-lock --command true x',
    },
  ],
  [
    'a name that is too long',
    ['run', '--name', long, '--command', 'true', 'x'],
    {
      error: 'bad-name',
      message: noName(long, 'use at most 48 characters'),
      hint: `berth run --name ${long.slice(1)} --command true x`,
    },
  ],
  [
    'a gate whose program is missing',
    ['run', '--gate', 'no-such-program --all', '--command', 'true', 'x'],
    {
      error: 'gate-missing',
      message: "the gate 'no-such-program --all' needs 'no-such-program', which is not installed",
      hint: 'berth run --gate COMMAND "BRIEF"',
    },
  ],
  ...['/etc/passwd', '../other/file', 'src/../..', 'C:\\Windows'].map((path): [string, string[], Refusal] => [
    `a path to touch that lies outside: ${path}`,
    ['run', '--touches', path, '--command', 'true', 'x'],
    {
      error: 'usage',
      message: `'--touches' must be paths or globs inside the repository, with commas between them, not '${path}'`,
      hint: 'berth run --help',
    },
  ]),
  [
    'a task that waits for one that nobody knows',
    ['run', '--after', 'nope', '--command', 'true', 'x'],
    { error: 'not-found', message: "a task waits for 'nope', which is no task", hint: 'berth ls --all' },
  ],
  [
    'a task that waits for itself',
    ['run', '--name', 'a', '--after', 'a', '--command', 'true', 'x'],
    {
      error: 'cycle',
      message: "tasks wait for each other: 'a -> a'",
      hint: 'berth ls --all',
    },
  ],
  [
    'an empty brief',
    ['run', '--command', 'true', ' \n'],
    { error: 'empty-brief', message: 'the brief is empty', hint: 'berth run --help' },
  ],
]

test.each(typed)('%s is refused, and nothing is made', async (_what, args, refusal) => {
  const world = watchedWorld()
  const repo = world.repository()
  await expectRefusal(world, args, refusal, { cwd: repo, env: { PATH: '/usr/bin:/bin' } })
  await expectNothingMade(world, repo, world.state)
})

test('a revision that is not there is refused before the task is recorded', async () => {
  const world = watchedWorld()
  const repo = world.repository()
  await expectRefusal(
    world,
    ['run', '--base', 'nope', '--command', 'true', 'x'],
    {
      error: 'not-found',
      message: "there is no revision 'nope'",
      hint: `git -C ${repo} log --oneline --all`,
    },
    { cwd: repo },
  )
  await expectNothingMade(world, repo, world.state)
})

test('a refused task takes the others of its call with it, and what was there before stays', async () => {
  const world = watchedWorld()
  const repo = world.repository()
  const before = ['run', '--name', 'a', '--command', 'echo x > x.txt', '--repo', repo, 'first']
  expect(await world.berth(before)).toMatchObject({ code: 0 })
  const told = await world.json(['ls', '--all', '--repo', repo])
  await expectRefusal(world, ['run', '--name', 'a', '--command', 'true', '--repo', repo, 'another brief'], {
    error: 'name-taken',
    message:
      "a task 'a' with another brief, another command is there already; remove it, or give this one another name",
    hint: `berth show a --repo ${repo}`,
  })
  const file = world.write(join(world.dir, 'two.md'), '## b: t\n\nx\n\n## a: t\n\ny\n')
  expect(await world.berth(['run', '-f', file, '--command', 'true', '--repo', repo])).toMatchObject({
    code: 5,
  })
  const after = await world.json(['ls', '--all', '--repo', repo])
  expect(after).toEqual(told)
})

test('nobody reads stdout any more: a reading verb ends without a word, and without a process', async () => {
  const world = watchedWorld()
  const repo = world.repository()
  expect(await world.berth(['run', '--command', 'echo x > x.txt', '--repo', repo, 'x'])).toMatchObject({
    code: 0,
  })
  for (const args of [['log'], ['ls', '--json'], ['log', '--follow']]) {
    const child = spawn(process.execPath, [main, ...args, '--repo', repo], {
      env: world.env,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    child.stdout.destroy()
    let said = ''
    child.stderr.setEncoding('utf8').on('data', (text: string) => (said += text))
    expect(await new Promise(resolve => child.on('close', resolve))).toBe(0)
    expect(said).toBe('')
  }
})
