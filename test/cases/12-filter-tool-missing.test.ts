// Case 12: a required filter program is absent.

import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { type World, makeWorld } from '../fixtures/berth.ts'

const tool = 'no-such-big-tool'

test('a missing filter program is named, and nothing is left behind', async () => {
  const world = makeWorld()
  const repo = filtered(world)
  breakFilter(world, repo)
  const ran = await world.berth(['run', '--name', 't', '--command', 'true', '--repo', repo, 'go'])
  expect(ran.code).not.toBe(0)
  expect(ran.err).toContain(tool)
  expect(ran.err).toContain('filter=big')
  expect(world.git(repo, 'for-each-ref', 'refs/heads/berth')).toBe('')
  expect(world.git(repo, 'worktree', 'list', '--porcelain').match(/^worktree /gm)).toHaveLength(1)
  expect(readdirSync(`${repo}.berths`)).toEqual([])
})

test('a workspace that was made earlier can be removed while the program is missing', async () => {
  const world = makeWorld()
  const repo = filtered(world)
  expect(
    await world.berth(['run', '--name', 't', '--command', 'echo x > x', '--repo', repo, 'go']),
  ).toMatchObject({ code: 0 })
  breakFilter(world, repo)
  expect(await world.berth(['rm', 't', '--discard', '--repo', repo])).toMatchObject({ code: 0 })
  expect(existsSync(join(`${repo}.berths`, 't'))).toBe(false)
})

function filtered(world: World): string {
  const repo = world.repository()
  world.write(join(repo, '.gitattributes'), '*.big filter=big\n')
  world.git(repo, 'config', 'filter.big.clean', 'cat')
  world.git(repo, 'config', 'filter.big.smudge', 'cat')
  world.write(join(repo, 'model.big'), 'payload\n')
  world.git(repo, 'add', '-A')
  world.git(repo, 'commit', '-qm', 'big')
  return repo
}

function breakFilter(world: World, repo: string): void {
  world.git(repo, 'config', 'filter.big.process', `${tool} filter-process`)
  world.git(repo, 'config', 'filter.big.smudge', `${tool} smudge -- %f`)
  world.git(repo, 'config', 'filter.big.clean', `${tool} clean -- %f`)
  world.git(repo, 'config', 'filter.big.required', 'true')
}
