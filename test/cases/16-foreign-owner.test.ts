// Case 16: the repository belongs to another user. Needs root to give it away; git's own test switch elsewhere.

import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { type ItemView } from '../../src/core/api.ts'
import { makeWorld } from '../fixtures/berth.ts'

test('git’s refusal is passed on in one line with the path and the command that trusts it, and nothing changes', async () => {
  const world = makeWorld()
  const repo = world.repository()
  const root = process.getuid?.() === 0
  if (root) execFileSync('chown', ['-R', '65534:65534', repo])
  const env = root ? {} : { GIT_TEST_ASSUME_DIFFERENT_OWNER: '1' }
  const config = readFileSync(join(world.home, '.gitconfig'), 'utf8')

  const ran = await world.berth(['run', '--name', 't', '--command', 'true', 'go'], { cwd: repo, env })
  expect(ran.code).toBe(2)
  expect(ran.err).toMatch(/^berth: '.*\/repo' belongs to another user/m)
  expect(ran.err).toMatch(/^hint: git config --global --add safe\.directory /m)
  expect(readFileSync(join(world.home, '.gitconfig'), 'utf8')).toBe(config)
  expect(existsSync(`${repo}.berths`)).toBe(false)
})

test('what was there before it turned foreign is still shown, as not readable, and is lost by nothing', async () => {
  const world = makeWorld()
  const repo = world.repository()
  const args = ['run', '--name', 'kept', '--command', 'echo x > x.txt', '--repo', repo, 'go']
  expect(await world.berth(args)).toMatchObject({ code: 0 })
  const root = process.getuid?.() === 0
  if (root) execFileSync('chown', ['-R', '65534:65534', repo])
  const env = root ? {} : { GIT_TEST_ASSUME_DIFFERENT_OWNER: '1' }
  const said = `not readable: owner: '${repo}' belongs to another user, and git does not trust it`
  const way = `git config --global --add safe.directory ${repo}`

  const listed = await world.berth(['ls', '--repo', 'repo'], { env })
  expect(listed).toMatchObject({ code: 0, err: `kept: ${said} (${way})\n` })
  expect(listed.out).toMatch(/^kept +ready /m)
  const { items } = await world.json<{ items: ItemView[] }>(['inbox', '--repo', repo], { env })
  expect(items.map(({ kind, reason, blocks, actions }) => ({ kind, reason, blocks, actions }))).toEqual([
    {
      kind: 'config',
      reason: said,
      blocks: ['kept'],
      actions: [{ key: 'try', label: 'then look again', command: way }],
    },
  ])
  expect(await world.berth(['rm', 'kept', '--repo', repo], { env })).toMatchObject({ code: 2 })
  if (root) execFileSync('chown', ['-R', '0:0', repo])
  expect((await world.task(repo, 'kept')).differences).toEqual([])
  expect(world.git(repo, 'show', 'berth/kept:x.txt')).toBe('x\n')
})
