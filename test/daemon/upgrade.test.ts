// An upgrade of the installed Berth while runs live loses none of them.

import { cpSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { spawn } from 'node:child_process'
import { expect, test } from 'vitest'
import { version } from '../../src/core/version.ts'
import { main, makeWorld, type World, until } from '../fixtures/berth.ts'

test('a newer client makes the older daemon hand over, and its runs stay with their supervisors', async () => {
  const world = makeWorld()
  const repo = world.repository()
  const agent = world.script(
    join(world.dir, 'slow.sh'),
    `#!/bin/sh\nwhile [ ! -e "${world.dir}/gate" ]; do sleep 0.05; done\necho two >> app.txt; git commit -qam two\n`,
  )
  const newer = upgraded(world, '99.0.0')
  await world.berth(['daemon', 'start'])
  await world.berth([
    'run',
    '--command',
    agent,
    '--name',
    'x',
    '--land',
    'auto',
    '--repo',
    repo,
    '--detach',
    'go',
  ])
  await until('the run to start', async () =>
    (await world.facts(repo)).some(fact => fact.kind === 'run.started'),
  )
  const before = daemonOf(world)
  expect(before.version).toBe(version)
  expect(await run(newer, ['daemon', 'start'], world)).toBe(0)
  const after = daemonOf(world)
  expect(after.version).toBe('99.0.0')
  expect(after.pid).not.toBe(before.pid)
  world.write(join(world.dir, 'gate'), '')
  await until('the task to land', async () => (await world.task(repo, 'x')).status === 'landed')
  expect((await world.facts(repo)).filter(fact => fact.kind === 'run.started')).toHaveLength(1)
  expect(await run(newer, ['daemon', 'stop'], world)).toBe(0)
})

test('an older client that would write meets a newer contract with a clear error', async () => {
  const world = makeWorld()
  const newer = upgraded(world, '99.0.0', 99)
  expect(await run(newer, ['daemon', 'start'], world)).toBe(0)
  const ran = await world.berth(['pause'])
  expect(ran.code).toBe(4)
  expect(ran.err).toContain('a newer Berth (99.0.0) is running')
  expect(await run(newer, ['daemon', 'stop'], world)).toBe(0)
})

const daemonOf = (world: World): { pid: number; version: string } =>
  JSON.parse(readFileSync(join(world.state, 'daemon.json'), 'utf8')) as { pid: number; version: string }

/** A copy of the build that says it is another version, and perhaps speaks another contract. */
function upgraded(world: World, wanted: string, contract?: number): string {
  const dist = join(world.dir, 'newer', 'dist')
  cpSync(dirname(main), dist, { recursive: true })
  symlinkSync(join(dirname(main), '..', 'node_modules'), join(world.dir, 'newer', 'node_modules'))
  for (const name of readdirSync(dist).filter(each => each.endsWith('.cjs'))) {
    const file = join(dist, name)
    // The bundler has put both constants where they are used.
    const text = readFileSync(file, 'utf8').replaceAll(`"${version}"`, `"${wanted}"`)
    const speaks =
      contract === undefined ? text : text.replace(/(contract(?::| [<>=!]+)) 1\b/g, `$1 ${contract}`)
    writeFileSync(file, speaks)
  }
  return join(dist, 'main.cjs')
}

const run = (file: string, args: string[], world: World): Promise<number | null> =>
  new Promise(resolve =>
    spawn(process.execPath, [file, ...args], { cwd: world.dir, env: world.env, stdio: 'ignore' }).on(
      'close',
      resolve,
    ),
  )
