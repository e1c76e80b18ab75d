// Bad input, the state directory: read-only, of a newer Berth, on another machine's disk, of something else, too deep.

import { execFileSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { main, type World } from '../../fixtures/berth.ts'
import { expectNothingMade, expectRefusal, mayMount, registered, watchedWorld } from './refusal.ts'

const work = ['run', '--name', 'new', '--command', 'true', 'x']
const limit = 180_000

const mounting = test.runIf(mayMount)
test.skipIf(mayMount)('skipped: 3 tests that mount file systems, which only root on Linux may', () => {})

/** Mounts `dir` onto itself, so that nothing may be written there until the test ends, or `release` is called. */
function makeReadOnly(dir: string): () => void {
  execFileSync('mount', ['--bind', dir, dir])
  execFileSync('mount', ['-o', 'remount,ro,bind', dir])
  let mounted = true
  const release = () => {
    if (mounted) execFileSync('umount', ['-l', dir])
    mounted = false
  }
  onTestFinished(release)
  return release
}

async function withReadyTask(world: World, repo: string): Promise<void> {
  const args = ['run', '--name', 'a', '--command', 'echo work > w.txt', '--repo', repo, 'first']
  expect(await world.berth(args)).toMatchObject({ code: 0 })
}

/** What `doctor` says of the state directory. */
async function stateCheck(world: World, repo: string): Promise<unknown> {
  const { checks } = await world.json<{ checks: { check: string }[] }>(['doctor', '--repo', repo])
  return checks.find(({ check }) => check === 'state')
}

const readOnly = (state: string) =>
  ({
    error: 'state-read-only',
    message: `cannot write '${state}'`,
    hint: `ls -ld ${state}`,
  }) as const

mounting(
  'a new state directory on a read-only mount: verbs that write are refused, verbs that read find nothing',
  async () => {
    const world = watchedWorld()
    const repo = world.repository()
    mkdirSync(world.state)
    const release = makeReadOnly(world.state)
    const options = { cwd: repo }
    await expectRefusal(world, work, readOnly(world.state), options)
    await expectRefusal(world, ['run', '--detach', '--command', 'true', 'x'], readOnly(world.state), options)
    await expectRefusal(world, ['daemon', 'start'], readOnly(world.state), options)
    expect(await world.json(['ls', '--all'], options)).toEqual({ berth: 1, tasks: [] })
    expect(await stateCheck(world, repo)).toEqual({
      check: 'state',
      state: 'problem',
      text: `cannot write '${world.state}'`,
      hint: `ls -ld ${world.state}`,
    })
    expect(readdirSync(world.state)).toEqual([])
    release()
    await expectNothingMade(world, repo, world.state)
  },
  limit,
)

mounting(
  'a state directory that became read-only still tells all, changes nothing, and goes on when it may be written',
  async () => {
    const world = watchedWorld()
    const repo = world.repository()
    await withReadyTask(world, repo)
    const before = registered(world, repo)
    const release = makeReadOnly(world.state)
    const options = { cwd: repo }
    for (const args of [work, ['rm', 'a', '--discard'], ['land', 'a'], ['stop', 'a']])
      await expectRefusal(world, args, readOnly(world.state), options)
    expect(await world.task(repo, 'a')).toMatchObject({ status: 'ready' })
    expect(await world.berth(['show', 'a'], options)).toMatchObject({ code: 0, err: '' })
    expect(await world.berth(['log'], options)).toMatchObject({ code: 0, err: '' })
    expect(registered(world, repo)).toEqual(before)
    release()
    expect(await world.berth(['land', 'a'], options)).toMatchObject({ code: 0 })
    expect(world.git(repo, 'show', 'main:w.txt')).toBe('work\n')
  },
  limit,
)

mounting(
  'a state directory on a network file system is refused (the kind of its mount is injected, all else is real)',
  async () => {
    const world = watchedWorld()
    const repo = world.repository()
    mkdirSync(world.state)
    const mounts = world.write(
      join(world.dir, 'mountinfo'),
      `${readFileSync('/proc/self/mountinfo', 'utf8')}999 1 0:99 / ${world.state} rw - nfs4 host:/export rw\n`,
    )
    const run = (args: string[]) => inNamespace(world, repo, mounts, args)
    const message = `'${world.state}' is on a network file system`
    const hint = 'export BERTH_STATE_DIR=/some/local/folder'
    expect(run(work)).toEqual({ code: 2, out: '', err: `berth: ${message}\nhint: ${hint}\n` })
    expect(run([...work, '--json'])).toEqual({
      code: 2,
      out: `${JSON.stringify({ berth: 1, error: { code: 'state-network', message, hint } })}\n`,
      err: '',
    })
    expect(readdirSync(world.state)).toEqual([])
    await expectNothingMade(world, repo)
  },
  limit,
)

/** In a mount namespace of its own, where /proc says of this one process what `mounts` says. */
function inNamespace(world: World, cwd: string, mounts: string, args: string[]) {
  const script = 'mount --bind "$0" /proc/$$/mountinfo && exec "$@"'
  const line = ['-m', 'sh', '-c', script, mounts, process.execPath, main, ...args]
  try {
    return {
      code: 0,
      out: execFileSync('unshare', line, { cwd, env: world.env, encoding: 'utf8', stdio: 'pipe' }),
      err: '',
    }
  } catch (error) {
    const { status, stdout, stderr } = error as { status: number; stdout: string; stderr: string }
    return { code: status, out: stdout, err: stderr }
  }
}

test(
  'a state directory of a newer schema is refused by every verb, and not a byte of it changes',
  async () => {
    const world = watchedWorld()
    const repo = world.repository()
    await withReadyTask(world, repo)
    for (const name of ['id.json', 'private/id.json']) {
      const file = join(world.state, name)
      const id = JSON.parse(readFileSync(file, 'utf8')) as object
      writeFileSync(file, `${JSON.stringify({ ...id, schema: 99 })}\n`)
    }
    await expectNewer(world, repo)
  },
  limit,
)

test(
  'a database of a newer schema is refused too, whatever the directory says of itself',
  async () => {
    const world = watchedWorld()
    const repo = world.repository()
    await withReadyTask(world, repo)
    type Sqlite = { DatabaseSync: new (file: string) => { exec(sql: string): void; close(): void } }
    const { DatabaseSync } = createRequire(import.meta.url)('@photostructure/sqlite') as Sqlite
    const database = new DatabaseSync(join(world.state, 'berth.db'))
    database.exec('pragma user_version = 99')
    database.exec('pragma wal_checkpoint(truncate)')
    database.close()
    await expectNewer(world, repo)
  },
  limit,
)

async function expectNewer(world: World, repo: string): Promise<void> {
  const refusal = {
    error: 'state-newer',
    message: `'${world.state}' was written by a newer berth (schema 99, this one knows 1)`,
    hint: 'npm install -g berth@latest',
  } as const
  const before = join(world.dir, 'before')
  cpSync(world.state, before, { recursive: true })
  const options = { cwd: repo }
  const detached = ['run', '--detach', '--command', 'true', 'x']
  for (const args of [work, ['ls'], ['rm', 'a'], ['daemon', 'start'], detached])
    await expectRefusal(world, args, refusal, options)
  for (const name of ['id.json', 'private/id.json', 'berth.db', 'facts/0001.jsonl'])
    expect(readFileSync(join(world.state, name)).equals(readFileSync(join(before, name)))).toBe(true)
  expect(registered(world, repo)).toEqual([repo, join(`${repo}.berths`, 'a')])
  expect(world.git(repo, 'show', 'berth/a:w.txt')).toBe('work\n')
}

test('a folder with other things in it does not become a state directory', async () => {
  const world = watchedWorld()
  const repo = world.repository()
  const photos = join(world.dir, 'photos')
  world.write(join(photos, 'cat.jpg'), 'meow')
  await expectRefusal(
    world,
    work,
    {
      error: 'path-refused',
      message: `'${photos}' is no state directory: it holds 'cat.jpg'`,
      hint: `export BERTH_STATE_DIR=${photos}/berth`,
    },
    { cwd: repo, env: { BERTH_STATE_DIR: photos } },
  )
  expect(readdirSync(photos)).toEqual(['cat.jpg'])
  await expectNothingMade(world, repo)
})

test(
  'a runtime folder so deep that sockets have no name there is refused, with the way out, by every verb that starts a loop',
  async () => {
    const world = watchedWorld()
    const repo = world.repository()
    const deep = join(world.dir, 'r'.repeat(100))
    mkdirSync(deep, { mode: 0o700 })
    const options = { cwd: repo, env: { XDG_RUNTIME_DIR: deep } }
    expect(await world.berth(['ls'], options)).toMatchObject({ code: 0 })
    expect(await world.berth(work, options)).toMatchObject({ code: 2 })
    const { stateId } = JSON.parse(readFileSync(join(world.state, 'id.json'), 'utf8')) as { stateId: string }
    const path = join(deep, `berth-${stateId.slice(0, 8)}`, 'daemon.sock')
    const refusal = {
      error: 'socket-path',
      message: `the socket path '${path}' has ${Buffer.byteLength(path)} bytes, more than 100`,
      hint: 'unset XDG_RUNTIME_DIR',
    } as const
    const detached = ['run', '--detach', '--command', 'true', 'x']
    for (const args of [work, detached, ['daemon', 'start']])
      await expectRefusal(world, args, refusal, options)
    expect(readdirSync(deep)).toEqual([])
    expect(existsSync(join(world.state, 'daemon.json'))).toBe(false)
    await expectNothingMade(world, repo, world.state)
    expect(await world.berth(['run', '--command', 'echo x > x.txt', 'x'], { cwd: repo })).toMatchObject({
      code: 0,
    })
  },
  limit,
)
