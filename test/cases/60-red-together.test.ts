// Case 60: two tasks, green alone, red together.

import { join } from 'node:path'
import { expect, test } from 'vitest'
import { type World, makeWorld } from '../fixtures/berth.ts'

const files = {
  'lib.sh': 'area() { echo $(( $1 * $2 )); }\n',
  't1.sh': '. ./lib.sh; [ "$(area 2 3)" = 6 ]\n',
  'test.sh': 'for t in t*.sh; do [ "$t" = test.sh ] || sh "./$t" || exit 1; done\n',
  'berth.toml': '[recovery]\nattempts = 1\n[[gates]]\nname = "test"\nrun = "sh test.sh"\n',
}

const agents = {
  rename: `sed -i 's/area()/rect_area()/' lib.sh; sed -i 's/area 2/rect_area 2/' t1.sh; git commit -qam rename`,
  uses: `echo '. ./lib.sh; [ "$(area 4 5)" = 20 ]' > t2.sh; git add .; git commit -qm uses`,
  docs: `echo doc > README.md; git add .; git commit -qm docs`,
}

test('they land one after another, each tested as it will be; the one that is red together goes back', async () => {
  const world = makeWorld()
  const repo = world.repository('repo', files)
  for (const [name, agent] of Object.entries(agents))
    expect(
      await world.berth(['run', '--name', name, '--command', agent, '--trust', '--repo', repo, name]),
    ).toMatchObject({ code: 0 })
  expect((await world.berth(['land', 'rename', 'uses', 'docs', '--repo', repo])).code).toBe(1)

  expect(await world.task(repo, 'rename')).toMatchObject({ status: 'landed' })
  expect(await world.task(repo, 'docs')).toMatchObject({ status: 'landed' })
  expect(await world.task(repo, 'uses')).toMatchObject({ status: 'failed', reasonCode: 'gate' })
  expect((await world.items(repo)).map(item => [item.kind, item.task])).toEqual([['gate', 'uses']])
  for (const commit of world.git(repo, 'rev-list', '--first-parent', 'main').trim().split('\n'))
    green(world, repo, commit)
})

test('a target that is red by itself is recognised, nobody is blamed for it, and it is mended', async () => {
  const world = makeWorld()
  const repo = world.repository('repo', files)
  const run = async (name: string, agent: string, ...flags: string[]): Promise<number | null> => {
    const args = ['run', '--name', name, '--command', agent, '--trust', '--repo', repo, ...flags, name]
    return (await world.berth(args)).code
  }
  expect(await run('docs', agents.docs)).toBe(0)
  world.write(join(repo, 't3.sh'), 'echo three is broken; exit 1\n')
  world.git(repo, 'add', '-A')
  world.git(repo, 'commit', '-qm', 'red')
  const tip = world.git(repo, 'rev-parse', 'main').trim()
  await world.berth(['land', 'docs', '--repo', repo])
  expect(await world.task(repo, 'docs')).toMatchObject({ status: 'ready', reasonCode: 'target-red' })
  expect((await world.items(repo)).map(item => item.kind)).toEqual(['target'])

  expect(await run('late', 'echo late > late.txt')).toBe(3)
  const reason = `gate 'test' fails without its work, too, on ${tip.slice(0, 10)}: exit code 1`
  expect(await world.task(repo, 'late')).toMatchObject({
    status: 'ready',
    reasonCode: 'target-red',
    reason,
    attempt: 1,
  })
  const late = (await world.items(repo)).find(({ task }) => task === 'late')
  expect(late).toMatchObject({
    kind: 'target',
    reason,
    actions: [{ key: 'land' }, { key: 'retry' }, { key: 'rm' }],
  })
  expect(late?.evidence).toContainEqual({ kind: 'output', text: 'three is broken' })

  expect(await run('mend', 'git rm -q t3.sh', '--land', 'auto')).toBe(0)
  expect(await world.task(repo, 'mend')).toMatchObject({ status: 'landed' })
  expect(await world.berth(['land', 'docs', 'late', '--repo', repo])).toMatchObject({ code: 0 })
  for (const task of ['docs', 'late'])
    expect(await world.task(repo, task)).toMatchObject({ status: 'landed', attempt: 1 })
  expect(await world.items(repo)).toEqual([])
  green(world, repo, 'main')
})

function green(world: World, repo: string, commit: string): void {
  const dir = join(world.dir, `at-${commit.slice(0, 8)}`)
  world.git(repo, 'worktree', 'add', '-q', '--detach', dir, commit)
  world.git(dir, '-c', 'alias.t=!sh test.sh', 't')
}
