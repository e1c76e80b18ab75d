// Case 16: the repository belongs to another user. Needs root to give it away; git's own test switch elsewhere.

import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
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
