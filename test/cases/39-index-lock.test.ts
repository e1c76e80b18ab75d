// Case 39: an index.lock of a git that is at work, and one that a killed git left.

import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { kill, makeWorld, processesIn, until } from '../fixtures/berth.ts'

test('a commit that a person is writing in a workspace holds its removal off; a lock of nobody does not', async () => {
  const world = makeWorld()
  const repo = world.repository()
  await world.berth(['run', '--name', 't', '--command', 'echo x > x.txt', '--repo', repo, 'go'])
  const worktree = join(`${repo}.berths`, 't')
  world.write(join(worktree, 'app.txt'), 'edited\n')
  const lock = join(repo, '.git/worktrees/t/index.lock')
  const editor = world.script(join(world.dir, 'editor.sh'), '#!/bin/sh\nexec sleep 60\n')
  const env = { ...world.env, GIT_EDITOR: editor }
  const commit = spawn('git', ['commit', '-a'], { cwd: worktree, env, stdio: 'ignore' })
  const { pid = 0 } = commit
  await until('git to hold the index', () => existsSync(lock))

  const refused = await world.berth(['rm', 't', '--save', '--repo', repo])
  expect(refused.code).toBe(3)
  expect(refused.err).toContain(`git is busy in '${worktree}' (pid ${pid}, `)
  expect(existsSync(lock)).toBe(true)

  kill(pid)
  for (const left of processesIn(world.dir)) kill(left.pid)
  await until('both to end', () => processesIn(world.dir).length === 0)
  expect(existsSync(lock)).toBe(true)
  expect(await world.berth(['rm', 't', '--save', '--repo', repo])).toMatchObject({ code: 0 })
  expect(world.git(repo, 'for-each-ref', '--count=1', '--format=%(refname)', 'refs/berth/saved')).not.toBe('')
})
