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
  expect(JSON.stringify(ready?.['notices'])).toMatch(/could not be refreshed/)
  const { out } = await world.berth(['log', '--kind', 'workspace.ready', '--repo', repo])
  expect(out).toContain("the target 'main' could not be refreshed from 'origin'")
})

test('a task that the target has left behind says by how many commits, and lands on what it is by then', async () => {
  const world = makeWorld()
  const { repo } = staleClone(world)
  const agent = 'echo x > x; git add x; git commit -qm x'
  await world.berth(['run', '--name', 't', '--command', agent, '--repo', repo, 'go'])
  const behind = async (): Promise<unknown> =>
    (await world.json<{ task: { behind: number } }>(['show', 't', '--repo', repo])).task.behind
  expect(await behind()).toBe(0)
  const peer = join(world.dir, 'peer')
  world.write(join(peer, 'later'), 'later\n')
  world.git(peer, 'add', '-A')
  world.git(peer, 'commit', '-qm', 'later')
  world.git(peer, 'push', '-q', 'origin', 'main')
  world.git(repo, 'fetch', '-q')
  expect(await behind()).toBe(1)
  const shown = await world.berth(['show', 't', '--repo', repo])
  expect(shown.out).toMatch(/^branch +berth\/t from [0-9a-f]{10}, 1 commit behind its target$/m)
  expect((await world.berth(['land', 't', '--repo', repo])).code).toBe(0)
  expect(world.git(repo, 'ls-tree', '--name-only', 'main')).toContain('later\n')
  expect(await behind()).toBe(null)
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
