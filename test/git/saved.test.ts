// Saving work before a removal, and getting it back: nothing is lost, nothing of the worktree is touched.

import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type Git, inDirectory } from '../../src/git/git.ts'
import { type Repository } from '../../src/git/open.ts'
import { restoreSaved } from '../../src/git/restore.ts'
import { listSaved, removeSaved, type SaveOutcome, type SaveRequest, saveWork } from '../../src/git/saved.ts'
import { surveyWork } from '../../src/git/survey.ts'
import { makeWorld, type World } from '../fixtures/repository.ts'

let world: World
let wt: string
let repo: Repository
let at: Git

beforeEach(async () => {
  world = makeWorld()
  const dir = world.repository('repo', {
    'a.txt': '1\n',
    'b.txt': '1\n',
    'gone.txt': '1\n',
    '.gitignore': '.env\nnotes/\n',
  })
  wt = world.path('wt')
  world.git(dir, 'worktree', 'add', '-q', '-b', 'task/a', wt)
  repo = await world.open(dir)
  at = inDirectory(repo, wt)
})
afterEach(() => world.clean())

const ref = 'refs/berth/saved/a/20300101T000000Z'
const look = () => surveyWork(at, { rebuildable: ['node_modules'], known: [] })

async function save(over: Partial<SaveRequest> = {}): Promise<SaveOutcome> {
  return saveWork(at, {
    ref,
    survey: await look(),
    archiveFile: world.path('private', 'a.tar'),
    identity: { name: 'a (berth)', email: 'a@berth.invalid' },
    message: 'berth: saved work of a\n',
    ...over,
  })
}

const show = (revision: string): string => world.git(repo.root, 'show', revision)

function messUp(): void {
  writeFileSync(join(wt, 'a.txt'), 'staged\n')
  world.git(wt, 'add', 'a.txt')
  writeFileSync(join(wt, 'a.txt'), 'and then changed\n')
  world.git(wt, 'update-index', '--skip-worktree', 'b.txt')
  writeFileSync(join(wt, 'b.txt'), 'hidden\n')
  rmSync(join(wt, 'gone.txt'))
  world.write(join(wt, 'new dir/c é.txt'), 'new\n')
  symlinkSync('a.txt', join(wt, 'link'))
  world.write(join(wt, '.env'), 'SECRET=1\n')
  world.write(join(wt, 'notes/handoff.md'), 'found the cause\n')
}

test('nothing to lose makes nothing', async () => {
  expect(await save()).toEqual({ is: 'nothing' })
  expect(await listSaved(repo)).toEqual([])
})

test('staged, changed, hidden, deleted, new and ignored work is saved, and the worktree stays as it was', async () => {
  messUp()
  const before = [
    world.git(wt, 'status', '--porcelain'),
    world.git(wt, 'rev-parse', 'HEAD'),
    world.git(wt, 'ls-files', '-s'),
  ]
  const saved = await save()
  expect(saved).toMatchObject({ is: 'saved', ref, archive: world.path('private', 'a.tar'), skipped: [] })
  expect([
    world.git(wt, 'status', '--porcelain'),
    world.git(wt, 'rev-parse', 'HEAD'),
    world.git(wt, 'ls-files', '-s'),
  ]).toEqual(before)
  expect(show(`${ref}:a.txt`)).toBe('and then changed')
  expect(show(`${ref}^2:a.txt`)).toBe('staged')
  expect(show(`${ref}:b.txt`)).toBe('hidden')
  expect(show(`${ref}:new dir/c é.txt`)).toBe('new')
  expect(show(`${ref}:link`)).toBe('a.txt')
  expect(world.git(repo.root, 'ls-tree', '-r', '--name-only', ref)).not.toContain('gone.txt')
  expect(execFileSync('tar', ['-tf', world.path('private', 'a.tar')], { encoding: 'utf8' })).toBe(
    '.env\nnotes/handoff.md\n',
  )
  expect(statSync(world.path('private', 'a.tar')).mode & 0o777).toBe(0o600)
  const head = world.git(wt, 'rev-parse', 'HEAD')
  expect(world.git(repo.root, 'rev-parse', `${ref}^1`)).toBe(head)
})

test('where git trusts the checkout by name alone, work is saved nevertheless (case 16)', async () => {
  messUp()
  world.git(repo.root, 'config', '--global', 'safe.directory', repo.root)
  world.git(repo.root, 'config', '--global', '--add', 'safe.directory', wt)
  at = { ...at, env: { ...at.env, GIT_TEST_ASSUME_DIFFERENT_OWNER: '1' } }
  expect(await save()).toMatchObject({ is: 'saved', skipped: [] })
})

test('saved work comes back into a worktree, uncommitted', async () => {
  messUp()
  const saved = await save()
  if (saved.is !== 'saved') throw new Error(JSON.stringify(saved))
  const other = world.path('other')
  world.git(repo.root, 'worktree', 'add', '-q', '-b', 'task/b', other)
  const outcome = await restoreSaved(repo, {
    ref,
    archive: saved.archive,
    to: 'worktree',
    worktree: inDirectory(repo, other),
  })
  expect(outcome).toEqual({ is: 'restored', to: other, left: [] })
  expect(world.git(other, '-c', 'core.quotePath=false', 'status', '--porcelain', '-uall')).toBe(
    ' M a.txt\n M b.txt\n D gone.txt\n?? link\n?? "new dir/c é.txt"',
  )
  expect(readFileSync(join(other, '.env'), 'utf8')).toBe('SECRET=1\n')
  expect(readFileSync(join(other, 'notes/handoff.md'), 'utf8')).toBe('found the cause\n')
})

test('restoring never overwrites: changes refuse it, other files of the same name are kept and named', async () => {
  messUp()
  const saved = await save()
  if (saved.is !== 'saved') throw new Error(JSON.stringify(saved))
  const other = world.path('other')
  world.git(repo.root, 'worktree', 'add', '-q', '-b', 'task/b', other)
  const request = { ref, archive: saved.archive, to: 'worktree', worktree: inDirectory(repo, other) } as const
  writeFileSync(join(other, 'a.txt'), 'mine\n')
  expect(await restoreSaved(repo, request)).toMatchObject({
    is: 'refused',
    reason: `'${other}' has uncommitted changes`,
  })
  world.git(other, 'checkout', '-q', 'a.txt')
  world.write(join(other, 'link'), 'mine')
  expect(await restoreSaved(repo, request)).toMatchObject({ is: 'refused' })
  rmSync(join(other, 'link'))
  world.write(join(other, '.env'), 'MINE=1\n')
  expect(await restoreSaved(repo, request)).toMatchObject({ is: 'restored', left: ['.env'] })
  expect(readFileSync(join(other, '.env'), 'utf8')).toBe('MINE=1\n')
})

test('a conflict on the way back is named and changes nothing', async () => {
  writeFileSync(join(wt, 'a.txt'), 'saved\n')
  await save()
  const other = world.path('other')
  world.git(repo.root, 'worktree', 'add', '-q', '-b', 'task/b', other)
  world.commit(other, 'theirs', { 'a.txt': 'theirs\n' })
  const outcome = await restoreSaved(repo, {
    ref,
    archive: null,
    to: 'worktree',
    worktree: inDirectory(repo, other),
  })
  expect(outcome).toEqual({ is: 'conflict', paths: ['a.txt'] })
  expect(world.git(other, 'status', '--porcelain')).toBe('')
})

test('saved work comes back as a branch, once', async () => {
  writeFileSync(join(wt, 'a.txt'), 'saved\n')
  await save()
  expect(await restoreSaved(repo, { ref, archive: null, to: 'branch', branch: 'again' })).toMatchObject({
    is: 'restored',
    to: 'again',
  })
  expect(show('again:a.txt')).toBe('saved')
  expect(await restoreSaved(repo, { ref, archive: null, to: 'branch', branch: 'again' })).toMatchObject({
    is: 'refused',
    reason: "the branch 'again' is there already",
  })
})

test('commits of a detached HEAD, its reflog and worktree refs are held by the saved commit', async () => {
  world.git(wt, 'switch', '-q', '--detach')
  const dropped = world.commit(wt, 'dropped', { 'x.txt': 'x' })
  world.git(wt, 'reset', '-q', '--hard', 'HEAD~1')
  world.commit(wt, 'marked', { 'y.txt': 'y' })
  const marked = world.commit(wt, 'marked again', { 'y.txt': 'yy' })
  world.git(wt, 'update-ref', 'refs/worktree/mark', marked)
  world.git(wt, 'reset', '-q', '--hard', 'HEAD~2')
  const lost = world.commit(wt, 'lost', { 'z.txt': 'z' })
  expect(await save()).toMatchObject({ is: 'saved', archive: null })
  const parents = world.git(repo.root, 'rev-parse', `${ref}^@`).split('\n')
  expect(parents[0]).toBe(lost)
  expect(parents.slice(1).toSorted()).toEqual([dropped, marked].toSorted())
  expect(await look()).toMatchObject({ losses: [], quiet: [] })
})

test('many commits of a reflog are held too', async () => {
  for (let count = 0; count < 60; count++) {
    world.git(wt, 'commit', '-q', '--allow-empty', '--amend', '-m', `try ${count}`)
  }
  expect((await look()).quiet.length).toBeGreaterThan(50)
  expect((await save()).is).toBe('saved')
  expect((await look()).quiet).toEqual([])
})

test('commits of a worktree whose directory is gone are saved', async () => {
  world.git(wt, 'switch', '-q', '--detach')
  const lost = world.commit(wt, 'lost', { 'z.txt': 'z' })
  rmSync(wt, { recursive: true })
  expect((await save()).is).toBe('saved')
  expect(world.git(repo.root, 'branch', '--contains', lost, '--all')).toBe('')
  expect(world.git(repo.root, 'merge-base', '--is-ancestor', lost, ref)).toBe('')
})

test('nested repositories and submodules with their own commits come back whole (case 27)', async () => {
  const lib = world.repository('lib')
  world.git(wt, 'submodule', '-q', 'add', lib, 'lib')
  world.commit(wt, 'sub')
  const sub = world.commit(join(wt, 'lib'), 'only here', { 'w.txt': 'w' })
  mkdirSync(join(wt, 'inner'))
  world.git(join(wt, 'inner'), 'init', '-q')
  const inner = world.commit(join(wt, 'inner'), 'c', { 'f.txt': 'f' })
  const saved = await save()
  if (saved.is !== 'saved') throw new Error(JSON.stringify(saved))
  const out = world.path('out')
  mkdirSync(out)
  execFileSync('tar', ['-xf', saved.archive ?? '', '-C', out])
  expect(world.git(join(out, 'lib'), 'rev-parse', 'HEAD')).toBe(sub)
  expect(world.git(join(out, 'lib'), 'status', '--porcelain')).toBe('')
  expect(world.git(join(out, 'inner'), 'rev-parse', 'HEAD')).toBe(inner)
})

test('an operation in progress is saved with its state and its conflicting files', async () => {
  world.git(wt, 'switch', '-qc', 'side')
  world.commit(wt, 'side', { 'a.txt': 'side\n' })
  world.git(wt, 'switch', '-q', 'task/a')
  world.commit(wt, 'mine', { 'a.txt': 'mine\n' })
  world.tryGit(wt, 'merge', 'side')
  const saved = await save()
  expect(saved.is).toBe('saved')
  expect(show(`${ref}:a.txt`)).toContain('<<<<<<<')
  expect(execFileSync('tar', ['-tf', world.path('private', 'a.tar')], { encoding: 'utf8' })).toContain(
    '.berth-operation/MERGE_HEAD',
  )
})

test('files whose bytes git would change are in the archive as they are', async () => {
  writeFileSync(join(wt, '.gitattributes'), '*.txt text eol=lf\n')
  writeFileSync(join(wt, 'mixed.txt'), 'a\r\nb\n')
  const saved = await save()
  if (saved.is !== 'saved') throw new Error(JSON.stringify(saved))
  expect(execFileSync('tar', ['-xOf', saved.archive ?? '', 'mixed.txt'], { encoding: 'utf8' })).toBe(
    'a\r\nb\n',
  )
  const other = world.path('other')
  world.git(repo.root, 'worktree', 'add', '-q', '-b', 'task/b', other)
  await restoreSaved(repo, {
    ref,
    archive: saved.archive,
    to: 'worktree',
    worktree: inDirectory(repo, other),
  })
  expect(readFileSync(join(other, 'mixed.txt'), 'utf8')).toBe('a\r\nb\n')
})

test('long names, names that are no UTF-8 and large files go through the archive and back', async () => {
  const long = `notes/${'x'.repeat(150)}/${'é'.repeat(60)}.md`
  world.write(join(wt, long), 'long\n')
  world.write(join(wt, 'notes/big.bin'), Buffer.alloc(3_000_001, 7))
  const raw = Buffer.concat([Buffer.from(`${wt}/notes/raw-`), Buffer.from([0xff])])
  writeFileSync(raw, 'raw')
  const saved = await save()
  if (saved.is !== 'saved') throw new Error(JSON.stringify(saved))
  const other = world.path('other')
  world.git(repo.root, 'worktree', 'add', '-q', '-b', 'task/b', other)
  await restoreSaved(repo, {
    ref,
    archive: saved.archive,
    to: 'worktree',
    worktree: inDirectory(repo, other),
  })
  expect(readFileSync(join(other, long), 'utf8')).toBe('long\n')
  expect(readFileSync(join(other, 'notes/big.bin')).equals(Buffer.alloc(3_000_001, 7))).toBe(true)
  expect(readFileSync(Buffer.concat([Buffer.from(`${other}/notes/raw-`), Buffer.from([0xff])]), 'utf8')).toBe(
    'raw',
  )
})

test('an archive over the limit is refused before anything is written', async () => {
  world.write(join(wt, 'notes/big'), Buffer.alloc(2_000))
  expect(await save({ maxBytes: 1_000 })).toEqual({ is: 'too-large', bytes: 2_000 })
  expect([existsSync(world.path('private')), (await listSaved(repo)).length]).toEqual([false, 0])
})

test('a save that fails leaves neither ref nor archive, and touches none of an earlier one', async () => {
  messUp()
  expect((await save()).is).toBe('saved')
  const size = statSync(world.path('private', 'a.tar')).size
  writeFileSync(join(wt, 'a.txt'), 'again\n')
  expect(await save()).toMatchObject({ is: 'failed', step: 'archive' })
  expect(statSync(world.path('private', 'a.tar')).size).toBe(size)
  expect(await save({ archiveFile: world.path('private', 'b.tar') })).toMatchObject({
    is: 'failed',
    step: 'ref',
  })
  expect(existsSync(world.path('private', 'b.tar'))).toBe(false)
  expect(show(`${ref}:a.txt`)).toBe('and then changed')
})

test('what could not be looked at is not called saved', async () => {
  const survey = await look()
  survey.losses.push({ kind: 'unknown', count: 1, examples: ['the status cannot be read'] })
  expect(await save({ survey })).toEqual({
    is: 'failed',
    step: 'survey',
    reason: 'the status cannot be read',
  })
})

test('saved work is listed, and removed by compare-and-swap', async () => {
  writeFileSync(join(wt, 'a.txt'), 'saved\n')
  const saved = await save()
  if (saved.is !== 'saved') throw new Error(JSON.stringify(saved))
  const [entry] = await listSaved(repo)
  expect(entry).toMatchObject({
    ref,
    commit: saved.commit,
    task: 'a',
    time: '20300101T000000Z',
    subject: 'berth: saved work of a',
  })
  expect(await removeSaved(repo, { ref, commit: '1'.repeat(40) })).toBe(false)
  expect(await removeSaved(repo, { ref, commit: saved.commit })).toBe(true)
  expect(await listSaved(repo)).toEqual([])
})

test('hidden edits of a sparse worktree are saved', async () => {
  world.git(wt, 'sparse-checkout', 'set', '--no-cone', 'a.txt')
  world.git(wt, 'update-index', '--skip-worktree', 'a.txt')
  writeFileSync(join(wt, 'a.txt'), 'hidden\n')
  expect((await save()).is).toBe('saved')
  expect(show(`${ref}:a.txt`)).toBe('hidden')
  expect(show(`${ref}:b.txt`)).toBe('1')
})
