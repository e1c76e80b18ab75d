// The index read as a file and as git tells it: one answer; and what the file alone does not say is left for git.

import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { inDirectory } from '../../src/git/git.ts'
import { parseIndex, readIndexFile } from '../../src/git/indexfile.ts'
import { askTracked, readTracked, type Tracked } from '../../src/git/tracked.ts'
import { makeWorld, type World } from '../fixtures/repository.ts'

let world: World
let repo: string
beforeEach(() => {
  world = makeWorld()
  const files: { [path: string]: string } = { 'app.txt': '1\n', 'flagged.txt': '1\n', 'skipped.txt': '1\n' }
  for (let i = 0; i < 40; i++) files[`d${i % 3}/${'x'.repeat(i)}ü.txt`] = `${i}\n`
  repo = world.repository('repo', files)
})
afterEach(() => world.clean())

const folders = ['d0', 'd1', 'd', 'app.txt', 'd2/x', 'lib', 'none']

async function both(): Promise<{ file: unknown; asked: unknown }> {
  const at = inDirectory(await world.open(repo), repo)
  const plain = (tracked: Tracked | { is: 'unknown' }): unknown => {
    if (tracked.is !== 'tracked') return tracked
    const { hasUnder, ...rest } = tracked
    return { ...rest, under: folders.map(hasUnder) }
  }
  return { file: plain(await readTracked(at)), asked: plain(await askTracked(at)) }
}

test('the file and git say the same of flags, submodules and folders', async () => {
  world.git(repo, 'update-index', '--assume-unchanged', 'flagged.txt', 'd1/xü.txt')
  world.git(repo, 'update-index', '--skip-worktree', 'skipped.txt', 'd1/xü.txt')
  world.git(repo, 'update-index', '--add', '--cacheinfo', `160000,${'1'.repeat(40)},lib`)
  world.write(join(repo, 'new.txt'), 'x')
  world.git(repo, 'add', '-N', 'new.txt')
  const { file, asked } = await both()
  expect(await readIndexFile(repo)).toBeDefined()
  expect(file).toEqual(asked)
  expect(file).toMatchObject({
    links: ['lib'],
    flagged: [{ path: 'd1/xü.txt' }, { path: 'flagged.txt' }, { path: 'skipped.txt' }],
    under: [true, true, false, false, false, false, false],
  })
})

const unusual: { what: string; make: () => void }[] = [
  { what: 'version 4', make: () => world.git(repo, 'update-index', '--index-version', '4') },
  { what: 'a split index', make: () => world.git(repo, 'update-index', '--split-index') },
  {
    what: 'a sparse index',
    make: () => world.git(repo, 'sparse-checkout', 'set', '--cone', '--sparse-index', 'd0'),
  },
  {
    what: 'a conflict',
    make: () => {
      world.git(repo, 'checkout', '-q', '-b', 'other')
      world.commit(repo, 'theirs', { 'app.txt': 'theirs\n' })
      world.git(repo, 'checkout', '-q', '-')
      world.commit(repo, 'ours', { 'app.txt': 'ours\n' })
      expect(() => world.git(repo, 'merge', 'other')).toThrow()
    },
  },
]

test.each(unusual)('$what is left for git to answer', async ({ make }) => {
  world.git(repo, 'update-index', '--skip-worktree', 'd1/xü.txt')
  make()
  expect(await readIndexFile(repo)).toBeUndefined()
  const { file, asked } = await both()
  expect(file).toEqual(asked)
  expect(file).toMatchObject({ is: 'tracked' })
})

test('a file that is cut, altered or none is left for git to answer', async () => {
  const index = join(repo, '.git/index')
  const bytes = readFileSync(index)
  expect(parseIndex(bytes)).toBeDefined()
  for (const length of [0, 11, 40, bytes.length - 1])
    expect(parseIndex(bytes.subarray(0, length))).toBeUndefined()
  const altered = Buffer.from(bytes)
  altered[80] = (altered[80] ?? 0) ^ 1
  expect(parseIndex(altered)).toBeUndefined()
  writeFileSync(index, bytes.subarray(0, 11))
  expect(await both()).toMatchObject({ file: { is: 'unknown' } })
})
