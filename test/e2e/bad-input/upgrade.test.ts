// An upgrade of the installed Berth while runs live: its files vanish or are replaced, and no run is lost by it.

import { spawn } from 'node:child_process'
import {
  cpSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { type DaemonStatus } from '../../../src/core/api.ts'
import { version } from '../../../src/core/version.ts'
import { kill, main, type Ran, until, type World } from '../../fixtures/berth.ts'
import { registered, watchedWorld } from './refusal.ts'

const limit = 240_000
const newer = '99.0.0'

/** A copy of the built Berth in a folder of the world, as an installation has it. */
function install(world: World): string {
  const dist = join(world.dir, 'lib/berth/dist')
  mkdirSync(dirname(dist), { recursive: true })
  symlinkSync(join(dirname(main), '../node_modules'), join(world.dir, 'lib/node_modules'))
  cpSync(dirname(main), dist, { recursive: true })
  return dist
}

/** What a package manager does: the old files go, and the newer ones have other names. */
function upgrade(dist: string): void {
  rmSync(dist, { recursive: true })
  cpSync(dirname(main), dist, { recursive: true })
  const chunks = readdirSync(dist).filter(name => /-[\w-]{8}\.cjs$/.test(name))
  const renamed = (text: string): string =>
    chunks.reduce((all, name) => all.replaceAll(name, name.replace('.cjs', 'n.cjs')), text)
  for (const name of readdirSync(dist).filter(one => one.endsWith('.cjs'))) {
    const file = join(dist, name)
    writeFileSync(file, renamed(readFileSync(file, 'utf8')).replaceAll(`"${version}"`, `"${newer}"`))
    renameSync(file, join(dist, renamed(name)))
  }
}

/** Runs the Berth of this installation. */
function start(world: World, dist: string, args: string[]): { ended: Promise<Ran> } {
  const child = spawn(process.execPath, [join(dist, 'main.cjs'), ...args], {
    cwd: world.dir,
    env: world.env,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let out = ''
  let err = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => (out += text))
  child.stderr.setEncoding('utf8').on('data', (text: string) => (err += text))
  return { ended: new Promise(resolve => child.on('close', code => resolve({ code, out, err }))) }
}

/** Says a line, waits for `go`, says another, and leaves work and this exit code. */
const agentOf = (world: World, code: number): string =>
  world.script(
    join(world.dir, `agent${code}.sh`),
    `#!/bin/sh
echo before
until [ -e ${world.dir}/go ]; do sleep 0.05; done
echo after
echo work > "$BERTH_TASK.txt"
exit ${code}
`,
  )

const running = async (world: World, repo: string, count: number): Promise<void> => {
  await until(
    'the runs to be at work',
    async () => (await world.facts(repo)).filter(fact => fact.kind === 'run.started').length === count,
    60_000,
  )
}

const tasksFile = (world: World): string =>
  world.write(
    join(world.dir, 'two.md'),
    `## good: t\ncommand: ${agentOf(world, 0)}\n\nx\n\n## bad: t\ncommand: ${agentOf(world, 7)}\n\ny\n`,
  )

async function expectBothWhole(world: World, repo: string): Promise<void> {
  const facts = await world.facts(repo)
  const exits = facts.filter(fact => fact.kind === 'run.exited')
  expect(exits.map(fact => `${fact.task} ${fact['code']}`).toSorted()).toEqual(['bad 7', 'good 0'])
  expect(facts.filter(fact => fact.kind === 'run.started')).toHaveLength(2)
  for (const task of ['good', 'bad']) {
    const { out } = await world.berth(['transcript', task, '--repo', repo])
    expect(out).toMatch(/^ {4}before\n {4}after$/m)
  }
  expect(await world.task(repo, 'good')).toMatchObject({ status: 'ready', attempt: 1 })
  expect(world.git(repo, 'show', 'berth/good:good.txt')).toBe('work\n')
  expect(registered(world, repo)).toHaveLength(3)
}

const once = { 'app.txt': 'one\n', 'berth.toml': '[recovery]\nattempts = 1\n' }

test(
  'with the files of the installation deleted, a daemon goes on: its runs end, are gated, committed and landed',
  async () => {
    const world = watchedWorld()
    const repo = world.repository('repo', once)
    const dist = install(world)
    const args = ['run', '--detach', '--jobs', '2', '-f', tasksFile(world), '--repo', repo, '--gate', 'true']
    expect(await start(world, dist, args).ended).toMatchObject({ code: 0 })
    await running(world, repo, 2)
    const before = await world.json<{ daemon: DaemonStatus }>(['daemon', 'status'])
    rmSync(dist, { recursive: true })
    world.write(join(world.dir, 'go'), '')
    await until(
      'both to rest',
      async () => {
        const { status } = await world.task(repo, 'good')
        return status === 'ready' && (await world.task(repo, 'bad')).status === 'failed'
      },
      120_000,
    )
    await expectBothWhole(world, repo)
    expect(await world.berth(['land', 'good', '--repo', repo])).toMatchObject({ code: 0 })
    // It was the old one that did all this, and it starts new runs too.
    const after = await world.json<{ daemon: DaemonStatus }>(['daemon', 'status'])
    expect(after.daemon.pid).toBe(before.daemon.pid)
    const more = ['run', '--name', 'more', '--command', 'echo m > m.txt', '--repo', repo, 'z']
    expect(await world.berth(more)).toMatchObject({ code: 0 })
  },
  limit,
)

test(
  'a newer Berth takes over from the daemon of the old one, and a client of the old one follows to the end',
  async () => {
    const world = watchedWorld()
    const repo = world.repository('repo', once)
    const dist = install(world)
    expect(await start(world, dist, ['daemon', 'start']).ended).toMatchObject({ code: 0 })
    const client = start(world, dist, ['run', '--jobs', '2', '-f', tasksFile(world), '--repo', repo])
    await running(world, repo, 2)
    upgrade(dist)
    expect(await start(world, dist, ['--version']).ended).toEqual({ code: 0, out: `${newer}\n`, err: '' })
    expect(await start(world, dist, ['daemon', 'start']).ended).toMatchObject({ code: 0, err: '' })
    const { daemon } = await world.json<{ daemon: DaemonStatus }>(['daemon', 'status'])
    expect(daemon).toMatchObject({ version: newer, alive: 2 })
    world.write(join(world.dir, 'go'), '')
    expect(await client.ended).toMatchObject({ code: 1, out: 'good\nbad\n' })
    await expectBothWhole(world, repo)
  },
  limit,
)

test(
  'a newer Berth takes over from a run in the foreground: that call still ends with its own code',
  async () => {
    const world = watchedWorld()
    const repo = world.repository('repo', once)
    const dist = install(world)
    const client = start(world, dist, ['run', '--jobs', '2', '-f', tasksFile(world), '--repo', repo])
    await running(world, repo, 2)
    upgrade(dist)
    expect(await start(world, dist, ['daemon', 'start']).ended).toMatchObject({ code: 0, err: '' })
    world.write(join(world.dir, 'go'), '')
    expect(await client.ended).toMatchObject({ code: 1, out: 'good\nbad\n' })
    await expectBothWhole(world, repo)
  },
  limit,
)

test(
  'with files deleted and the daemon killed, a client that follows becomes the loop, and nothing is lost',
  async () => {
    const world = watchedWorld()
    const repo = world.repository('repo', once)
    const dist = install(world)
    expect(await start(world, dist, ['daemon', 'start']).ended).toMatchObject({ code: 0 })
    const client = start(world, dist, ['run', '--jobs', '2', '-f', tasksFile(world), '--repo', repo])
    await running(world, repo, 2)
    const { daemon } = await world.json<{ daemon: DaemonStatus }>(['daemon', 'status'])
    rmSync(dist, { recursive: true })
    kill(daemon.pid)
    world.write(join(world.dir, 'go'), '')
    expect(await client.ended).toMatchObject({ code: 1, out: 'good\nbad\n' })
    await expectBothWhole(world, repo)
  },
  limit,
)
