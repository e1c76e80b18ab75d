// The target and the base: asked, never guessed; refreshed within a limit; diverged is said.

import { existsSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type BaseRequest, type FetchState, findTarget, resolveBase } from '../../src/git/target.ts'
import { makeWorld, type World } from '../fixtures/repository.ts'

let world: World

beforeEach(() => {
  world = makeWorld()
})
afterEach(() => world.clean())

const find = async (dir: string, target: string | null = null) =>
  findTarget(await world.open(dir), { target, remote: 'origin' })

const base = async (dir: string, over: Partial<BaseRequest> = {}) =>
  resolveBase(await world.open(dir), { target: 'main', remote: 'origin', mode: 'local', ...over })

const fetching = (state: FetchState = {}, now = 1_000_000) => ({ fetch: { state, now, timeoutMs: 10_000 } })

/** A repository whose remote's default is `trunk`, with a decoy `main` (case 05). */
function trunk(): string {
  const seed = world.path('seed')
  world.git(world.dir, 'init', '-q', '-b', 'trunk', seed)
  world.commit(seed, 'one', { 'app.txt': '1' })
  world.git(seed, 'branch', 'main')
  world.commit(seed, 'two', { 'app.txt': '2' })
  world.git(world.dir, 'clone', '-q', '--bare', seed, world.path('remote.git'))
  const dir = world.clone(world.path('remote.git'), 'repo')
  world.git(dir, 'branch', '-q', 'main', 'origin/main')
  world.git(dir, 'switch', '-qc', 'spike')
  world.git(dir, 'symbolic-ref', '-d', 'refs/remotes/origin/HEAD')
  world.git(dir, 'branch', '-qD', 'trunk')
  return dir
}

test('where no remote is named, the only one is asked whatever its name, and of several the origin', async () => {
  const dir = trunk()
  world.git(dir, 'remote', 'rename', 'origin', 'upstream')
  const found = async () => findTarget(await world.open(dir), { target: null })
  expect(await found()).toEqual({ is: 'target', branch: 'trunk', rule: 'ls-remote', notices: [] })
  world.git(dir, 'remote', 'add', 'other', world.path('nowhere.git'))
  expect(await found()).toMatchObject({ branch: 'spike', rule: 'current-branch' })
})

test('the default branch is asked of the remote when it is not known here, and no name is guessed (case 05)', async () => {
  const dir = trunk()
  expect(await find(dir)).toEqual({ is: 'target', branch: 'trunk', rule: 'ls-remote', notices: [] })
  expect(await base(dir, { target: 'trunk' })).toEqual({
    is: 'base',
    commit: world.git(dir, 'rev-parse', 'origin/trunk'),
    rule: 'remote',
    behind: 0,
    notices: [],
  })
})

test('the configured target wins, then what is known of the remote, then asking it, then the current branch', async () => {
  const dir = trunk()
  expect(await find(dir, 'main')).toEqual({ is: 'target', branch: 'main', rule: 'config', notices: [] })
  world.git(dir, 'remote', 'set-head', 'origin', '-a')
  expect(await find(dir)).toEqual({ is: 'target', branch: 'trunk', rule: 'remote-head', notices: [] })
  world.git(dir, 'symbolic-ref', '-d', 'refs/remotes/origin/HEAD')
  renameSync(world.path('remote.git'), world.path('away.git'))
  const found = await find(dir)
  expect(found).toMatchObject({ is: 'target', branch: 'spike', rule: 'current-branch' })
  expect(found.is === 'target' ? found.notices.length : 0).toBe(2)
  world.git(dir, 'switch', '-q', '--detach')
  expect((await find(dir)).is).toBe('missing')
})

test('a repository without a remote lands on its current branch', async () => {
  const dir = world.repository()
  expect(await find(dir)).toEqual({
    is: 'target',
    branch: 'main',
    rule: 'current-branch',
    notices: [],
  })
})

test('a stale base is refreshed first, and neither the local branch nor the checkout moves (case 07)', async () => {
  const dir = world.repository()
  const remote = world.remote(dir)
  const peer = world.clone(remote, 'peer')
  for (const count of [1, 2, 3]) world.commit(peer, `merged ${count}`, { [`merged-${count}.txt`]: 'x' })
  world.git(peer, 'push', '-q', 'origin', 'main')
  const fresh = world.git(peer, 'rev-parse', 'HEAD')
  const stale = world.git(dir, 'rev-parse', 'main')
  rmSync(join(dir, '.git/FETCH_HEAD'))
  expect(await base(dir)).toMatchObject({ commit: stale, rule: 'local' })
  expect(await base(dir, fetching())).toEqual({
    is: 'base',
    commit: fresh,
    rule: 'remote',
    behind: 3,
    notices: [],
  })
  expect(world.git(dir, 'rev-parse', 'main')).toBe(stale)
  expect(world.git(dir, 'status', '--porcelain')).toBe('')
  expect(existsSync(join(dir, '.git/FETCH_HEAD'))).toBe(false)
})

test('a remote out of reach is a notice, and the work goes on with what is there (case 07)', async () => {
  const dir = world.repository()
  const remote = world.remote(dir)
  renameSync(remote, world.path('away'))
  const found = await base(dir, fetching())
  expect(found).toMatchObject({ is: 'base', commit: world.git(dir, 'rev-parse', 'main'), rule: 'local' })
  expect(found.is === 'base' ? found.notices : []).toEqual([
    `the target 'main' could not be refreshed from 'origin': '${remote}' does not appear to be a git repository`,
  ])
})

test('the remote is asked at most once a minute, and those who come together ask once', async () => {
  const dir = world.repository()
  world.remote(dir)
  const peer = world.clone(world.path('remote.git'), 'peer')
  const push = (name: string): string => {
    const commit = world.commit(peer, name, { [name]: name })
    world.git(peer, 'push', '-q', 'origin', 'main')
    return commit
  }
  const state: FetchState = {}
  const first = push('a')
  const both = await Promise.all([base(dir, fetching(state)), base(dir, fetching(state))])
  expect(both).toMatchObject([{ commit: first }, { commit: first }])
  const second = push('b')
  expect(await base(dir, fetching(state, 1_059_999))).toMatchObject({ commit: first })
  expect(await base(dir, fetching(state, 1_060_000))).toMatchObject({ commit: second })
})

test('the branch that contains the other is the base; diverged ones are said with both commits (decision 18)', async () => {
  const dir = world.repository()
  world.remote(dir)
  const local = world.commit(dir, 'local', { 'l.txt': 'l' })
  expect(await base(dir)).toMatchObject({ is: 'base', commit: local, rule: 'local', behind: 0 })
  expect(await base(dir, { mode: 'push' })).toMatchObject({
    is: 'base',
    commit: world.git(dir, 'rev-parse', 'origin/main'),
    rule: 'remote',
  })
  const peer = world.clone(world.path('remote.git'), 'peer')
  const remote = world.commit(peer, 'remote', { 'r.txt': 'r' })
  world.git(peer, 'push', '-q', 'origin', 'main')
  expect(await base(dir, fetching())).toEqual({ is: 'diverged', local, remote, ahead: 1, behind: 1 })
})

test('a target that is nowhere is missing, and a tag of its name does not stand in', async () => {
  const dir = world.repository()
  const tagged = world.git(dir, 'rev-parse', 'HEAD')
  const tip = world.commit(dir, 'second', { 'b.txt': 'b' })
  world.git(dir, 'tag', 'main', tagged)
  world.git(dir, 'tag', 'release', tagged)
  expect(await base(dir)).toMatchObject({ is: 'base', commit: tip })
  expect(await base(dir, { target: 'release' })).toMatchObject({
    is: 'missing',
    what: "there is no target branch 'release'",
  })
})

test('a base that a person names is a branch before it is a tag, and otherwise any revision', async () => {
  const dir = world.repository()
  const first = world.git(dir, 'rev-parse', 'HEAD')
  const second = world.commit(dir, 'second', { 'b.txt': 'b' })
  world.git(dir, 'tag', 'main', first)
  expect(await base(dir, { base: 'main' })).toMatchObject({ commit: second, rule: 'option' })
  expect(await base(dir, { base: 'main~1' })).toMatchObject({ commit: first })
  expect(await base(dir, { base: first.slice(0, 10) })).toMatchObject({ commit: first })
  expect(await base(dir, { base: 'refs/tags/main' })).toMatchObject({ commit: first })
  expect(await base(dir, { base: '--all' })).toMatchObject({
    is: 'missing',
    what: "there is no revision '--all'",
  })
})
