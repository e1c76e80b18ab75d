// What people do by hand to a task's work: conflicts and gates mended in its worktree, and a worktree deleted.

import { execFileSync } from 'node:child_process'
import { existsSync, renameSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { type TaskView } from '../../src/core/api.ts'
import { makeWorld, until, type World } from '../fixtures/berth.ts'

const commit = (file: string, text = 'x'): string =>
  `echo ${text} >${file}; git add -A; git commit -qm ${file}`

const run = (world: World, repo: string, command: string, ...more: string[]) =>
  world.berth(['run', '--name', 't', '--command', command, ...more, 'do it'], { cwd: repo })

/** Runs what an item says to type, as typed. */
const type = (world: World, cwd: string, command: string): void => {
  execFileSync('sh', ['-c', `${command} || true`], { cwd, env: world.env, stdio: 'pipe' })
}

const berth = (world: World, repo: string, command: string) =>
  world.berth(command.split(' ').slice(1), { cwd: repo })

test('a conflict is resolved by hand with the commands that its item gives, and lands', async () => {
  const world = makeWorld()
  const repo = world.repository()
  expect((await run(world, repo, commit('app.txt', 'theirs'))).code).toBe(0)
  world.write(join(repo, 'app.txt'), 'ours\n')
  world.git(repo, 'commit', '-qam', 'main moved')
  expect((await world.berth(['land', 't'], { cwd: repo })).code).toBe(1)
  const [item] = await world.items(repo)
  const way = (key: string): string => item?.actions.find(action => action.key === key)?.command ?? ''
  const worktree = (await world.task(repo, 't')).worktree ?? ''
  expect([item?.kind, way('resolve')]).toEqual(['conflict', `git -C ${worktree} merge main`])
  type(world, repo, way('resolve'))
  world.write(join(worktree, 'app.txt'), 'both\n')
  world.git(worktree, 'commit', '-qam', 'resolved')
  const landed = await berth(world, repo, way('land'))
  expect([landed.code, landed.err]).toEqual([0, expect.stringContaining('landed')])
  expect(world.git(repo, 'show', 'main:app.txt')).toBe('both\n')
})

test('a merge that is not finished yet is said to be that, and lands once it is; the target’s work stays the target’s', async () => {
  const world = makeWorld()
  const repo = world.repository()
  expect((await run(world, repo, commit('app.txt', 'theirs'))).code).toBe(0)
  world.write(join(repo, 'app.txt'), 'ours\n')
  world.write(join(repo, 'more.txt'), 'ours\n')
  world.git(repo, 'add', '-A')
  world.git(repo, 'commit', '-qm', 'main moved')
  expect((await world.berth(['land', 't'], { cwd: repo })).code).toBe(1)
  const worktree = (await world.task(repo, 't')).worktree ?? ''
  type(world, repo, `git -C ${worktree} merge main`)
  const early = await world.berth(['land', 't'], { cwd: repo })
  const told = "'t' cannot land yet: a merge in its worktree is not finished"
  expect([early.code, early.err]).toEqual([3, `berth: ${told}\nhint: git -C ${worktree} status\n`])
  expect((await world.items(repo)).map(({ kind }) => kind)).toEqual(['conflict'])
  // What stands against a removal now does not later, when it has landed.
  const removal = await world.berth(['rm', 't'], { cwd: repo })
  expect([removal.code, removal.err]).toEqual([3, expect.stringContaining('1 operation in progress')])
  world.write(join(worktree, 'app.txt'), 'both\n')
  world.git(worktree, 'commit', '-qam', 'resolved')
  const landed = await world.berth(['land', 't'], { cwd: repo })
  expect([landed.code, landed.err]).toEqual([0, expect.stringContaining('landed')])
  await until('its workspace to go', () => !existsSync(worktree))
  expect((await world.task(repo, 't')).changes).toMatchObject({ files: 1 })
  const facts = await world.facts(repo)
  const factsOf = (kind: string, ...fields: string[]) =>
    facts.filter(fact => fact.kind === kind).map(fact => fields.map(field => fact[field]))
  expect(factsOf('commit.made', 'by', 'subject')).toEqual([
    ['agent', 'app.txt'],
    ['person', 'resolved'],
  ])
  expect(new Set(factsOf('file.changed', 'path').flat())).toEqual(new Set(['app.txt']))
})

test('what a red gate asks for is mended by hand, and lands; an order that met the gate does not land it', async () => {
  const world = makeWorld()
  const repo = world.repository()
  world.write(
    join(repo, 'berth.toml'),
    '[recovery]\nattempts = 1\n[[gates]]\nname = "two"\nrun = "test ! -e one || { touch seen; test -e two; }"\n',
  )
  world.git(repo, 'add', '-A')
  world.git(repo, 'commit', '-qm', 'gates')
  expect((await run(world, repo, commit('one'), '--trust')).code).toBe(1)
  const [item] = await world.items(repo)
  expect(item?.actions.map(({ key }) => key)).toEqual(['retry', 'land', 'rm'])
  const worktree = (await world.task(repo, 't')).worktree ?? ''
  type(world, worktree, commit('two'))
  rmSync(join(worktree, 'seen'), { force: true })
  const left = await world.berth(['land', 't'], { cwd: repo })
  expect([left.code, left.err]).toEqual([1, expect.stringContaining('it left changes in the worktree: seen')])
  const shown = await world.berth(['show', 't'], { cwd: repo })
  expect(shown.out).toMatch(/failed {2}two {2}it left changes in the worktree: seen {2}\(in its workspace, /)
  world.write(join(repo, 'berth.toml'), '[[gates]]\nname = "two"\nrun = "test -e two"\n')
  world.git(repo, 'commit', '-qam', 'a gate that writes nothing')
  rmSync(join(worktree, 'seen'), { force: true })
  const landed = await world.berth(['land', 't'], { cwd: repo })
  expect([landed.code, landed.err]).toEqual([0, expect.stringContaining('landed')])
})

/** `berth retry` goes on in the background: the task as it is once it rests. */
async function retried(world: World, repo: string): Promise<TaskView> {
  const again = await world.berth(['retry', 't'], { cwd: repo })
  expect([again.code, again.err]).toEqual([0, expect.stringContaining('goes on in the background')])
  return until('the task to rest', async () => {
    const task = await world.task(repo, 't')
    return (task.status === 'landed' || task.status === 'failed') && task
  })
}

const failing = `${commit('one')}; exit 1`
const mended = `[ -e one ] && { ${commit('two')}; exit; }; ${failing}`

test('work that was mended by hand lands although the last attempts failed, with the red gate told until then', async () => {
  const world = makeWorld()
  const settings = 'gates = ["test ! -e bad"]\n[recovery]\nattempts = 2\nbackoff = "10ms"\n'
  const repo = world.repository('repo', { 'a.txt': 'a\n', 'berth.toml': settings })
  const ran = await run(world, repo, `[ -e bad ] && exit 1; ${commit('bad')}`, '--trust')
  expect([ran.code, ran.err]).toEqual([1, expect.stringContaining("before that gate 'test ! -e bad' failed")])
  const [item] = await world.items(repo)
  const way = item?.actions.find(({ key }) => key === 'land')?.command ?? ''
  expect([item?.kind, way]).toEqual(['failed', expect.stringContaining('berth land t')])
  const red = await berth(world, repo, way)
  expect([red.code, red.err]).toEqual([
    1,
    expect.stringContaining("gate 'test ! -e bad' failed: exit code 1"),
  ])
  type(
    world,
    (await world.task(repo, 't')).worktree ?? '',
    'git rm -q bad; echo x >good; git add -A; git commit -qm mended',
  )
  const landed = await berth(world, repo, way)
  expect([landed.code, landed.err]).toEqual([0, expect.stringContaining('landed')])
  expect(world.git(repo, 'ls-tree', '--name-only', 'main')).toBe('a.txt\nberth.toml\ngood\n')
})

test('a worktree that was deleted by hand is made again from its branch when it is retried', async () => {
  const world = makeWorld()
  const repo = world.repository()
  world.write(join(repo, 'berth.toml'), '[recovery]\nattempts = 1\n')
  world.git(repo, 'add', '-A')
  world.git(repo, 'commit', '-qm', 'one attempt')
  expect((await run(world, repo, mended, '--land', 'auto')).code).toBe(1)
  const worktree = (await world.task(repo, 't')).worktree ?? ''
  const lost = world
    .git(worktree, 'commit-tree', '-p', 'HEAD', '-m', 'only in the reflog', 'HEAD^{tree}')
    .trim()
  world.git(worktree, 'checkout', '-q', lost)
  world.git(worktree, 'switch', '-q', 'berth/t')
  rmSync(worktree, { recursive: true })
  expect(await retried(world, repo)).toMatchObject({ status: 'landed', branch: 'berth/t' })
  expect(world.git(repo, 'ls-tree', '--name-only', 'main')).toBe('app.txt\nberth.toml\none\ntwo\n')
  const saved = await world.json<{ saved: { commit: string }[] }>(['saved'], { cwd: repo })
  expect(world.git(repo, 'rev-parse', `${saved.saved[0]?.commit}^1`).trim()).toBe(lost)
  await until('its workspace to go', () => !existsSync(worktree))
  expect(world.git(repo, 'worktree', 'list')).not.toContain(`${worktree} `)
})

test.each([
  ['holds staged work', 'git add new; rm -rf "$PWD"', 'staged work', 'berth rm t --discard'],
  ['was moved', 'mv "$PWD" ../elsewhere', 'was moved to', 'mv '],
])('a missing worktree whose entry %s is not taken out of git', async (_what, deed, told, hint) => {
  const world = makeWorld()
  const repo = world.repository()
  world.write(join(repo, 'berth.toml'), '[recovery]\nattempts = 1\n')
  world.git(repo, 'add', '-A')
  world.git(repo, 'commit', '-qm', 'one attempt')
  expect((await run(world, repo, failing)).code).toBe(1)
  const worktree = (await world.task(repo, 't')).worktree ?? ''
  type(world, worktree, `echo new >new; ${deed}`)
  expect((await retried(world, repo)).reason).toContain(told)
  const [item] = await world.items(repo)
  expect(item?.evidence.find(({ kind }) => kind === 'hint')?.text).toContain(hint)
  expect(world.git(repo, 'worktree', 'list')).toContain(worktree)
})

test('a task whose managed root is away fails with that, and goes on when it is back', async () => {
  const world = makeWorld()
  const repo = world.repository()
  world.write(join(repo, 'berth.toml'), '[recovery]\nattempts = 1\n')
  world.git(repo, 'add', '-A')
  world.git(repo, 'commit', '-qm', 'one attempt')
  expect((await run(world, repo, mended, '--land', 'auto')).code).toBe(1)
  const root = dirname((await world.task(repo, 't')).worktree ?? '')
  renameSync(root, `${root}-away`)
  expect((await retried(world, repo)).reason).toContain('is a volume not mounted?')
  rmSync(root, { recursive: true, force: true })
  renameSync(`${root}-away`, root)
  expect((await retried(world, repo)).status).toBe('landed')
})

test('a task that was removed is not resumed, retried or landed: it is said to be gone, with the way on', async () => {
  const world = makeWorld()
  const repo = world.repository()
  expect((await run(world, repo, commit('one'))).code).toBe(0)
  expect((await world.berth(['rm', 't', '--wait'], { cwd: repo })).code).toBe(0)
  for (const verb of ['resume', 'retry']) {
    const refused = await world.berth([verb, 't'], { cwd: repo })
    expect([refused.code, refused.err]).toEqual([
      2,
      'berth: \'t\' is dropped and gone\nhint: berth run "BRIEF"\n',
    ])
  }
  const landed = await world.berth(['land', 't'], { cwd: repo })
  expect([landed.code, landed.err]).toEqual([3, "berth: 't' is dropped, not ready\nhint: berth show t\n"])
  const again = await run(world, repo, '[ -e one ] && echo two >one && git commit -qam two', '--land', 'auto')
  expect([again.code, again.err]).toEqual([0, expect.stringContaining('landed')])
  expect(world.git(repo, 'show', 'main:one')).toBe('two\n')
})
