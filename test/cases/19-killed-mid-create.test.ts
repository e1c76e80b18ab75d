// Case 19: the making of a worktree was killed half way.

import { spawn } from 'node:child_process'
import { existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { type World, kill, makeWorld, processesIn, until } from '../fixtures/berth.ts'

test('a creation that was cut off is named so, and starting again clears it and succeeds', async () => {
  const world = makeWorld()
  const repo = await cutOff(world)
  const task = await world.task(repo, 'cut')
  expect(task.reasonCode).toBe('cut-off')
  expect(await world.berth(['run', '--repo', repo])).toMatchObject({ code: 0 })
  const after = await world.task(repo, 'cut')
  expect(after).toMatchObject({ status: 'ready', changes: { files: 1 } })
  expect(world.git(after.worktree ?? '', 'status', '--porcelain')).toBe('')
})

test('removing it takes away folder, entry and branch, and saves no phantom deletions', async () => {
  const world = makeWorld()
  const repo = await cutOff(world)
  expect(await world.berth(['rm', 'cut', '--branch', '--repo', repo])).toMatchObject({ code: 0 })
  expect(existsSync(join(`${repo}.berths`, 'cut'))).toBe(false)
  expect(world.git(repo, 'worktree', 'list', '--porcelain').match(/^worktree /gm)).toHaveLength(1)
  expect(world.git(repo, 'for-each-ref', 'refs/heads/berth', 'refs/berth')).toBe('')
})

test('one that git began elsewhere is named as cut off, with the command after which starting succeeds', async () => {
  const world = makeWorld()
  const repo = slowRepository(world)
  const elsewhere = join(world.dir, 'wt')
  const adding = spawn('git', ['worktree', 'add', '-qb', 'berth/cut', elsewhere, 'main'], {
    cwd: repo,
    env: world.env,
  })
  const run = ['run', '--name', 'cut', '--command', 'echo x > x', '--repo', repo, 'go']
  await until('the checkout to be under way', () => existsSync(join(world.dir, 'held')))
  expect(await world.berth(run)).toMatchObject({ code: 1 })
  const cut = `while taking up its branch: the creation of '${elsewhere}', which has the branch 'berth/cut', was cut off`
  expect((await world.task(repo, 'cut')).reason).toMatch(`${cut}, or is under way: it is used by `)
  expect(existsSync(join(repo, '.git/worktrees/wt/locked'))).toBe(true)

  adding.kill('SIGKILL')
  await killAll(world, repo)
  world.write(join(elsewhere, 'mine.txt'), 'mine\n')
  expect(await world.berth(['retry', 'cut', '--repo', repo])).toMatchObject({ code: 0 })
  const own = `${cut}; it holds files of its own: 'mine.txt'`
  await until('it to be tried', async () => (await world.task(repo, 'cut')).reason === own)

  rmSync(join(elsewhere, 'mine.txt'))
  await world.berth(['retry', 'cut', '--repo', repo])
  await until('it to be tried', async () => (await world.task(repo, 'cut')).reason === cut)
  const [item] = await world.items(repo)
  const hint = item?.evidence.find(({ kind }) => kind === 'hint')?.text ?? ''
  expect(hint).toBe(`git -C ${repo} worktree remove -f -f ${elsewhere} && berth retry cut`)
  expect(await world.type(hint, { cwd: repo })).toMatchObject({ code: 0 })
  await until('it to be ready', async () => (await world.task(repo, 'cut')).status === 'ready')
})

/** Kills all of Berth and git while a slow filter holds the checkout up. */
async function cutOff(world: World): Promise<string> {
  const repo = slowRepository(world)
  const held = join(world.dir, 'held')
  const { child, ended } = world.start([
    'run',
    '--name',
    'cut',
    '--command',
    'echo x > x',
    '--repo',
    repo,
    'go',
  ])
  await until('the checkout to be under way', () => existsSync(held))
  child.kill('SIGKILL')
  await ended
  await killAll(world, repo)
  return repo
}

/** A checkout of it stops half way, and leaves the file `held` to say so. */
function slowRepository(world: World): string {
  const repo = world.repository('repo', {
    '.gitattributes': '*.slow filter=slow\n',
    'a.slow': '1\n',
    'b.slow': '2\n',
    'c.slow': '3\n',
  })
  world.git(repo, 'config', 'filter.slow.clean', 'cat')
  world.git(repo, 'config', 'filter.slow.smudge', `touch '${join(world.dir, 'held')}'; sleep 300; cat`)
  return repo
}

async function killAll(world: World, repo: string): Promise<void> {
  await until('all of it to end', () => {
    const left = processesIn(world.dir)
    for (const { pid } of left) kill(pid)
    return left.length === 0
  })
  world.git(repo, 'config', 'filter.slow.smudge', 'cat')
}
