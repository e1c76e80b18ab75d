// Bad input, at once: one task started six times, two runs that meet, an interruption while a workspace is made.

import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { type TaskView } from '../../../src/core/api.ts'
import { processesIn, until, type World } from '../../fixtures/berth.ts'
import { expectNothingMade, registered, watchedWorld } from './refusal.ts'

const limit = 240_000

const waiting = (world: World): string =>
  world.script(
    join(world.dir, 'agent.sh'),
    `#!/bin/sh
echo "$BERTH_TASK" >> ${world.dir}/started.log
until [ -e ${world.dir}/go ]; do sleep 0.05; done
echo "$BERTH_TASK" > "$BERTH_TASK.txt"
`,
  )

const started = (world: World): string[] =>
  existsSync(join(world.dir, 'started.log'))
    ? readFileSync(join(world.dir, 'started.log'), 'utf8').trim().split('\n')
    : []

const names = (world: World, repo: string): string[] =>
  world.git(repo, 'for-each-ref', '--format=%(refname:short)', 'refs/heads').trim().split('\n')

test(
  'the same task started six times at once: one works, five say since when and where, each with exit 5, and nothing is doubled',
  async () => {
    const world = watchedWorld()
    const repo = world.repository()
    const args = ['run', '--name', 'x', '--command', waiting(world), '--repo', repo, 'once']
    const six = Array.from({ length: 6 }, () => world.start(args))
    const ended = six.map(({ ended: end }) => end)
    const five = await firstOf(ended, 5)
    for (const ran of five) {
      expect(ran).toMatchObject({ code: 5, out: 'x\n' })
      expect(ran.err).toMatch(
        /^berth: 'x' is already running since \d{4}-\d\d-\d\dT[\d:.]+Z( in '.*\/repo\.berths\/x')?\nhint: berth show x --repo .*\/repo\n/,
      )
    }
    world.write(join(world.dir, 'go'), '')
    const all = await Promise.all(ended)
    expect(all.map(ran => ran.code).toSorted()).toEqual([0, 5, 5, 5, 5, 5])
    expect(started(world)).toEqual(['x'])
    expect(registered(world, repo)).toEqual([repo, join(`${repo}.berths`, 'x')])
    expect(names(world, repo)).toEqual(['berth/x', 'main'])
    const facts = await world.facts(repo)
    for (const kind of ['task.submitted', 'run.claimed', 'run.started', 'run.exited'])
      expect(facts.filter(fact => fact.kind === kind)).toHaveLength(1)
  },
  limit,
)

/** The first `count` that end, in the order in which they do. */
function firstOf<T>(all: Promise<T>[], count: number): Promise<T[]> {
  const done: T[] = []
  return new Promise((resolve, reject) => {
    for (const each of all)
      each.then(value => {
        done.push(value)
        if (done.length === count) resolve([...done])
      }, reject)
  })
}

test(
  'a run started while another is at work joins its loop: each returns for its own tasks, with its own code',
  async () => {
    const world = watchedWorld()
    const repo = world.repository()
    const agent = waiting(world)
    const long = world.start([
      'run',
      '--name',
      'long',
      '--jobs',
      '2',
      '--command',
      agent,
      '--repo',
      repo,
      'x',
    ])
    await until('the first to work', () => started(world).length > 0, 60_000)
    const bad = await world.berth(['run', '--name', 'bad', '--command', 'exit 0', '--repo', repo, 'y'])
    expect(bad).toMatchObject({ code: 1, out: 'bad\n' })
    expect(long.child.exitCode).toBe(null)
    const good = await world.berth([
      'run',
      '--name',
      'good',
      '--command',
      'echo g > g.txt',
      '--repo',
      repo,
      'z',
    ])
    expect(good).toMatchObject({ code: 0, out: 'good\n' })
    expect(long.child.exitCode).toBe(null)
    world.write(join(world.dir, 'go'), '')
    expect(await long.ended).toMatchObject({ code: 0, out: 'long\n' })
    const loops = (await world.facts(repo)).filter(fact => fact.kind === 'loop.started')
    expect(loops).toHaveLength(1)
    expect(names(world, repo)).toEqual(['berth/bad', 'berth/good', 'berth/long', 'main'])
  },
  limit,
)

test(
  'an interruption while the workspace is made leaves it whole or not there, and run goes on to the end',
  async () => {
    const world = watchedWorld()
    const files = Object.fromEntries(Array.from({ length: 400 }, (_, i) => [`src/${i}.txt`, `${i}\n`]))
    const repo = world.repository('repo', files)
    const hook = world.script(
      join(repo, '.git/hooks/post-checkout'),
      `#!/bin/sh\necho "$PWD" >> ${world.dir}/hook.log\nuntil [ -e ${world.dir}/go ]; do sleep 0.05; done\n`,
    )
    expect(existsSync(hook)).toBe(true)
    const args = ['run', '--name', 'x', '--command', 'echo work > w.txt', '--repo', repo, 'x']
    const { child, ended } = world.start(args)
    await until('the checkout to be under way', () => existsSync(join(world.dir, 'hook.log')), 60_000)
    child.kill('SIGINT')
    world.write(join(world.dir, 'go'), '')
    expect((await ended).code).toBe(130)
    await until('its processes to end', () => processesIn(world.dir).length === 0)
    const { tasks } = await world.json<{ tasks: TaskView[] }>(['ls', '--all', '--repo', repo])
    expect(tasks.map(({ task, status }) => ({ task, status }))).toEqual([{ task: 'x', status: 'stopped' }])
    const place = join(`${repo}.berths`, 'x')
    expect(existsSync(place)).toBe(registered(world, repo).includes(place))
    expect(names(world, repo).includes('berth/x')).toBe(existsSync(place))
    if (existsSync(place)) expect(world.git(place, 'status', '--porcelain')).toBe('')

    expect(await world.berth(['run', '--repo', repo])).toMatchObject({ code: 0 })
    expect(world.git(repo, 'show', 'berth/x:w.txt')).toBe('work\n')
    expect(await world.berth(['rm', 'x', '--discard', '--branch', '--wait', '--repo', repo])).toMatchObject({
      code: 0,
    })
    expect(registered(world, repo)).toEqual([repo])
    expect(names(world, repo)).toEqual(['main'])
  },
  limit,
)

test(
  'an interruption before a name is printed leaves no task behind that would not go on',
  async () => {
    const world = watchedWorld()
    const repo = world.repository()
    const { child, ended } = world.start(['run', '--name', 'x', '--command', 'true', '--repo', repo, 'x'])
    child.kill('SIGINT')
    await ended
    await expectNothingMade(world, repo, world.state)
  },
  limit,
)
