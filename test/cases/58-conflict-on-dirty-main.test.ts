// Case 58: a task conflicts with the target while the person has work in their checkout.

import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { makeWorld } from '../fixtures/berth.ts'

test('a conflict is found beside the checkout, which stays as it is, and the queue goes on', async () => {
  const world = makeWorld()
  const repo = world.repository('repo', { 'app.txt': 'one\n', 'other.txt': '1\n' })
  const bad = 'echo theirs > app.txt; git commit -qam conflicting'
  expect(await world.berth(['run', '--name', 'bad', '--command', bad, '--repo', repo, 'bad'])).toMatchObject({
    code: 0,
  })
  expect(
    await world.berth([
      'run',
      '--name',
      'good',
      '--command',
      'echo fine > new.txt; git add .; git commit -qm fine',
      '--repo',
      repo,
      'good',
    ]),
  ).toMatchObject({ code: 0 })
  world.write(join(repo, 'app.txt'), 'ours\n')
  world.git(repo, 'commit', '-qam', 'main moved')
  world.write(join(repo, 'other.txt'), '1\nuser edit\n')
  world.write(join(repo, 'staged.txt'), 'staged\n')
  world.git(repo, 'add', 'staged.txt')
  world.write(join(repo, 'untracked.txt'), 'u\n')
  const before = {
    main: world.git(repo, 'rev-parse', 'main'),
    status: world.git(repo, 'status', '--porcelain'),
  }

  const first = await world.berth(['land', 'bad', '--repo', repo])
  expect(first.code).toBe(1)
  expect(world.git(repo, 'rev-parse', 'main')).toBe(before.main)
  expect(world.git(repo, 'status', '--porcelain')).toBe(before.status)
  expect(await world.task(repo, 'bad')).toMatchObject({ status: 'failed', reasonCode: 'conflict' })
  expect(await world.items(repo)).toMatchObject([{ kind: 'conflict', task: 'bad' }])
  expect(JSON.stringify(await world.items(repo))).toContain('app.txt')

  expect(await world.berth(['land', 'good', '--repo', repo])).toMatchObject({ code: 0 })
  expect(world.git(repo, 'status', '--porcelain')).toBe(before.status)
  expect(world.git(repo, 'show', 'main:new.txt')).toBe('fine\n')
  expect(existsSync(join(repo, '.git/MERGE_HEAD'))).toBe(false)
  expect(existsSync(join(repo, 'new.txt'))).toBe(true)
})

test.each(['modified', 'untracked', 'ignored'])(
  'a %s file in the way of a landing is told apart from a conflict, and kept',
  async how => {
    const world = makeWorld()
    const repo = world.repository('repo', { 'app.txt': 'one\n', '.gitignore': '*.ign\n' })
    const file = how === 'modified' ? 'app.txt' : how === 'untracked' ? 'new.txt' : 'local.ign'
    const agent = `echo theirs > ${file}; git add -f ${file}; git commit -qm change`
    expect(await world.berth(['run', '--name', 't', '--command', agent, '--repo', repo, 'go'])).toMatchObject(
      { code: 0 },
    )
    world.write(join(repo, file), 'mine\n')
    const main = world.git(repo, 'rev-parse', 'main')
    await world.berth(['land', 't', '--repo', repo])
    expect(world.git(repo, 'rev-parse', 'main')).toBe(main)
    expect(await world.task(repo, 't')).toMatchObject({ status: 'ready', reasonCode: 'target-busy' })
    expect((await world.task(repo, 't')).reason).toContain(file)
    world.git(repo, 'hash-object', file)
    expect(world.git(repo, 'diff', '--no-index', '--', file, file)).toBe('')
  },
)
