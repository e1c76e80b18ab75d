// Case 49: exit 0 in four meanings.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { makeWorld } from '../fixtures/berth.ts'

test('a commit is ready, with its one commit counted', async () => {
  const world = makeWorld()
  const repo = world.repository()
  expect(
    await world.berth([
      'run',
      '--name',
      't',
      '--command',
      'echo w >> app.txt; git commit -qam work; echo "All done."',
      '--repo',
      repo,
      'go',
    ]),
  ).toMatchObject({ code: 0 })
  expect(await world.task(repo, 't')).toMatchObject({
    status: 'ready',
    reasonCode: 'ready',
    changes: { files: 1 },
  })
  expect(world.git(repo, 'rev-list', '--count', 'main..berth/t').trim()).toBe('1')
})

test('uncommitted work is committed by Berth and marked so, and not landed without a gate or a person', async () => {
  const world = makeWorld()
  const repo = world.repository()
  const ran = await world.berth([
    'run',
    '--name',
    't',
    '--land',
    'auto',
    '--command',
    'echo w >> app.txt; echo n > new.txt; echo "All done."',
    '--repo',
    repo,
    'go',
  ])
  expect(ran.code).toBe(3)
  expect(await world.task(repo, 't')).toMatchObject({
    status: 'ready',
    reasonCode: 'uncommitted-work',
    changes: { files: 2 },
  })
  expect(await world.items(repo)).toMatchObject([{ kind: 'approve', task: 't' }])
  expect(world.git(repo, 'log', '-1', '--format=%s', 'berth/t')).toBe('berth: uncommitted work of t#1\n')
  expect(world.git(repo, 'rev-list', '--count', 'main').trim()).toBe('1')
})

test.each([[[] as string[]], [['--base', 'ahead']]])(
  'talk without a change goes to a person (%j)',
  async extra => {
    const world = makeWorld()
    const repo = world.repository()
    world.git(repo, 'switch', '-qc', 'ahead')
    world.write(join(repo, 'old'), 'old\n')
    world.git(repo, 'add', '-A')
    world.git(repo, 'commit', '-qm', 'from before')
    world.git(repo, 'switch', '-q', 'main')
    const ran = await world.berth([
      'run',
      '--name',
      't',
      ...extra,
      '--command',
      'echo "I will now start implementing."',
      '--repo',
      repo,
      'go',
    ])
    expect(ran.code).toBe(1)
    expect(await world.task(repo, 't')).toMatchObject({ status: 'failed', reasonCode: 'no-work' })
    expect(await world.items(repo)).toMatchObject([{ task: 't' }])
  },
)

test('a branch with commits from before is still without a change when nothing was added', async () => {
  const world = makeWorld()
  const repo = world.repository()
  world.git(repo, 'switch', '-qc', 'berth/t')
  world.write(join(repo, 'old'), 'old\n')
  world.git(repo, 'add', '-A')
  world.git(repo, 'commit', '-qm', 'from before')
  world.git(repo, 'switch', '-q', 'main')
  await world.berth(['run', '--name', 't', '--command', 'echo "I will now start."', '--repo', repo, 'go'])
  expect(await world.task(repo, 't')).toMatchObject({ status: 'failed', reasonCode: 'no-work' })
})

test('an agent that changed the main checkout instead is brought to a person, with the file', async () => {
  const world = makeWorld()
  const repo = world.repository()
  await world.berth([
    'run',
    '--name',
    't',
    '--command',
    `echo stray >> "${repo}/app.txt"; echo "All done."`,
    '--repo',
    repo,
    'go',
  ])
  expect(await world.task(repo, 't')).toMatchObject({ status: 'failed', reasonCode: 'no-work' })
  const items = await world.items(repo)
  expect(JSON.stringify(items)).toContain('app.txt')
  expect(items.map(item => item.kind)).toContain('trespass')
  expect(readFileSync(join(repo, 'app.txt'), 'utf8')).toBe('one\nstray\n')
})

test('an agent that committed in the main checkout instead is brought to a person, with the file, and nothing is undone', async () => {
  const world = makeWorld()
  const repo = world.repository()
  const commit = `cd "${repo}" && echo stray >> app.txt && git commit -qam "in the wrong place"`
  await world.berth(['run', '--name', 't', '--land', 'auto', '--command', commit, '--repo', repo, 'go'])
  expect(await world.task(repo, 't')).toMatchObject({ status: 'failed', reasonCode: 'no-work' })
  const [item] = await world.items(repo)
  expect(item).toMatchObject({ kind: 'trespass', evidence: [{ kind: 'path', text: 'app.txt' }] })
  expect(world.git(repo, 'log', '-1', '--format=%s')).toBe('in the wrong place\n')
})
