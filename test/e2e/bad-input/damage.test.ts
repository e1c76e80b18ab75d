// Bad input, a damaged store: whatever is broken of it, nothing that the segments or git still have is lost.

import { existsSync, readFileSync, readdirSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { type World } from '../../fixtures/berth.ts'
import { registered, watchedWorld } from './refusal.ts'

/** `isTold`: the database was broken, and a person must know. Its copy as text is made whole in silence. */
const harms: [string, (state: string) => void, boolean][] = [
  [
    'a database overwritten in its middle',
    state => {
      const file = join(state, 'berth.db')
      const bytes = readFileSync(file)
      bytes.fill(0xa5, 4096, Math.min(bytes.length, 4096 * 6))
      writeFileSync(file, bytes)
    },
    true,
  ],
  [
    'a database that is no database',
    state => writeFileSync(join(state, 'berth.db'), 'no database at all\n'),
    true,
  ],
  ['a database cut in half', state => cut(join(state, 'berth.db')), true],
  ['an empty database', state => truncateSync(join(state, 'berth.db')), true],
  ['segments that are empty', state => truncateSync(join(state, 'facts/0001.jsonl')), false],
  ['an id that is not readable', state => writeFileSync(join(state, 'id.json'), '{'), false],
]

const cut = (file: string): void => truncateSync(file, Math.floor(statSync(file).size / 2))

test.each(harms)(
  '%s: the task, its branch and its worktree are all there, and the work goes on',
  async (_what, harm, isTold) => {
    const world = watchedWorld()
    const repo = world.repository()
    const options = { cwd: repo }
    const args = ['run', '--name', 'a', '--command', 'echo work > w.txt', 'first']
    expect(await world.berth(args, options)).toMatchObject({ code: 0 })
    const before = await recorded(world, repo)
    const places = registered(world, repo)

    harm(world.state)
    const next = await world.berth(['run', '--name', 'b', '--command', 'echo b > b.txt', 'second'], options)
    expect(next).toMatchObject({ code: 0 })
    const after = await recorded(world, repo)
    expect(after.slice(0, before.length)).toEqual(before)
    expect(copied(world.state).slice(0, before.length)).toEqual(after.slice(0, before.length).map(seqOf))
    expect(registered(world, repo)).toEqual([...places, join(`${repo}.berths`, 'b')])
    expect(await world.task(repo, 'a')).toMatchObject({ status: 'ready' })

    // What was broken is set aside, and the timeline and the inbox say so.
    const told = (await world.facts(repo)).filter(fact => fact.kind === 'store.damaged')
    expect(told).toHaveLength(isTold ? 1 : 0)
    const damaged = join(world.state, 'damaged')
    expect(existsSync(damaged) ? readdirSync(damaged) : []).toHaveLength(isTold ? 1 : 0)
    expect((await world.items(repo)).map(item => item.kind)).toEqual(isTold ? ['damaged'] : [])
    expect(await world.berth(['land', 'a'], options)).toMatchObject({ code: 0 })
    expect(world.git(repo, 'show', 'main:w.txt')).toBe('work\n')
  },
  180_000,
)

const recorded = async (world: World, repo: string): Promise<string[]> =>
  (await world.facts(repo))
    .filter(({ kind }) => !/^(loop|store|host|admission|limits|project)\./.test(kind))
    .map(fact => `${fact.seq} ${fact.kind} ${fact.task ?? ''}`)

const seqOf = (fact: string): number => Number(fact.split(' ')[0])

/** The numbers of the facts that the segments hold, of those that `recorded` tells of. */
const copied = (state: string): number[] =>
  readdirSync(join(state, 'facts'))
    .toSorted()
    .flatMap(name => readFileSync(join(state, 'facts', name), 'utf8').split('\n'))
    .filter(line => line !== '' && !/"kind":"(loop|store|host|admission|limits|project)\./.test(line))
    .map(line => Number(/"seq":(\d+)/.exec(line)?.[1]))
