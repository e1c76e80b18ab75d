// `berth` as a process: version, pipes that close, colour and width of a terminal, and inside a run.

import { spawn } from 'node:child_process'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { type IPty } from '@lydell/node-pty'
import { version } from '../../src/core/version.ts'
import { main, makeWorld, type World } from '../fixtures/berth.ts'

test('the version is one line, also with the long name of the flag', async () => {
  const world = makeWorld()
  expect(await world.berth(['--version'])).toEqual({ code: 0, out: `${version}\n`, err: '' })
  expect(await world.berth(['-V'])).toEqual({ code: 0, out: `${version}\n`, err: '' })
})

test('help goes to stdout with exit 0, of every verb', async () => {
  const world = makeWorld()
  const help = await world.berth(['--help'])
  expect(help).toMatchObject({ code: 0, err: '' })
  const verbs = [...help.out.matchAll(/^ {2}([a-z]+)(?= [A-Z[]| {2})/gm)].map(match => match[1]!)
  expect(verbs).toContain('run')
  for (const verb of ['run', 'log', 'rm']) {
    expect(await world.berth([verb, '--help'])).toMatchObject({ code: 0, err: '' })
  }
})

test('a reader that goes away ends it without a word', async () => {
  const world = makeWorld()
  const child = spawn(process.execPath, [main, 'completion', 'zsh'], {
    env: world.env,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  child.stdout.destroy()
  let said = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => (said += text))
  await new Promise(resolve => child.on('close', resolve))
  expect(said).toBe('')
})

test('an error shows its stack only with BERTH_DEBUG', async () => {
  const world = makeWorld()
  const plain = await world.berth(['show', 'x', '--repo', '/no/such'])
  expect(plain.err).not.toMatch(/^\s+at /m)
  const debug = await world.berth(['show', 'x', '--repo', '/no/such'], { env: { BERTH_DEBUG: '1' } })
  expect(debug.err).toMatch(/^\s+at /m)
})

type Pty = typeof import('@lydell/node-pty')

/** What a person sees on a terminal of this width. */
async function onTerminal(
  world: World,
  args: string[],
  cols: number,
  env: { [name: string]: string } = {},
): Promise<string> {
  const { spawn: spawnPty } = createRequire(import.meta.url)('@lydell/node-pty') as Pty
  const terminal: IPty = spawnPty(process.execPath, [main, ...args], {
    cols,
    env: { ...world.env, TERM: 'xterm', ...env },
  })
  let seen = ''
  terminal.onData(text => (seen += text))
  await new Promise(resolve => terminal.onExit(resolve))
  return seen
}

test('colour only on a terminal, and not with NO_COLOR', async () => {
  const world = makeWorld()
  const args = ['doctor', '--repo', world.repository()]
  const escape = '\u001B['
  expect((await world.berth(args)).out).not.toContain(escape)
  expect(await onTerminal(world, args, 100)).toContain(escape)
  expect(await onTerminal(world, args, 100, { NO_COLOR: '1' })).not.toContain(escape)
})

test('inside a run only what is allowed works towards its own state directory, and everything towards another', async () => {
  const world = makeWorld()
  const repo = world.repository()
  await world.berth(['run', '--command', 'true', '--repo', repo, 'x'])
  const { stateId } = JSON.parse(
    (await import('node:fs')).readFileSync(join(world.state, 'id.json'), 'utf8'),
  ) as { stateId: string }
  const env = { BERTH_RUN: `other:one,${stateId}:some-run,more:two` }
  for (const verb of ['run', 'rm', 'stop', 'land', 'daemon', 'purge', 'init']) {
    const args = { run: ['run', 'x'], rm: ['rm', 'x'], stop: ['stop', 'x'], daemon: ['daemon', 'start'] }[
      verb
    ] ?? [verb]
    const ran = await world.berth([...args, '--repo', repo], { env })
    expect(ran).toEqual({
      code: 2,
      out: '',
      err: `berth: 'berth ${verb}' may not be used inside a run of the same state directory\nhint: berth ask "QUESTION"\n`,
    })
  }
  for (const args of [['ls'], ['log'], ['--help'], ['--version'], ['run', '--help']]) {
    expect((await world.berth(args, { env, cwd: repo })).code).toBe(0)
  }
  const elsewhere = { ...env, BERTH_STATE_DIR: join(world.dir, 'other-state') }
  expect((await world.berth(['run', '--dry-run', 'x'], { env: elsewhere, cwd: repo })).code).toBe(0)
})

test.each([
  ['bash', ['bash', '-n']],
  ['zsh', undefined],
  ['fish', undefined],
] as const)('the completion of %s names every verb', async (shell, check) => {
  const world = makeWorld()
  const { out, code } = await world.berth(['completion', shell])
  expect(code).toBe(0)
  for (const word of ['transcript', 'reconcile', '--dry-run']) {
    expect(out).toContain(shell === 'fish' ? word.replace('--', '') : word)
  }
  if (!check) return
  const child = spawn(check[0], check.slice(1), { stdio: ['pipe', 'ignore', 'inherit'] })
  child.stdin.end(out)
  expect(await new Promise(resolve => child.on('close', resolve))).toBe(0)
})
