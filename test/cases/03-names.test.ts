// Case 03: task titles that collide or cannot be a directory.

import { existsSync, readdirSync } from 'node:fs'
import { basename, join } from 'node:path'
import { expect, test } from 'vitest'
import { type TaskView } from '../../src/core/api.ts'
import { makeWorld } from '../fixtures/berth.ts'
import { titles } from '../fixtures/titles.ts'

test('every title becomes a task with a branch and a folder of its own, and is itself unaltered', async () => {
  const world = makeWorld()
  const repo = world.repository()
  const args = ['run', '--command', 'echo x > made.txt', '--repo', repo, '--jobs', '4', '--', ...titles]
  expect(await world.berth(args)).toMatchObject({ code: 0 })

  const { tasks } = await world.json<{ tasks: TaskView[] }>(['ls', '--all', '--repo', repo])
  expect(tasks.map(task => task.title).toSorted()).toEqual([...titles].toSorted())
  const folders = tasks.map(task => basename(task.worktree ?? ''))
  expect(new Set(folders.map(name => name.toLowerCase().normalize('NFC'))).size).toBe(titles.length)
  for (const name of folders) {
    expect(name).toMatch(/^[a-z0-9_][a-z0-9._-]{0,60}$/)
    expect(name).not.toMatch(/[. ]$/)
    expect(name).not.toMatch(/^(con|prn|aux|nul|com\d|lpt\d)(\.|$)/)
  }
  const branches = tasks.map(task => task.branch ?? '')
  expect(new Set(branches).size).toBe(titles.length)
  for (const branch of branches) world.git(repo, 'check-ref-format', '--branch', branch)
  for (const task of tasks) expect(task.worktree?.startsWith(`${repo}.berths/`)).toBe(true)
  expect(existsSync(join(repo, 'pwned')) || existsSync(join(world.dir, 'pwned'))).toBe(false)
  expect(readdirSync(world.dir).toSorted()).toEqual(['home', 'repo', 'repo.berths', 'rt', 'state', 'tmp'])
})
