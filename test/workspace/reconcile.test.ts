// Records against git and disk: each difference said once with one next command; purge takes what is ours.

import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type Fact } from '../../src/core/event.ts'
import { integrate } from '../../src/workspace/integration.ts'
import { integrationPath } from '../../src/workspace/mergespace.ts'
import { purge, type PurgeRecord } from '../../src/workspace/purge.ts'
import { reconcile, type ReconcileRecord } from '../../src/workspace/reconcile.ts'
import { type Site, type WorkspaceRecord } from '../../src/workspace/site.ts'
import { makeVoice, makeYard, teardown, type Yard } from '../fixtures/workspace.ts'

let yard: Yard
let site: Site
let told: Fact[]
const keep = async (fact: Fact): Promise<void> => void told.push(fact)
beforeEach(async () => {
  told = []
  yard = makeYard()
  site = await yard.site()
})
afterEach(() => yard.clean())

const recordOf = (
  record: WorkspaceRecord & { task: string },
  over: Partial<ReconcileRecord> = {},
): ReconcileRecord => ({
  ...record,
  removing: false,
  preparing: false,
  ...over,
})

const look = async (records: ReconcileRecord[], fix = false): Promise<{ [what: string]: string }> =>
  Object.fromEntries(
    (await reconcile(site, records, fix ? keep : undefined)).map(({ task, what, command, fixed }) => [
      `${what} ${task ?? '-'}`,
      fixed ? 'fixed' : command.replaceAll(yard.dir, ''),
    ]),
  )

test('where all agrees there is nothing to say, also of worktrees of the person’s own elsewhere', async () => {
  const records = [recordOf(await yard.made(site, 'a')), recordOf(await yard.made(site, 'b'))]
  yard.git(yard.repo, 'worktree', 'add', '-q', '-b', 'mine', yard.path('mine'))
  yard.commit(yard.path('repo.berths/a'), 'work', { 'w.txt': 'x' })
  yard.git(yard.repo, 'branch', '-q', 'berth/c')
  await integrate(
    {
      ...site,
      task: 'a',
      title: 't',
      commit: yard.git(yard.repo, 'rev-parse', 'berth/a'),
      branch: 'berth/a',
      target: 'main',
      gates: [],
      secrets: [],
      pass: [],
      portsTaken: [],
    },
    makeVoice(),
  )
  expect(await look(records)).toEqual({})
})

test('gone, forgotten, moved, emptied, locked, cut off and foreign are told apart, and nothing is touched', async () => {
  const [gone, orphan, moved, locked, cut, emptied, away] = await Promise.all(
    ['gone', 'orphan', 'moved', 'locked', 'cut', 'emptied', 'away'].map(name => yard.made(site, name)),
  )
  if (!gone || !orphan || !moved || !locked || !cut || !emptied || !away) throw new Error('not made')
  const keep = yard.commit(gone.path, 'g', { g: 'g' })
  rmSync(gone.path, { recursive: true })
  yard.write(join(orphan.path, 'only-copy.txt'), 'not committed')
  rmSync(join(yard.repo, '.git/worktrees/orphan'), { recursive: true })
  renameSync(moved.path, join(yard.root, 'moved-by-hand'))
  yard.write(join(yard.root, 'moved-by-hand/m.txt'), 'm')
  yard.write(join(yard.root, 'users-folder/keep.txt'), 'keep')
  yard.git(yard.repo, 'worktree', 'lock', '--reason', 'on my stick', locked.path)
  writeFileSync(join(yard.repo, '.git/worktrees/cut/locked'), 'initializing')
  rmSync(emptied.path, { recursive: true })
  mkdirSync(emptied.path)
  yard.git(yard.repo, 'worktree', 'lock', '--reason', 'stick', away.path)
  rmSync(away.path, { recursive: true })
  yard.git(yard.repo, 'worktree', 'add', '-q', '-b', 'x', join(yard.root, 'theirs'))
  const records = [gone, orphan, moved, locked, cut, emptied, away].map(record => recordOf(record))
  const expected = {
    'directory-gone gone': 'berth rm gone',
    'entry-gone orphan': 'berth rm orphan',
    'moved moved': 'mv /repo.berths/moved-by-hand /repo.berths/moved',
    'locked locked': 'git -C /repo worktree unlock /repo.berths/locked',
    'cut-off cut': 'berth retry cut',
    'emptied emptied': 'git -C /repo worktree repair /repo.berths/emptied',
    'away-locked away': 'git -C /repo worktree list',
    'foreign -': 'git -C /repo worktree list',
  }
  const before = yard.git(yard.repo, 'worktree', 'list', '--porcelain')
  const all = await reconcile(site, records)
  expect(
    all
      .filter(({ what }) => what === 'foreign')
      .map(({ path }) => path?.replace(yard.dir, ''))
      .sort(),
  ).toEqual(['/repo.berths/theirs', '/repo.berths/users-folder'])
  expect({ ...(await look(records)), 'foreign -': 'git -C /repo worktree list' }).toEqual(expected)
  expect(yard.git(yard.repo, 'worktree', 'list', '--porcelain')).toBe(before)
  expect({ ...(await look(records, true)), 'foreign -': 'git -C /repo worktree list' }).toEqual({
    ...expected,
    'moved moved': 'fixed',
  })
  expect(yard.git(moved.path, 'status', '--porcelain')).toBe('?? m.txt')
  expect(readFileSync(join(orphan.path, 'only-copy.txt'), 'utf8')).toBe('not committed')
  expect(readFileSync(join(yard.root, 'users-folder/keep.txt'), 'utf8')).toBe('keep')
  expect(yard.git(yard.repo, 'rev-parse', 'berth/gone')).toBe(keep)
})

test('a branch that was switched or moved outside Berth is said', async () => {
  const one = await yard.made(site, 'one')
  const two = await yard.made(site, 'two')
  yard.git(one.path, 'switch', '-qc', 'other')
  const commit = one.base ?? ''
  yard.commit(two.path, 'outside', { 'x.txt': 'x' })
  const three = await yard.made(site, 'three')
  yard.git(three.path, 'switch', '-q', '--detach')
  yard.git(three.path, 'branch', '-qD', 'berth/three')
  expect(await look([recordOf(one), recordOf(two, { commit }), recordOf(three, { commit })])).toEqual({
    'branch-switched one': 'git -C /repo.berths/one switch berth/one',
    'branch-switched three': `git -C /repo.berths/three switch -c berth/three ${commit}`,
    'branch-moved two': 'berth show two',
  })
})

test('a registry that cannot be read is unknown, not empty', async () => {
  const record = await yard.made(site, 'a')
  yard.write(yard.path('bin/git'), '#!/bin/sh\nexit 3\n', 0o755)
  site = { ...site, repo: { ...site.repo, env: { ...site.repo.env, PATH: yard.path('bin') } } }
  expect(await look([recordOf(record)], true)).toEqual({
    'registry-unreadable -': 'git -C /repo worktree list',
  })
})

test('what bears our mark and has no record is a leftover; another Berth’s is its own', async () => {
  await yard.made(site, 'mine')
  const lost = await yard.made(site, 'lost')
  rmSync(lost.path, { recursive: true })
  const carried = await yard.made(site, 'carried')
  renameSync(carried.path, yard.path('repo.berths/elsewhere'))
  const moved = await yard.made(site, 'moved')
  yard.git(yard.repo, 'worktree', 'move', moved.path, yard.path('repo.berths/away'))
  const other = await yard.site({}, 'state-two')
  await yard.made(other, 'theirs')
  const found = {
    'leftover mine': 'git -C /repo worktree remove /repo.berths/mine',
    'leftover lost': 'berth reconcile --fix',
    'moved carried': 'mv /repo.berths/elsewhere /repo.berths/carried',
    'moved moved': 'git -C /repo worktree move /repo.berths/away /repo.berths/moved',
    'foreign-berth -': 'git -C /repo worktree list',
  }
  expect(await look([])).toEqual(found)
  expect(await look([], true)).toEqual({ ...found, 'leftover lost': 'fixed' })
  expect(existsSync(join(yard.root, 'mine/app.txt'))).toBe(true)
})

test('an entry without directory and record is taken out, and the commits that only it names are kept', async () => {
  const { path, branch } = await yard.made(site, 'lost')
  const base = yard.git(path, 'rev-parse', 'HEAD')
  const given: string[] = []
  for (let i = 0; i < 120; i++) {
    given.push(yard.commit(path, `try ${i}`, { 'w.txt': `${i}` }))
    yard.git(path, 'reset', '-q', '--hard', base)
  }
  yard.git(path, 'checkout', '-q', '--detach')
  given.push(yard.commit(path, 'detached', { 'd.txt': 'd' }))
  rmSync(path, { recursive: true })
  expect(await look([], true)).toEqual({ 'leftover lost': 'fixed' })
  expect(told.map(({ kind }) => kind)).toEqual(['work.saved'])
  const ref = told.flatMap(fact => (fact.kind === 'work.saved' ? [fact.ref] : []))[0]!
  const held = new Set(yard.git(yard.repo, 'rev-list', ref).split('\n'))
  expect(given.filter(commit => !held.has(commit))).toEqual([])
  expect(yard.git(yard.repo, 'rev-parse', branch)).toBe(base)
})

test('what a removal left in the trash is said, and emptied if its mark is ours', async () => {
  const record = await yard.made(site, 'a')
  await teardown({ ...yard.removal(site, record), deleteMs: -1 }, makeVoice())
  mkdirSync(join(yard.root, '.trash/strange'))
  expect(await look([recordOf(record, { removing: true })])).toEqual({ 'trash -': 'berth reconcile --fix' })
  const fixed = await reconcile(site, [], keep)
  expect(fixed.map(({ what, fixed: done }) => [what, done])).toEqual([
    ['trash', true],
    ['trash', false],
  ])
  expect(existsSync(join(yard.root, '.trash/strange'))).toBe(true)
})

test('purge lists first, then removes exactly that, all that Berth made and keeps what would lose work', async () => {
  const clean = await yard.made(site, 'clean')
  const dirty = await yard.made(site, 'dirty')
  yard.write(join(dirty.path, 'work.txt'), 'x')
  const done = await yard.made(site, 'done')
  const commit = yard.commit(done.path, 'work', { 'd.txt': 'x' })
  await integrate(
    {
      ...site,
      task: 'done',
      title: 't',
      commit,
      branch: 'berth/done',
      target: 'main',
      gates: [],
      secrets: [],
      pass: [],
      portsTaken: [],
    },
    makeVoice(),
  )
  yard.git(yard.repo, 'branch', '-q', 'berth/old', 'main')
  yard.git(
    yard.repo,
    'update-ref',
    'refs/berth/saved/x/1',
    yard.git(yard.repo, 'commit-tree', 'main^{tree}', '-m', 'saved'),
  )
  yard.git(yard.repo, 'worktree', 'add', '-q', '-b', 'mine', join(yard.root, 'mine'))
  const asRecord = (record: WorkspaceRecord & { task: string }): PurgeRecord => ({
    ...record,
    runs: [],
    target: 'main',
  })
  const records = [clean, dirty, done].map(asRecord)
  const before = yard.git(yard.repo, 'for-each-ref') + yard.git(yard.repo, 'worktree', 'list')
  // The configuration names another folder since: what was made in this one is still found.
  const since = { ...site, policy: { ...site.policy, root: yard.path('new.berths') } }
  const listed = await purge(since, records, { yes: false }, makeVoice())
  expect(yard.git(yard.repo, 'for-each-ref') + yard.git(yard.repo, 'worktree', 'list')).toBe(before)
  expect(listed.removed).toEqual([])
  const answer = await purge(since, records, { yes: true }, makeVoice())
  expect({ would: answer.removed, kept: answer.kept }).toEqual({ would: listed.would, kept: listed.kept })
  expect(answer.removed.map(what => what.replaceAll(yard.dir, '')).slice(0, 4)).toEqual([
    "workspace '/repo.berths/clean' of task 'clean'",
    "branch 'berth/clean'",
    `integration workspace '${integrationPath(site).replace(yard.dir, '')}'`,
    "branch 'berth/old'",
  ])
  expect(answer.kept.map(({ what }) => what.replaceAll(yard.dir, ''))).toEqual([
    "workspace '/repo.berths/dirty' of task 'dirty'",
    "workspace '/repo.berths/done' of task 'done'",
    "ref 'refs/berth/saved/x/1'",
    "'/repo/.git/berth'",
  ])
  expect(existsSync(clean.path)).toBe(false)
  expect(existsSync(dirty.path) && existsSync(done.path) && existsSync(join(yard.root, 'mine'))).toBe(true)
  expect(existsSync(join(yard.root, '.integration'))).toBe(false)
  expect(yard.git(yard.repo, 'for-each-ref', '--format=%(refname)', 'refs/heads/berth').split('\n')).toEqual([
    'refs/heads/berth/dirty',
    'refs/heads/berth/done',
  ])
  rmSync(join(dirty.path, 'work.txt'))
  yard.git(yard.repo, 'merge', '-q', 'berth/done')
  yard.git(yard.repo, 'update-ref', '-d', 'refs/berth/saved/x/1')
  yard.git(yard.repo, 'worktree', 'remove', join(yard.root, 'mine'))
  const never = { ...clean, task: 'never', path: yard.path('repo.berths/never'), branch: 'berth/never' }
  const rest = await purge(site, [dirty, done, never].map(asRecord), { yes: true }, makeVoice())
  expect(rest.kept).toEqual([])
  expect(rest.removed).toContain("task 'never'")
  expect(existsSync(yard.root)).toBe(false)
  expect(existsSync(join(yard.repo, '.git/berth'))).toBe(false)
  expect(yard.git(yard.repo, 'for-each-ref', '--format=%(refname)')).toBe('refs/heads/main\nrefs/heads/mine')
})
