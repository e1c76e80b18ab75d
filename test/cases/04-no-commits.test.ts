// Case 04: a repository without a first commit.

import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { makeWorld } from '../fixtures/berth.ts'

test('a repository without a commit is refused before anything is made', async () => {
  const world = makeWorld()
  const repo = join(world.dir, 'repo')
  world.write(join(repo, 'notes.txt'), 'mine\n')
  world.git(repo, 'init', '-q')

  const ran = await world.berth(['run', '--command', 'touch ran', '--repo', repo, 'do it'])
  expect(ran.code).toBe(2)
  expect(ran.err).toMatch(/^berth: .*'.*repo'.*commit/m)
  expect(ran.err).toMatch(/^hint: git /m)
  expect(readdirSync(repo).toSorted()).toEqual(['.git', 'notes.txt'])
  expect(world.git(repo, 'for-each-ref')).toBe('')
  expect(existsSync(join(repo, '.git/worktrees'))).toBe(false)
  expect(existsSync(`${repo}.berths`)).toBe(false)
  expect((await world.json<{ tasks: unknown[] }>(['ls', '--all', '--repo', repo])).tasks).toEqual([])
})
