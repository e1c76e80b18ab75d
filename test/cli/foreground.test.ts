// `berth run` in the foreground: consent on a terminal, going on with what is open, and the ways of leaving it.

import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readlinkSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { type TaskView } from '../../src/core/api.ts'
import { main, makeWorld, processesIn, until, type World } from '../fixtures/berth.ts'

type Pty = typeof import('@lydell/node-pty')

/** Answers the question when it comes; gives what was seen and the exit code. */
async function answering(
  world: World,
  args: string[],
  answer: string,
): Promise<{ seen: string; code: number }> {
  const { spawn } = createRequire(import.meta.url)('@lydell/node-pty') as Pty
  const terminal = spawn(process.execPath, [main, ...args], {
    cols: 100,
    env: { ...world.env, TERM: 'dumb' },
  })
  let seen = ''
  let asked = false
  terminal.onData(text => {
    seen += text
    if (!asked && seen.includes('[y/N] ')) {
      asked = true
      terminal.write(`${answer}\r`)
    }
  })
  return new Promise(resolve => terminal.onExit(({ exitCode }) => resolve({ seen, code: exitCode })))
}

test('on a terminal consent is asked once, and not again for the same commands', async () => {
  const world = makeWorld()
  const repo = world.repository('repo', { 'a.txt': 'a\n', 'berth.toml': 'setup = ["touch .ready"]\n' })
  const args = ['run', '--command', 'echo x > x.txt', '--repo', repo, 'x']
  const no = await answering(world, args, 'n')
  expect(no.code).toBe(2)
  expect(no.seen).toContain('  setup: touch .ready\r\n')
  expect(no.seen).toContain(
    `berth: you did not agree: nothing was started\r\nhint: berth config --repo ${repo}\r\n`,
  )
  expect((await answering(world, args, 'y')).code).toBe(0)
  expect(await world.berth(['run', '--command', 'echo y > y.txt', '--repo', repo, 'y'])).toMatchObject({
    code: 0,
  })
})

test('elsewhere the hint is the same call with the consent in it, and works when it is typed', async () => {
  const world = makeWorld()
  const repo = world.repository()
  const file = world.write(join(world.dir, 'my tasks.md'), '## one: t\ncommand: echo 1 > 1.txt\n\nx\n')
  const calls = [
    ['run', '--command', "echo 'it''s' > x.txt", '--repo', repo, '--', '- two\nlines of $HOME'],
    ['run', '-f', file, '--repo', repo, '--json'],
  ]
  for (const [at, args] of calls.entries()) {
    world.write(join(repo, 'berth.toml'), `setup = ["true ${at}"]\n`)
    const refused = await world.berth(args)
    expect(refused.code).toBe(2)
    const error = refused.out === '' ? undefined : (JSON.parse(refused.out) as { error: { hint: string } })
    const hint = error?.error.hint ?? refused.err.slice(refused.err.indexOf('hint: ') + 'hint: '.length)
    expect(await world.type(hint)).toMatchObject({ code: 0 })
  }
  const tasks = await Promise.all(['two', 'one'].map(name => world.task(repo, name)))
  expect(tasks.map(({ status }) => status)).toEqual(['ready', 'ready'])
})

test('run with --trust and without a task gives the consent that what is open waits for', async () => {
  const world = makeWorld()
  const repo = world.repository()
  const args = ['run', '--name', 'a', '--command', 'test -e gone || exit 1', '--repo', repo, 'x']
  expect(await world.berth(args)).toMatchObject({ code: 1 })
  world.write(join(repo, 'berth.toml'), 'gates = ["true"]\n')
  await world.berth(['retry', 'a', '--repo', repo])
  await until('it to wait', async () => (await world.task(repo, 'a')).reasonCode === 'consent')
  expect(await world.berth(['run', '--repo', repo])).toMatchObject({ code: 3 })
  expect((await world.items(repo)).map(({ kind }) => kind)).toEqual(['approve'])
  expect(await world.berth(['run', '--trust', '--repo', repo])).toMatchObject({ code: 1 })
  expect(await world.task(repo, 'a')).toMatchObject({ status: 'failed' })
})

test('on a terminal a timeline that is followed says that it waits, and ends at Ctrl-C', async () => {
  const world = makeWorld()
  const repo = world.repository()
  const work = (name: string) => ['run', '--name', name, '--command', 'echo x > x.txt', '--repo', repo, 'x']
  expect(await world.berth(work('one'))).toMatchObject({ code: 0 })
  const { spawn } = createRequire(import.meta.url)('@lydell/node-pty') as Pty
  const args = [main, 'log', '--follow', '--kind', 'task.submitted', '--repo', repo]
  const terminal = spawn(process.execPath, args, { cols: 100, env: { ...world.env, TERM: 'dumb' } })
  let seen = ''
  terminal.onData(text => (seen += text))
  const ended = new Promise<number>(resolve => terminal.onExit(({ exitCode }) => resolve(exitCode)))
  const waits = 'waits for what is recorded next; Ctrl-C ends it'
  await until('it to wait', () => seen.endsWith(waits))
  expect(await world.berth(work('two'))).toMatchObject({ code: 0 })
  await until('it to tell and wait again', () => /two[^\n]*\n[^\n]*$/.test(seen) && seen.endsWith(waits))
  terminal.write('\u0003')
  expect(await ended).toBe(0)
  expect(seen.endsWith('\r\u001B[2K')).toBe(true)
})

const sleeper = 'echo begun > begun.txt; exec sleep 300'

/** The task, or undefined while it has not been submitted. */
async function seen(world: World, repo: string, name: string): Promise<TaskView | undefined> {
  const { tasks } = await world.json<{ tasks: TaskView[] }>(['ls', '--repo', repo])
  return tasks.find(one => one.task === name)
}

async function atWork(world: World, repo: string, task: string): Promise<void> {
  await until(`${task} to be at work`, async () => ((await seen(world, repo, task))?.changes.files ?? 0) > 0)
}

test('an interruption stops the runs of the call, keeps their workspaces, and exits with 130; run goes on', async () => {
  const world = makeWorld()
  const repo = world.repository()
  const first = world.start(['run', '--name', 'long', '--command', sleeper, '--repo', repo, 'x'])
  await atWork(world, repo, 'long')
  first.child.kill('SIGINT')
  expect((await first.ended).code).toBe(130)
  expect(processesIn(world.dir).filter(one => one.command.startsWith('sleep'))).toEqual([])
  expect(await world.task(repo, 'long')).toMatchObject({
    status: 'stopped',
    worktree: join(`${repo}.berths`, 'long'),
  })
  const again = world.start(['run', '--repo', repo])
  await until('the next attempt', async () => (await world.task(repo, 'long')).attempt === 2)
  await atWork(world, repo, 'long')
  again.child.kill('SIGTERM')
  expect((await again.ended).code).toBe(130)
  expect(await world.task(repo, 'long')).toMatchObject({ status: 'stopped' })
})

test('a hang-up moves the work to the background', async () => {
  const world = makeWorld()
  const repo = world.repository()
  const agent = `until [ -e "${world.dir}/go" ]; do sleep 0.05; done; echo x > x.txt`
  const { child, ended } = world.start(['run', '--name', 'long', '--command', agent, '--repo', repo, 'x'])
  await until('it to run', async () => (await seen(world, repo, 'long'))?.status === 'running')
  child.kill('SIGHUP')
  await ended
  expect((await world.task(repo, 'long')).status).toBe('running')
  world.write(join(world.dir, 'go'), '')
  await until('it to be ready', async () => (await world.task(repo, 'long')).status === 'ready')
  expect((await world.task(repo, 'long')).attempt).toBe(1)
})

test('detached, it returns at once, and the daemon works on', async () => {
  const world = makeWorld()
  const repo = world.repository()
  const ran = await world.berth([
    'run',
    '--detach',
    '--name',
    'bg',
    '--command',
    'echo x > x.txt',
    '--repo',
    repo,
    'x',
  ])
  expect(ran).toEqual({ code: 0, out: 'bg\n', err: "in the background: see 'berth ls'\n" })
  await until('it to be ready', async () => (await world.task(repo, 'bg')).status === 'ready')
})

test('what lives on has nothing open of what its caller had open, such as the lock of a script', async () => {
  const world = makeWorld()
  const repo = world.repository()
  const lock = join(world.dir, 'script.lock')
  const sign = join(world.dir, 'on')
  const args = ['run', '--detach', '--repo', repo, '--name', 't', '--command', `touch ${sign}; sleep 60`, 'x']
  // The number that scripts take for flock: Node itself sees to the low ones.
  const script = 'exec 200> "$0"; "$@"'
  spawnSync('bash', ['-c', script, lock, process.execPath, main, ...args], { env: world.env })
  await until('the agent to work', () => existsSync(sign))
  const opened = processesIn(world.dir).flatMap(({ pid }) =>
    readdirSync(`/proc/${pid}/fd`).map(name => readlinkSync(`/proc/${pid}/fd/${name}`)),
  )
  expect(opened.length).toBeGreaterThan(0)
  expect(opened).not.toContain(lock)
  expect(await world.berth(['stop', 't', '--repo', repo])).toMatchObject({ code: 0 })
})

test('the daemon that was stopped has ended when that is said, and so has the loop of a foreground call', async () => {
  const world = makeWorld()
  const repo = world.repository()
  for (let time = 0; time < 3; time++) {
    expect(await world.berth(['daemon', 'start'])).toMatchObject({ code: 0 })
    expect(await world.berth(['daemon', 'stop'])).toMatchObject({ code: 0 })
    expect(processesIn(world.dir)).toEqual([])
  }
  // Hosted by the call itself, then by a daemon of its own.
  for (const name of ['own', 'served']) {
    const sign = join(world.dir, name)
    if (name === 'served') expect(await world.berth(['daemon', 'start'])).toMatchObject({ code: 0 })
    const command = `touch ${sign}; sleep 60`
    const { ended } = world.start([
      'run',
      '--no-detach',
      '--name',
      name,
      '--repo',
      repo,
      '--command',
      command,
      'x',
    ])
    await until('the agent to work', () => existsSync(sign))
    const { out } = await world.berth(['daemon', 'stop'])
    expect(out).toMatch(/^the daemon has stopped \(process \d+\); 1 agent works on without it$/m)
    expect(await ended).toMatchObject({
      code: 4,
      err: expect.stringContaining('; agents work on\n'),
    })
    expect(await world.berth(['daemon', 'status'])).toMatchObject({ code: 4 })
    expect(await world.berth(['stop', name, '--repo', repo])).toMatchObject({ code: 0 })
  }
})

test('who waits for runs that the end of the daemon stops is not told that all is well', async () => {
  const world = makeWorld()
  const repo = world.repository()
  const sign = join(world.dir, 'on')
  const { ended } = world.start([
    'run',
    '--name',
    't',
    '--repo',
    repo,
    '--command',
    `touch ${sign}; sleep 60`,
    'x',
  ])
  await until('the agent to work', () => existsSync(sign))
  expect(await world.berth(['daemon', 'stop', '--stop-runs'])).toMatchObject({ code: 0 })
  expect(await ended).toMatchObject({
    code: 4,
    err: expect.stringContaining('; so were its agents\n'),
  })
  expect(await world.task(repo, 't')).toMatchObject({
    status: 'stopped',
    reason: '`berth daemon stop --stop-runs` stopped it',
  })
})

test('without a Berth it is told what would go on, and what has ended meanwhile; the next one says what it finished', async () => {
  const world = makeWorld()
  const repo = world.repository()
  const sign = join(world.dir, 'on')
  const agent = `touch ${sign}; until [ -e ${world.dir}/go ]; do sleep 0.05; done; echo x > x.txt`
  await world.berth(['run', '--detach', '--name', 't', '--repo', repo, '--command', agent, 'x'])
  await until('the agent to work', () => existsSync(sign))
  expect(await world.berth(['daemon', 'stop'])).toMatchObject({ code: 0 })
  expect((await world.berth(['ls', '--repo', repo])).err).toBe(
    `no Berth is running to go on with 't'\nhint: berth run --repo ${repo}\n`,
  )
  world.write(join(world.dir, 'go'), '')
  const left = await until('the agent to end', async () => {
    const task = await world.task(repo, 't')
    return task.reasonCode !== 'working' && task
  })
  expect(left).toMatchObject({ status: 'verifying', reasonCode: 'cut-off', unattended: true })
  const reconciled = await world.berth(['reconcile', '--repo', repo])
  expect(reconciled.out).toContain('finished  t: agent ended: done\n')
})

test('with --no-detach a run that waits for an answer is stopped at the end', async () => {
  const world = makeWorld()
  const repo = world.repository()
  const args = ['run', '--no-detach', '--name', 'asks', '--command', 'berth ask why', '--repo', repo, 'x']
  const ran = await world.berth(args)
  expect([ran.code, ran.err]).toEqual([
    3,
    expect.stringMatching(/asks +stopped .*\nhint: berth run --repo \S+\n$/),
  ])
  expect(await world.task(repo, 'asks')).toMatchObject({ status: 'stopped', reasonCode: 'interrupted' })
  expect((await world.berth(['daemon', 'status'])).code).toBe(4)
})

test('a reader of the names that goes away does not end the work', async () => {
  const world = makeWorld()
  const repo = world.repository()
  const { child, ended } = world.start([
    'run',
    '--name',
    'x',
    '--command',
    'echo x > x.txt',
    '--repo',
    repo,
    'x',
  ])
  child.stdout?.destroy()
  expect((await ended).code).toBe(0)
  expect((await world.task(repo, 'x')).status).toBe('ready')
})
