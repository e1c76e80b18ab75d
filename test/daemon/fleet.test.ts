// Many tasks at once, and several Berths on one repository.

import { realpathSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { makeWorld } from '../fixtures/berth.ts'

test('64 tasks at once all land, with exact refs and registry', { timeout: 600_000 }, async () => {
  const world = makeWorld()
  const repo = world.repository()
  const tasks = Array.from(
    { length: 64 },
    (_, i) => `## t${i}: task ${i}\ncommand: echo ${i} > new${i}.txt\n\nDo it.\n`,
  )
  const file = world.write(join(world.dir, 'tasks.md'), tasks.join('\n'))
  const ran = await world.berth([
    'run',
    '-f',
    file,
    '--jobs',
    '64',
    '--land',
    'auto',
    '--gate',
    'true',
    '--repo',
    repo,
  ])
  expect(ran).toMatchObject({ code: 0 })
  expect(ran.err).not.toMatch(/lock/i)
  const refs = world.git(repo, 'for-each-ref', '--format=%(refname)').trim().split('\n')
  expect(refs).toEqual(['refs/heads/main'])
  const worktrees = world.git(repo, 'worktree', 'list', '--porcelain').match(/^worktree .*/gm) ?? []
  // Berth's own integration workspace is kept for the next landing.
  expect(worktrees.filter(line => !line.includes('/.integration/'))).toEqual([
    `worktree ${realpathSync(repo)}`,
  ])
  const files = world.git(repo, 'ls-tree', '--name-only', 'main').trim().split('\n')
  expect(files.toSorted()).toEqual(
    ['app.txt', ...Array.from({ length: 64 }, (_, i) => `new${i}.txt`)].toSorted(),
  )
  const landed = (await world.facts(repo)).filter(fact => fact.kind === 'landing.landed')
  expect(new Set(landed.map(fact => fact.task)).size).toBe(64)
  expect(landed).toHaveLength(64)
})

test('a second run joins the loop of the first, and each exits for its own tasks', async () => {
  const world = makeWorld()
  const repo = world.repository()
  const [good, bad] = await Promise.all([
    world.berth(['run', '--command', 'echo a > a.txt', '--name', 'good', '--repo', repo, 'good one']),
    world.berth(['run', '--command', 'exit 3', '--name', 'bad', '--repo', repo, 'bad one']),
  ])
  expect([good.code, bad.code]).toEqual([0, 1])
  const loops = (await world.facts(repo)).filter(fact => fact.kind === 'loop.started')
  expect(loops.length).toBeLessThanOrEqual(2)
})
