// Wrong usage, wrong files, wrong places: what is said, with the way out and the exit code, whole.

import { join } from 'node:path'
import { expect, test } from 'vitest'
import { makeWorld } from '../fixtures/berth.ts'
import { talkWith } from './transcript.ts'

test('wrong verbs, flags and arguments are named with the nearest valid one', async () => {
  const world = makeWorld()
  const { berth, isGolden } = talkWith(world, world.repository())
  await berth([])
  await berth(['lss'])
  await berth(['blame', 'x'])
  await berth(['help', 'lss'])
  await berth(['--repo', '.', 'lss', '--help'])
  await berth(['ls', '--jsno'])
  await berth(['ls', '--jsno', '--json'])
  await berth(['run', '--engien', 'x', 'y'])
  await berth(['run', '- fix the list'])
  await berth(['answer'])
  await berth(['answer', 'x', 'ANSWER'])
  await berth(['status', '--all'])
  await berth(['pause', 'now'])
  await berth(['run', '--jobs'])
  await berth(['run', '--file'])
  await berth(['run', '--jobs', 'many', 'x'])
  await berth(['run', '--timeout', '30', 'x'])
  await berth(['run', '--budget', '5', 'x'])
  await berth(['run', '--land', 'now', 'x'])
  await berth(['daemon', 'strt'])
  await berth(['log', '--format', 'xml'])
  await berth(['log', '--since', 'yesterday'])
  await berth(['completion', 'tcsh'])
  await berth(['rm'])
  await berth(['rm', 'x', '--save', '--discard'])
  await berth(['restore', 'x', '--to', 'a', '--task', 'b'])
  await berth(['ask', 'why?'])
  await berth(['report', 'don'])
  await isGolden('usage')
})

test('help is what --help says, of all and of a verb', async () => {
  const world = makeWorld()
  for (const [asked, same] of [
    [['help'], ['--help']],
    [
      ['help', 'run'],
      ['run', '--help'],
    ],
  ] as const) {
    const expected = await world.berth([...same])
    expect(expected).toMatchObject({
      code: 0,
      err: '',
      out: expect.stringMatching(/^Usage: berth /) as unknown,
    })
    expect(await world.berth([...asked])).toEqual(expected)
  }
})

test('wrong task files and briefs are refused with line and column, before anything is made', async () => {
  const world = makeWorld()
  const repo = world.repository()
  const { berth, isGolden } = talkWith(world, repo)
  const file = async (name: string, text: string | Buffer) => {
    world.write(join(repo, '..', name), text)
    await berth(['run', '-f', `../${name}`, '--command', 'true'])
  }
  await berth(['run', ''])
  await berth(['run', '--name', 'Fix It', 'x'])
  await berth(['run', '--name', 'one', 'x', 'y'])
  await berth(['run', 'BRIEF'])
  await berth(['run', '--trust', 'app.txt'])
  await berth(['run', '-f', '../none.md'])
  await berth(['run', '-f', '../none.md', 'x'])
  await file('heading.md', '## a: t\n\nx\n\n## Overview\n\ny\n')
  await berth(['run', '-f', '../headign.md', '--trust'])
  await file('cycle.md', '## a: t\nafter: b\n\nx\n## b: t\nafter: c\n\nx\n## c: t\nafter: a\n\nx\n')
  await file('twice.md', '## a: t\n\nx\n## a: t\n\ny\n')
  await file('unknown.md', '## login: t\n\nx\n## b: t\nafter: logni\n\ny\n')
  await file('key.yaml', 'tasks:\n  - name: a\n    breif: x\n')
  await file('bad.json', '{"tasks": [{"brief": "x",}]}')
  await file('latin.md', Buffer.from([0x23, 0x23, 0x20, 0x61, 0x3a, 0x20, 0x74, 0x0a, 0x0a, 0xe9]))
  await file('account.md', '## a: t\naccount: work\n\nx\n')
  await berth(['run', '-'], { input: '## a: t\n\n \n' })
  await isGolden('task-files')
  expect(world.git(repo, 'worktree', 'list').trim().split('\n')).toHaveLength(1)
  expect(world.git(repo, 'branch').trim()).toBe('* main')
})

test('a dry run lists and starts nothing', async () => {
  const world = makeWorld()
  const repo = world.repository()
  const { berth, isGolden } = talkWith(world, repo)
  world.write(
    join(repo, '..', 'tasks.md'),
    '---\nengine: codex\n---\n## a: The first\n\nx\n## b: The second\nafter: a\n\ny\n',
  )
  await berth(['run', '-f', '../tasks.md', '--dry-run'])
  await berth(['run', '--dry-run', 'Fix the login', 'Fix the login'])
  await berth(['run', '--dry-run', '--json', '-'], { input: '## a: t\n\nx\n' })
  await isGolden('dry-run')
})

test('wrong places and configuration are refused with the way out', async () => {
  const world = makeWorld()
  const repo = world.repository()
  const { berth, isGolden } = talkWith(world, repo)
  await berth(['run', '--command', 'true', '--repo', world.dir, 'x'])
  await berth(['ls', '--repo', '/no/such/place'])
  await berth(['show', 'nobody'])
  await berth(['diff', 'nobody'])
  await berth(['log', '--task', 'nobody'])
  await berth(['log', '--kind', 'run.exitd'])
  await berth(['log', '--kind', 'nothing.*'])
  await berth(['daemon', 'status'])
  await berth(['run', '--engine', 'cluade', 'x'])
  await berth(['run', '--engine', 'codex', 'x'], { env: { PATH: '/usr/bin:/bin' } })
  world.write(join(repo, 'berth.toml'), 'target = "main"\n\n[limits]\njob = 3\n')
  await berth(['run', '--command', 'true', 'x'])
  await berth(['config'])
  world.write(join(repo, 'berth.toml'), 'setup = ["npm ci"]\ngates = ["npm test"]\n')
  await berth(['run', '--command', 'true', 'x'])
  await berth(['run', '--command', 'true', '--json', 'x'])
  world.write(join(repo, 'berth.toml'), 'gates = ["no-such-program --all"]\n')
  await berth(['run', '--command', 'true', '--trust', 'x'])
  await berth(['init'])
  await isGolden('places')
})
