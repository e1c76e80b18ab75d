// Case 56: what lies beside the `.env` files of a repository.

import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { makeWorld } from '../fixtures/berth.ts'

test.skipIf(process.platform === 'win32')('a pipe among the `.env` files holds nothing up', async () => {
  const world = makeWorld()
  const repo = world.repository('repo', { 'app.txt': 'one\n', '.gitignore': '.env*\n' })
  execFileSync('mkfifo', [join(repo, '.env.pipe')])
  const run = ['run', '--name', 't', '--command', 'echo x > x.txt', '--repo', repo, 'go']
  expect(await world.berth(run)).toMatchObject({ code: 0 })
})
