// Case 54: the journal and the database after a crash and after damage.

import {
  copyFileSync,
  openSync,
  readFileSync,
  readdirSync,
  statSync,
  truncateSync,
  writeFileSync,
  writeSync,
  closeSync,
  existsSync,
  rmSync,
} from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { type World, makeWorld } from '../fixtures/berth.ts'

type Facts = Awaited<ReturnType<World['facts']>>

const damages: [string, (world: World) => void][] = [
  [
    'the last bytes of the journal cut off',
    world => truncateSync(lastSegment(world), statSync(lastSegment(world)).size - 7),
  ],
  ['zeros behind the journal', world => writeFileSync(lastSegment(world), Buffer.alloc(512), { flag: 'a' })],
  ['a torn record before whole ones', world => tearInTheMiddle(lastSegment(world))],
  [
    'a byte order mark and CRLF',
    world =>
      writeFileSync(
        lastSegment(world),
        `\ufeff${readFileSync(lastSegment(world), 'utf8').replaceAll('\n', '\r\n')}`,
      ),
  ],
  [
    'a zeroed page in the database',
    world => overwrite(join(world.state, 'berth.db'), 4096, Buffer.alloc(4096)),
  ],
  ['a database cut short', world => truncateSync(join(world.state, 'berth.db'), 5000)],
  [
    'a database of garbage',
    world => writeFileSync(join(world.state, 'berth.db'), 'not a database'.repeat(1000)),
  ],
  ['no database', world => rmSync(join(world.state, 'berth.db'))],
  [
    'a garbled WAL',
    world =>
      existsSync(join(world.state, 'berth.db-wal')) &&
      writeFileSync(join(world.state, 'berth.db-wal'), 'x'.repeat(9000)),
  ],
]

test.each(damages)(
  'after %s every fact is still there, and the next has a higher number',
  async (_, damage) => {
    const world = makeWorld()
    const repo = world.repository()
    expect(
      await world.berth(['run', '--name', 'a', '--command', 'echo x > a.txt', '--repo', repo, 'go']),
    ).toMatchObject({ code: 0 })
    const before = lasting(await world.facts(repo))
    damage(world)
    expect(lasting(await world.facts(repo))).toEqual(before)
    expect(
      await world.berth(['run', '--name', 'b', '--command', 'echo x > b.txt', '--repo', repo, 'go']),
    ).toMatchObject({ code: 0 })
    const after = await world.facts(repo)
    expect(lasting(after).slice(0, before.length)).toEqual(before)
    const seqs = after.map(fact => fact.seq)
    expect(seqs).toEqual(seqs.toSorted((x, y) => x - y))
    expect(new Set(seqs).size).toBe(seqs.length)
    expect((await world.task(repo, 'a')).status).toBe('ready')
    // every record of the journal stands on a line of its own
    for (const file of segments(world)) {
      const torn = readFileSync(file, 'utf8')
        .split(/\r?\n/)
        .filter(line => line !== '' && line.startsWith('{"seq"') && !line.endsWith('}'))
      expect(torn.length).toBeLessThanOrEqual(1)
    }
  },
)

test('damage is reported once, and the damaged bytes are kept', async () => {
  const world = makeWorld()
  const repo = world.repository()
  await world.berth(['run', '--name', 'a', '--command', 'echo x > a.txt', '--repo', repo, 'go'])
  overwrite(join(world.state, 'berth.db'), 0, Buffer.alloc(8192))
  const kept = join(world.dir, 'kept')
  copyFileSync(join(world.state, 'berth.db'), kept)
  await world.berth(['run', '--name', 'b', '--command', 'echo x > b.txt', '--repo', repo, 'go'])
  await world.berth(['run', '--name', 'c', '--command', 'echo x > c.txt', '--repo', repo, 'go'])
  const damaged = (await world.facts(repo)).filter(fact => fact.kind === 'store.damaged')
  expect(damaged).toHaveLength(1)
  const set = readdirSync(join(world.state, 'damaged'), { recursive: true, withFileTypes: true }).filter(
    entry => entry.isFile(),
  )
  expect(set.map(entry => entry.name)).toContain('berth.db')
})

/** Facts without those that only say that a loop came or went: they are recorded by looking. */
const lasting = (facts: Facts): unknown[] =>
  facts.filter(fact => !/^(loop|admission|limits|store|host)\./.test(fact.kind))

const segments = (world: World): string[] =>
  readdirSync(join(world.state, 'facts'))
    .toSorted()
    .map(name => join(world.state, 'facts', name))

const lastSegment = (world: World): string => segments(world).at(-1) ?? ''

function overwrite(file: string, at: number, bytes: Buffer): void {
  const fd = openSync(file, 'r+')
  writeSync(fd, bytes, 0, bytes.length, at)
  closeSync(fd)
}

function tearInTheMiddle(file: string): void {
  const lines = readFileSync(file, 'utf8').split('\n')
  const middle = lines.length >> 1
  const torn = (lines[middle] ?? '').slice(0, 20) + (lines[middle + 1] ?? '')
  writeFileSync(file, [...lines.slice(0, middle), torn, ...lines.slice(middle + 2)].join('\n'))
}
