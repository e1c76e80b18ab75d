// Case 64: git speaks another language.

import { join } from 'node:path'
import { expect, test } from 'vitest'
import { makeWorld } from '../fixtures/berth.ts'

const languages = [{}, { LANGUAGE: 'de', LC_ALL: 'C.UTF-8', LANG: 'C.UTF-8' }]

test('the same exit codes and distinctions whatever language git speaks, and agents keep the person’s own', async () => {
  const told = []
  for (const env of languages) {
    const world = makeWorld()
    const repo = world.repository()
    world.git(repo, 'worktree', 'add', '-q', '-b', 'berth/taken', join(world.dir, 'elsewhere'))
    const late = () => world.write(join(`${repo}.berths`, 't', 'late.txt'), 'late\n')
    const codes = [
      (
        await world.berth(
          [
            'run',
            '--name',
            't',
            '--command',
            'env > env.txt; echo w >> app.txt; git commit -qam w',
            '--repo',
            repo,
            'go',
          ],
          { env },
        )
      ).code,
      (await world.berth(['run', '--name', 'taken', '--command', 'true', '--repo', repo, 'go'], { env }))
        .code,
      (late(), await world.berth(['rm', 't', '--repo', repo], { env })).code,
      (await world.berth(['run', '--name', 'n', '--command', 'true', 'go'], { env, cwd: world.dir })).code,
      (await world.berth(['rm', 't', '--save', '--repo', repo], { env })).code,
    ]
    told.push(codes)
    const task = await world.task(repo, 'taken')
    told.push([task.status, task.reasonCode])
  }
  expect(told.slice(2)).toEqual(told.slice(0, 2))
  expect(told[0]).toEqual([0, expect.any(Number), 3, 2, 0])
})
