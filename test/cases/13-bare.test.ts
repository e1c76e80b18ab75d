// Case 13: a bare repository, and one whose linked worktrees believe they are bare.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { type World, makeWorld } from '../fixtures/berth.ts'

test.each(['.', 'main'])(
  'a healthy bare repository works from its folder and its worktree (%s)',
  async from => {
    const world = makeWorld()
    const { dir } = bare(world)
    const cwd = join(dir, from)
    expect(await world.berth(['run', '--name', 't', '--command', 'echo x > x', 'go'], { cwd })).toMatchObject(
      { code: 0 },
    )
    const { tasks } = await world.json<{ tasks: { task: string; status: string }[] }>(['ls'], { cwd })
    expect(tasks).toMatchObject([{ task: 't', status: 'ready' }])
    expect(await world.berth(['rm', 't'], { cwd })).toMatchObject({ code: 0 })
    expect(world.git(join(dir, 'main'), 'status', '--porcelain')).toBe('')
  },
)

test('worktrees that believe they are bare are explained, with the command that puts it right, and left as they are', async () => {
  const world = makeWorld()
  const { dir } = bare(world)
  world.git(join(dir, '.bare'), 'config', 'extensions.worktreeConfig', 'true')
  const config = readFileSync(join(dir, '.bare/config'), 'utf8')
  for (const cwd of [dir, join(dir, 'main')]) {
    const ran = await world.berth(['run', '--name', 't', '--command', 'true', 'go'], { cwd })
    expect(ran.code).toBe(2)
    expect(ran.err).toContain('core.bare')
    expect(ran.err).toMatch(/^hint: git /m)
  }
  expect(readFileSync(join(dir, '.bare/config'), 'utf8')).toBe(config)
  expect(world.git(join(dir, '.bare'), 'for-each-ref', 'refs/heads/berth')).toBe('')
})

function bare(world: World): { dir: string } {
  const seed = world.repository('seed')
  const dir = join(world.dir, 'fine')
  world.write(join(dir, '.git'), 'gitdir: ./.bare\n')
  world.git(world.dir, 'clone', '-q', '--bare', seed, join(dir, '.bare'))
  world.git(join(dir, '.bare'), 'worktree', 'add', '-q', join(dir, 'main'), 'main')
  return { dir }
}
