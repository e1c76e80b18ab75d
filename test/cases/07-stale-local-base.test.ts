// Case 07: the local base is behind the remote.

import { renameSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { type World, makeWorld } from '../fixtures/berth.ts'

test('a task starts from the fetched tip, and the person’s own branch and checkout stay', async () => {
  const world = makeWorld()
  const { repo, fresh, stale } = staleClone(world)
  expect(
    await world.berth(['run', '--name', 't', '--command', 'echo x > x', '--repo', repo, 'go']),
  ).toMatchObject({ code: 0 })
  expect((await world.task(repo, 't')).base).toBe(fresh)
  expect(world.git(repo, 'rev-parse', 'main').trim()).toBe(stale)
  expect(world.git(repo, 'status', '--porcelain')).toBe('')
})

test('with the remote out of reach it starts from what is there and says so', async () => {
  const world = makeWorld()
  const { repo, stale } = staleClone(world)
  renameSync(join(world.dir, 'remote.git'), join(world.dir, 'gone.git'))
  expect(
    await world.berth(['run', '--name', 't', '--command', 'echo x > x', '--repo', repo, 'go']),
  ).toMatchObject({ code: 0 })
  expect((await world.task(repo, 't')).base).toBe(stale)
  const ready = (await world.facts(repo)).find(fact => fact.kind === 'workspace.ready')
  expect(JSON.stringify(ready?.['notices'])).toMatch(/could not be (fetched|refreshed)/)
})

function staleClone(world: World): { repo: string; fresh: string; stale: string } {
  const seed = world.repository('seed')
  const remote = join(world.dir, 'remote.git')
  world.git(world.dir, 'clone', '-q', '--bare', seed, remote)
  const repo = join(world.dir, 'repo')
  const peer = join(world.dir, 'peer')
  world.git(world.dir, 'clone', '-q', remote, repo)
  world.git(world.dir, 'clone', '-q', remote, peer)
  for (const n of [1, 2, 3]) {
    world.write(join(peer, `merged-${n}.txt`), `${n}\n`)
    world.git(peer, 'add', '-A')
    world.git(peer, 'commit', '-qm', `merged by a peer ${n}`)
  }
  world.git(peer, 'push', '-q', 'origin', 'main')
  const tip = (dir: string) => world.git(dir, 'rev-parse', 'main').trim()
  return { repo, fresh: tip(peer), stale: tip(repo) }
}
