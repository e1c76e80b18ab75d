// Registry and disk that disagree: who a directory belongs to, and that nothing in it is taken for nothing (case 33).

import { existsSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { execFileSync } from 'node:child_process'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { archiveFolder, belongingOf, repairMoved, surveyFolder } from '../../src/git/orphan.ts'
import { type Repository } from '../../src/git/open.ts'
import { makeWorld, type World } from '../fixtures/repository.ts'

let world: World
let repo: Repository

beforeEach(async () => {
  world = makeWorld()
  repo = await world.open(world.repository())
})
afterEach(() => world.clean())

function add(name: string): string {
  const path = world.path('root', name)
  world.git(repo.root, 'worktree', 'add', '-q', '-b', `task/${name}`, path)
  return path
}

test('registered, moved, orphaned and foreign directories are told apart', async () => {
  const fine = add('fine')
  const moved = add('moved')
  const orphan = add('orphan')
  const there = world.path('root', 'moved-by-hand')
  renameSync(moved, there)
  rmSync(join(repo.commonDir, 'worktrees', 'orphan'), { recursive: true })
  world.write(world.path('root/users-folder/keep.txt'), 'keep')
  const other = world.repository('other')
  expect(await belongingOf(repo, fine)).toEqual({
    is: 'registered',
    entryDir: join(repo.commonDir, 'worktrees/fine'),
  })
  expect(await belongingOf(repo, there)).toEqual({
    is: 'moved',
    entryDir: join(repo.commonDir, 'worktrees/moved'),
    from: moved,
  })
  expect(await belongingOf(repo, orphan)).toEqual({ is: 'orphan' })
  expect(await belongingOf(repo, world.path('root/users-folder'))).toEqual({ is: 'other' })
  expect(await belongingOf(repo, other)).toEqual({ is: 'other' })
  expect(await repairMoved(repo, { dir: there, lock: world.lock })).toBe(undefined)
  expect(await belongingOf(repo, there)).toMatchObject({ is: 'registered' })
  expect(world.git(there, 'status', '--porcelain')).toBe('')
})

test('every file of an orphan is a loss, and can be saved whole', async () => {
  const orphan = add('orphan')
  rmSync(join(repo.commonDir, 'worktrees', 'orphan'), { recursive: true })
  world.write(join(orphan, 'only-copy.txt'), 'not committed')
  expect(await surveyFolder(orphan)).toEqual([
    { kind: 'untracked', count: 2, examples: ['app.txt', 'only-copy.txt'] },
  ])
  expect((await surveyFolder(world.path('nowhere')))[0]?.kind).toBe('unknown')
  await archiveFolder(orphan, world.path('orphan.tar'))
  const listed = execFileSync('tar', ['-tf', world.path('orphan.tar')], { encoding: 'utf8' })
    .split('\n')
    .toSorted()
  expect(listed).toEqual(['', '.git', 'app.txt', 'only-copy.txt'])
  expect(existsSync(join(orphan, 'only-copy.txt'))).toBe(true)
})
