// What is read from git's own files agrees with git, and is asked anew when it changes.

import { afterEach, beforeEach, expect, test } from 'vitest'
import { join } from 'node:path'
import { refTip, symbolicRef } from '../../src/git/refs.ts'
import { currentSettings } from '../../src/git/settings.ts'
import { makeWorld, type World } from '../fixtures/repository.ts'

let world: World
let repo: string
let common: string

beforeEach(() => {
  world = makeWorld()
  repo = world.repository()
  common = join(repo, '.git')
})
afterEach(() => world.clean())

const tip = (ref: string): string => world.git(repo, 'rev-parse', ref)

test('tips are found loose and packed, and moved ones are seen at once', async () => {
  world.git(repo, 'branch', 'feat/x')
  expect(await refTip(common, 'refs/heads/feat/x')).toEqual({ is: 'found', value: tip('main') })
  world.git(repo, 'pack-refs', '--all')
  expect(await refTip(common, 'refs/heads/feat/x')).toEqual({ is: 'found', value: tip('main') })
  const before = tip('main')
  world.commit(repo, 'second')
  expect(await refTip(common, 'refs/heads/main')).toEqual({ is: 'found', value: tip('main') })
  expect(await refTip(common, 'refs/heads/feat/x')).toEqual({ is: 'found', value: before })
  expect(await refTip(common, 'refs/heads/feat')).toEqual({ is: 'none' })
  expect(await refTip(common, 'refs/heads/none')).toEqual({ is: 'none' })
  expect(await refTip(common, 'refs/heads/../../config')).toBe(undefined)
})

test('a symbolic ref names a branch, a detached one none', async () => {
  expect(await symbolicRef(common, 'HEAD')).toEqual({ is: 'found', value: 'refs/heads/main' })
  expect(await symbolicRef(common, 'refs/remotes/origin/HEAD')).toEqual({ is: 'none' })
  world.git(repo, 'checkout', '-q', '--detach')
  expect(await symbolicRef(common, 'HEAD')).toEqual({ is: 'none' })
})

test('another storage of refs, and a symbolic branch, are left to git', async () => {
  world.git(repo, 'symbolic-ref', 'refs/heads/alias', 'refs/heads/main')
  expect(await refTip(common, 'refs/heads/alias')).toBe(undefined)
  world.write(join(common, 'HEAD'), 'ref: refs/heads/.invalid\n')
  expect(await refTip(common, 'refs/heads/main')).toBe(undefined)
  expect(await symbolicRef(common, 'HEAD')).toBe(undefined)
})

test('settings are kept until a file of theirs changes, comes or goes', async () => {
  const at = await world.open(repo)
  expect((await currentSettings(at)).get('remote.origin.url')).toBe(undefined)
  expect(await currentSettings(at)).toBe(await currentSettings(at))
  world.git(repo, 'config', 'remote.origin.url', 'here')
  expect((await currentSettings(at)).get('remote.origin.url')).toBe('here')
  world.write(join(world.home, '.config/git/config'), '[core]\n\tpager = less\n[include]\n\tpath = ~/more\n')
  expect((await currentSettings(at)).get('core.pager')).toBe('less')
  world.write(join(world.home, 'more'), '[core]\n\tpager = more\n')
  expect((await currentSettings(at)).get('core.pager')).toBe('more')
})
