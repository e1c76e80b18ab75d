// Bad input, the disk: full before the start, and full while an agent works; what is done is never lost.

import { execFileSync } from 'node:child_process'
import { closeSync, existsSync, mkdirSync, openSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { type ItemView } from '../../../src/core/api.ts'
import { processesIn, until, type World } from '../../fixtures/berth.ts'
import { expectNothingMade, mayMount, watchedWorld } from './refusal.ts'

const limit = 180_000
const mounting = test.runIf(mayMount)
test.skipIf(mayMount)('skipped: 4 tests that mount file systems, which only root on Linux may', () => {})

/** The state directory becomes a disk of its own, of this size, until the test ends. */
function makeDisk(world: World, size: string): void {
  mkdirSync(world.state)
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${size},mode=700`, 'tmpfs', world.state])
  onTestFinished(() => void execFileSync('umount', ['-l', world.state]))
}

/** Takes all the room there is; gives what makes it free again. */
function fill(world: World): () => void {
  const file = join(world.state, '.filled.tmp')
  const fd = openSync(file, 'w')
  try {
    for (const size of [1 << 20, 1 << 12, 1]) writeUntilFull(fd, Buffer.alloc(size))
  } finally {
    closeSync(fd)
  }
  return () => rmSync(file, { force: true })
}

function writeUntilFull(fd: number, block: Buffer): void {
  try {
    for (;;) writeSync(fd, block)
  } catch (error) {
    if ((error as { code?: string }).code !== 'ENOSPC') throw error
  }
}

mounting(
  'with no room for the state directory nothing begins, and nothing stays half made; with room it begins',
  async () => {
    const world = watchedWorld()
    const repo = world.repository()
    makeDisk(world, '64m')
    const free = fill(world)
    const args = ['run', '--name', 'a', '--command', 'echo work > w.txt', 'x']
    const options = { cwd: repo }
    const first = await world.berth(args, options)
    expect(first).toMatchObject({ code: 1, out: '' })
    expect(first.err).toMatch(/^berth: no space left to write '.*\/state\/[\w./]+'\nhint: df -h\n$/)
    const again = await world.berth([...args, '--json'], options)
    expect(again).toMatchObject({ code: 1, err: '' })
    expect(JSON.parse(again.out)).toMatchObject({ berth: 1, error: { code: 'disk-full', hint: 'df -h' } })
    free()
    await expectNothingMade(world, repo, world.state)
    expect(await world.berth(args, options)).toMatchObject({ code: 0 })
    expect(world.git(repo, 'show', 'berth/a:w.txt')).toBe('work\n')
  },
  limit,
)

mounting(
  'a disk that fills while an agent works costs the tail of its output, not its work; the item says so, and all goes on',
  async () => {
    const world = watchedWorld()
    const repo = world.repository('repo', {
      'app.txt': 'one\n',
      'berth.toml': '[limits]\ndiskFreeMin = "1MB"\n',
    })
    makeDisk(world, '48m')
    const agent = world.script(
      join(world.dir, 'agent.sh'),
      `#!/bin/sh
until [ -e ${world.dir}/go ]; do sleep 0.05; done
head -c 200000 /dev/zero | tr '\\0' x
echo work > w.txt
`,
    )
    const options = { cwd: repo }
    const { ended } = world.start(['run', '--name', 'a', '--command', agent, 'x'], options)
    await until(
      'the agent to run',
      async () =>
        existsSync(join(world.state, 'berth.db')) &&
        (await world.facts(repo)).some(fact => fact.kind === 'run.started'),
    )
    const free = fill(world)
    world.write(join(world.dir, 'go'), '')
    expect(await ended).toMatchObject({ code: 0 })
    expect(world.git(repo, 'show', 'berth/a:w.txt')).toBe('work\n')
    expect((await world.facts(repo)).filter(fact => fact.kind === 'output.dropped')).not.toEqual([])

    // Something new is held, and says by what; nothing of it is made.
    const held = await world.berth(['run', '--name', 'b', '--command', 'echo b > b.txt', 'y'], options)
    expect(held.code === 3 || held.code === 1).toBe(true)
    if (held.code === 1) expect(held.err).toMatch(/^berth: no space left to write '/)
    const asked = await world.berth(['land', 'a'], options)
    expect(asked.code).toBe(3)
    const { items } = await world.json<{ items: ItemView[] }>(['inbox', '--repo', repo])
    expect(items.find(item => item.kind === 'disk')).toMatchObject({
      id: 'disk',
      reason: 'the disk was full; nothing new is started',
      blocks: held.code === 3 ? ['a', 'b'] : ['a'],
    })
    expect(existsSync(join(`${repo}.berths`, 'b'))).toBe(false)

    // A task can be stopped and removed on a full disk: that makes room.
    free()
    expect(await world.berth(['run', '--repo', repo])).toMatchObject({ code: 0 })
    expect(world.git(repo, 'show', 'main:w.txt')).toBe('work\n')
    expect(await world.items(repo)).toEqual([])
  },
  limit,
)

mounting(
  'on a full disk a task is stopped and removed, which makes room',
  async () => {
    const world = watchedWorld()
    const repo = world.repository('repo', {
      'app.txt': 'one\n',
      'berth.toml': '[limits]\ndiskFreeMin = "1MB"\n',
    })
    makeDisk(world, '48m')
    const options = { cwd: repo }
    const sign = (name: string) => join(world.dir, `${name}-on`)
    const command = (name: string) =>
      `echo w > w.txt; git add -A; git commit -q -m w; echo s > s.txt; touch ${sign(name)}; exec sleep 600`
    for (const name of ['a', 'b']) {
      const args = ['run', '--detach', '--name', name, '--land', 'never', '--command', command(name), 'x']
      expect(await world.berth(args, options)).toMatchObject({ code: 0 })
      await until('the agent to work', () => existsSync(sign(name)))
    }
    fill(world)
    expect(await world.berth(['stop', 'a'], options)).toMatchObject({ code: 0, out: "stopped 'a'\n" })
    const saved = await world.berth(['rm', 'a', '--save'], options)
    expect(saved).toMatchObject({
      code: 0,
      out: expect.stringContaining(', saved as '),
      err: expect.stringContaining('berth rm a --branch --save'),
    })
    const both = await world.berth(['rm', 'b', '--stop', '--discard', '--wait'], options)
    expect(both).toMatchObject({
      code: 0,
      out: expect.stringMatching(/^removed 'b', branch 'berth\/b' kept/),
    })
    expect(existsSync(join(`${repo}.berths`, 'a'))).toBe(false)
    expect(existsSync(join(`${repo}.berths`, 'b'))).toBe(false)
    expect((await world.task(repo, 'a')).status).toBe('dropped')
    expect((await world.task(repo, 'b')).status).toBe('dropped')
    expect(await world.berth(['daemon', 'stop'], options)).toMatchObject({ code: 0 })
    expect(processesIn(world.dir)).toEqual([])
  },
  limit,
)

mounting(
  'a workspace that filled the disk of the worktrees is removed, and makes the room that its own removal needs',
  async () => {
    const world = watchedWorld()
    const disk = join(world.dir, 'disk')
    mkdirSync(disk)
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=8m', 'tmpfs', disk])
    onTestFinished(() => void execFileSync('umount', ['-l', disk]))
    const config = `worktrees = "${disk}/wt"\n[limits]\ndiskFreeMin = "1MB"\n`
    const repo = world.repository('full', { 'app.txt': 'one\n', 'berth.toml': config })
    const args = ['run', '--trust', '--name', 'a', '--command', 'cat /dev/zero > fill; true', 'x']
    await world.berth(args, { cwd: repo })
    expect(await world.berth(['rm', 'a', '--discard', '--wait'], { cwd: repo })).toMatchObject({ code: 0 })
    expect(world.git(repo, 'worktree', 'list').trim().split('\n')).toHaveLength(1)
    expect(existsSync(join(disk, 'wt', 'a'))).toBe(false)
  },
  limit,
)
