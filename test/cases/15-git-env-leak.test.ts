// Case 15: Berth is started from inside a git hook of another repository.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { makeWorld } from '../fixtures/berth.ts'

test('location and author variables of the caller reach neither git nor the agent nor setup', async () => {
  const world = makeWorld()
  const victim = world.repository('victim')
  const repo = world.repository('repo', {
    'app.txt': 'one\n',
    'berth.toml': '[[setup]]\nrun = "env > setup-env.txt; git rev-parse --show-toplevel > setup-top.txt"\n',
    '.gitignore': 'setup-*\n',
  })
  const index = readFileSync(join(victim, '.git/index'))
  const env = {
    GIT_DIR: join(victim, '.git'),
    GIT_WORK_TREE: victim,
    GIT_INDEX_FILE: join(victim, '.git/index'),
    GIT_PREFIX: '',
    GIT_AUTHOR_NAME: 'Somebody Else',
    GIT_AUTHOR_EMAIL: 'else@case.invalid',
  }
  const agent = 'env > agent-env.txt; echo w >> app.txt; git add -A; git commit -qm work'
  expect(
    await world.berth(['run', '--name', 't', '--command', agent, '--trust', 'go'], { env, cwd: repo }),
  ).toMatchObject({ code: 0 })

  const task = await world.task(repo, 't')
  expect(task.branch).toBe('berth/t')
  world.git(repo, 'rev-parse', 'refs/heads/berth/t')
  expect(world.git(victim, 'for-each-ref', 'refs/heads/berth')).toBe('')
  expect(readFileSync(join(victim, '.git/index'))).toEqual(index)
  const local = world.git(repo, 'rev-parse', '--local-env-vars').trim().split('\n')
  for (const file of ['agent-env.txt', 'setup-env.txt']) {
    const text = readFileSync(join(task.worktree ?? '', file), 'utf8')
    const names = text.split('\n').map(line => line.split('=')[0])
    expect(
      names.filter(name => local.includes(name ?? '') && !/^GIT_CONFIG_(COUNT|PARAMETERS)/.test(name ?? '')),
    ).toEqual([])
    expect(text).not.toContain('Somebody Else')
  }
  expect(world.git(repo, 'log', '-1', '--format=%an', 'berth/t')).not.toContain('Somebody')
})
