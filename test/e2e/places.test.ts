// Several repositories in one state directory, and one that was moved.

import { renameSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { makeWorld } from '../fixtures/berth.ts'

const limit = 120_000

test(
  'tasks of one name in two repositories: each command of the inbox means its own, wherever it is typed',
  async () => {
    const world = makeWorld()
    const repos = [world.repository('one'), world.repository('two two')]
    for (const repo of repos) {
      const args = ['run', '--name', 'a', '--command', 'berth ask "Which?" > a.txt', 'x']
      expect(await world.berth(args, { cwd: repo })).toMatchObject({ code: 3 })
    }
    const [one = '', two = ''] = repos
    const { out } = await world.berth(['inbox'], { cwd: one })
    const commands = out.split('\n').flatMap(line => /(berth answer .*)$/.exec(line)?.[1] ?? [])
    expect(commands.toSorted()).toEqual([
      'berth answer decide:a:q1',
      `berth answer decide:a:q1 --repo '${two}'`,
    ])
    const typed = commands.find(command => command.includes('--repo')) ?? ''
    expect(await world.type(typed.replace(':q1', ':q1 blue'), { cwd: one })).toMatchObject({ code: 0 })
    const items = async (repo: string) => (await world.items(repo)).filter(({ kind }) => kind === 'decide')
    expect([(await items(one)).length, (await items(two)).length]).toEqual([1, 0])
    const three = world.repository('three')
    for (const verb of ['show', 'rm'])
      expect(await world.berth([verb, 'a'], { cwd: three })).toEqual({
        code: 2,
        out: '',
        err: `berth: no task 'a' here, but '${one}' has one\nhint: berth show a --repo ${one}\n`,
      })
  },
  limit,
)

test(
  'a repository that was moved is told with the way back, and goes on after it',
  async () => {
    const world = makeWorld()
    const repo = world.repository()
    const args = ['run', '--name', 'a', '--command', 'echo a > a.txt; git add -A; git commit -qm a', 'x']
    expect(await world.berth(args, { cwd: repo })).toMatchObject({ code: 0 })
    const away = join(world.dir, 'away')
    renameSync(repo, away)
    for (const verb of [['ls'], ['run', 'y'], ['show', 'a'], ['log'], ['reconcile'], ['rm', 'a']]) {
      const told = await world.berth([...verb, '--repo', away])
      expect(told, verb.join(' ')).toEqual({
        code: 2,
        out: '',
        err:
          `berth: '${away}' was '${repo}' when Berth last saw it, and its tasks and worktrees point there\n` +
          `hint: mv ${away} ${repo}\n`,
      })
    }
    expect(await world.type(`mv ${away} ${repo}`)).toMatchObject({ code: 0 })
    expect(await world.berth(['land', 'a'], { cwd: repo })).toMatchObject({ code: 0 })
  },
  limit,
)
