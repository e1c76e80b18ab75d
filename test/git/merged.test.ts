// Merged, or not: each rule decides where it should, and "cannot tell" keeps.

import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { mergedness } from '../../src/git/merged.ts'
import { type Repository } from '../../src/git/open.ts'
import { makeWorld, type World } from '../fixtures/repository.ts'

let world: World
let dir: string
let repo: Repository
let base: string

beforeEach(async () => {
  world = makeWorld()
  const lines = Array.from({ length: 30 }, (_, index) => `${index + 1}\n`).join('')
  dir = world.repository('repo', { 'list.txt': lines })
  base = world.git(dir, 'rev-parse', 'HEAD')
  repo = await world.open(dir)
})
afterEach(() => world.clean())

function change(line: number, to: string): void {
  const file = join(dir, 'list.txt')
  writeFileSync(file, readFileSync(file, 'utf8').replace(new RegExp(`^${line}$`, 'm'), to))
}

/** A branch with two commits, as case 26 makes them. */
function make(name: string, line: number): void {
  world.git(dir, 'switch', '-q', '-c', name, 'main')
  change(line, `${line} ${name}`)
  world.git(dir, 'commit', '-qam', `${name} a`)
  world.commit(dir, `${name} b`, { [`${name}.txt`]: name })
  world.git(dir, 'switch', '-q', 'main')
}

const ask = (branch: string, withBase = true) =>
  mergedness(repo, {
    commit: world.git(dir, 'rev-parse', branch),
    target: 'refs/heads/main',
    ...(withBase ? { base } : {}),
  })

test('squashed, rebased, continued, open and fresh branches are told apart (case 26)', async () => {
  make('squashed', 3)
  make('continued', 9)
  make('rebased', 15)
  make('open', 21)
  for (const name of ['squashed', 'continued']) {
    world.git(dir, 'merge', '-q', '--squash', name)
    world.git(dir, 'commit', '-qm', `${name} (squash)`)
  }
  world.git(dir, 'cherry-pick', 'rebased~1', 'rebased')
  world.git(dir, 'switch', '-q', 'continued')
  world.commit(dir, 'after the merge', { 'more.txt': 'more' })
  world.git(dir, 'switch', '-q', 'main')
  const list = readFileSync(join(dir, 'list.txt'), 'utf8')
  writeFileSync(
    join(dir, 'list.txt'),
    list.replace('3 squashed', '3 later').replace('15 rebased', '15 later'),
  )
  world.git(dir, 'commit', '-qam', 'main moves on in the same line')
  world.git(dir, 'branch', 'fresh', 'main')
  expect({
    squashed: await ask('squashed'),
    rebased: await ask('rebased'),
    continued: await ask('continued'),
    open: await ask('open'),
    fresh: await ask('fresh', false),
  }).toEqual({
    squashed: { is: true, rule: 'squashed', commits: 2 },
    rebased: { is: true, rule: 'rebased', commits: 2 },
    continued: { is: false, rule: 'none', commits: 3 },
    open: { is: false, rule: 'none', commits: 2 },
    fresh: { is: false, rule: 'empty', commits: 0 },
  })
})

test('a branch still at its base is empty, however far the target went', async () => {
  world.git(dir, 'branch', 'fresh')
  expect(await ask('fresh')).toEqual({ is: false, rule: 'empty', commits: 0 })
  world.commit(dir, 'more', { 'b.txt': 'b' })
  expect(await ask('fresh')).toEqual({ is: false, rule: 'empty', commits: 0 })
  expect(await ask('fresh', false)).toEqual({ is: false, rule: 'empty', commits: 0 })
})

test('a branch that was brought up to the target without work of its own is empty', async () => {
  world.git(dir, 'branch', 'synced')
  world.commit(dir, 'more', { 'b.txt': 'b' })
  world.git(dir, 'branch', '-f', 'synced', 'main')
  expect(await ask('synced', false)).toEqual({ is: false, rule: 'empty', commits: 0 })
})

test('a landed branch is an ancestor, a fast-forwarded one the same', async () => {
  make('landed', 3)
  world.git(dir, 'merge', '-q', '--no-ff', '-m', 'land', 'landed')
  expect(await ask('landed')).toEqual({ is: true, rule: 'ancestor', commits: 0 })
  expect(await ask('landed', false)).toEqual({ is: true, rule: 'ancestor', commits: 0 })
  make('ahead', 9)
  world.git(dir, 'merge', '-q', '--ff-only', 'ahead')
  expect(await ask('ahead')).toEqual({ is: true, rule: 'same', commits: 0 })
})

test('commits that undo each other change nothing', async () => {
  make('undone', 3)
  world.git(dir, 'switch', '-q', 'undone')
  world.git(dir, 'revert', '--no-edit', 'HEAD', 'HEAD~1')
  world.git(dir, 'switch', '-q', 'main')
  world.commit(dir, 'more', { 'b.txt': 'b' })
  expect(await ask('undone')).toEqual({ is: true, rule: 'no-change', commits: 4 })
})

test('content that is in the target already is found by the tree of a merge', async () => {
  make('same', 3)
  change(3, '3 same')
  world.commit(dir, 'by hand, with more', { 'same.txt': 'same', 'b.txt': 'b' })
  expect(await ask('same')).toEqual({ is: true, rule: 'tree', commits: 2 })
})

test('an unknown commit is not merged, and no object is added', async () => {
  make('open', 3)
  const before = world.git(dir, 'count-objects', '-v')
  await ask('open')
  expect(world.git(dir, 'count-objects', '-v')).toBe(before)
  const outcome = await mergedness(repo, { commit: '1'.repeat(40), target: 'refs/heads/main' })
  expect(outcome).toEqual({ is: false, rule: 'unknown', commits: 0 })
})
