// Damage to the database, its log and the segments (case 54): everything is there again, said once, and kept aside.

import {
  appendFileSync,
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { type Store } from '../../src/store/store.ts'
import { at, observation, seqs, state } from './conformance.ts'
import { contents, folder, openReading, openWriting } from './folder.ts'

const stamp = { at, awake: 0 }
const count = 400
const all = Array.from({ length: count }, (_, i) => i + 1)

/** A closed state directory with 400 facts over several pages and one segment. */
function filled(): string {
  const dir = join(folder(), 'state')
  const store = openWriting(dir)
  fill(store)
  store.close()
  return dir
}

function fill(store: Store): void {
  for (let i = 0; i < count; i += 20)
    store.append(
      Array.from({ length: 20 }, (_, k) =>
        k % 2 === 0 ? state(`t${k}`, `note ${i + k} `.repeat(9)) : observation(`t${k}`, 'r', `f${k}.ts`),
      ),
      stamp,
    )
}

/** The same as a crash leaves it: the log of the database not folded in. */
function crashed(): string {
  const dir = folder()
  const store = openWriting(join(dir, 'live'))
  fill(store)
  cpSync(join(dir, 'live'), join(dir, 'state'), { recursive: true })
  store.close()
  return join(dir, 'state')
}

const segment = (dir: string): string => join(dir, 'facts/0001.jsonl')
const lines = (dir: string): string[] => readFileSync(segment(dir), 'utf8').trimEnd().split('\n')

/** Starts a writer, and checks everything that must be true after a repair. Returns the report and what was kept. */
function mended(dir: string, expected = all, highest = count) {
  const store = openWriting(dir)
  expect(seqs(store.read())).toEqual(expected)
  const report = store.damage
  expect(report).toBeDefined()
  const kept = readdirSync(report?.kept ?? '').filter(name => name !== 'report.json')
  const [next] = store.append([{ kind: 'store.damaged', ...(report ?? fail()) }], stamp)
  expect(next?.seq).toBe(highest + 1)
  expect(store.damage).toEqual(report)
  store.close()
  const again = openWriting(dir)
  expect(again.damage).toBeUndefined()
  expect(seqs(again.read())).toEqual([...expected, highest + 1])
  again.close()
  const copied = lines(dir).map(line => JSON.parse(line).seq)
  expect(copied).toEqual([...expected, highest + 1])
  return { report, kept }
}

const fail = (): never => {
  throw new Error('nothing was reported')
}

function zero(file: string, from: number, length: number): void {
  const bytes = readFileSync(file)
  bytes.fill(0, from, Math.min(bytes.length, from + length))
  writeFileSync(file, bytes)
}

describe('a damaged database is rebuilt from the segments', () => {
  const database = (dir: string) => join(dir, 'berth.db')
  const damages: [string, (file: string) => void][] = [
    ['missing', file => rmSync(file)],
    ['empty', file => truncateSync(file, 0)],
    ['zeroed', file => zero(file, 0, Infinity)],
    ['without its header', file => zero(file, 0, 100)],
    ['without its schema number', file => zero(file, 60, 4)],
    ['without its first page', file => zero(file, 0, 4096)],
    ['cut in the middle', file => truncateSync(file, 30_000)],
    ['cut within a page', file => truncateSync(file, 10_001)],
    ['replaced by text', file => writeFileSync(file, 'this is no database\n'.repeat(1000))],
    ['scribbled over inside a record', file => scribble(file)],
  ]
  test.each(damages)('%s', (name, damage) => {
    const dir = filled()
    damage(database(dir))
    const bytes = existsSync(database(dir)) ? readFileSync(database(dir)) : undefined
    const reader = openReading(dir)
    expect(seqs(reader.read())).toEqual(all)
    expect([...reader.state()]).toHaveLength(count / 2)
    reader.close()
    const { report, kept } = mended(dir)
    expect(report).toMatchObject({ recovered: count, missing: 'nothing' })
    expect(kept).toEqual(name === 'missing' ? [] : ['berth.db'])
    if (bytes !== undefined)
      expect(readFileSync(join(report?.kept ?? '', 'berth.db')).equals(bytes)).toBe(true)
  })

  test('whichever of its pages is zeroed', () => {
    const whole = filled()
    const pages = readFileSync(database(whole)).length / 4096
    for (let page = 0; page < pages; page += 1) {
      const dir = join(folder(), 'state')
      cpSync(whole, dir, { recursive: true })
      zero(database(dir), page * 4096, 4096)
      const reader = openReading(dir)
      expect([page, seqs(reader.read())]).toEqual([page, all])
      expect([page, [...reader.state()].length]).toEqual([page, count / 2])
      reader.close()
      const store = openWriting(dir)
      expect([page, seqs(store.read())]).toEqual([page, all])
      expect([page, store.damage?.missing]).toEqual([page, 'nothing'])
      store.close()
    }
  })

  test('also facts that only the damaged file holds are taken over', () => {
    const dir = filled()
    writeFileSync(segment(dir), `${lines(dir).slice(0, 390).join('\n')}\n`)
    const file = join(dir, 'berth.db')
    writeFileSync(file, readFileSync(file).fill(0, 4096 * 8, 4096 * 9))
    mended(dir)
  })
})

describe('a damaged log of the database loses nothing', () => {
  const damages: [string, (log: string) => void][] = [
    ['missing', log => rmSync(log)],
    ['zeroed', log => zero(log, 0, Infinity)],
    ['cut short', log => truncateSync(log, 20_000)],
    ['garbled', log => writeFileSync(log, 'x'.repeat(9000))],
    ['zeroed in the middle', log => zero(log, 40_000, 4096)],
  ]
  test.each(damages)('%s', (name, damage) => {
    const dir = crashed()
    const log = join(dir, 'berth.db-wal')
    damage(log)
    const bytes = existsSync(log) ? readFileSync(log) : undefined
    const reader = openReading(dir)
    expect(seqs(reader.read())).toEqual(all)
    reader.close()
    const { report, kept } = mended(dir)
    expect(report?.missing).toBe('nothing')
    if (bytes !== undefined) {
      const file = kept.find(entry => entry.startsWith('berth.db-wal'))
      expect(readFileSync(join(report?.kept ?? '', file ?? '')).equals(bytes)).toBe(true)
    }
  })

  test('an undamaged one after a crash is no damage', () => {
    const dir = crashed()
    const store = openWriting(dir)
    expect(store.damage).toBeUndefined()
    expect(seqs(store.read())).toEqual(all)
    store.close()
    expect(existsSync(join(dir, 'damaged'))).toBe(false)
  })
})

describe('damaged segments are healed from the database', () => {
  const damages: [string, (dir: string) => void][] = [
    ['a torn last line', dir => truncateSync(segment(dir), readFileSync(segment(dir)).length - 7)],
    ['no final newline', dir => truncateSync(segment(dir), readFileSync(segment(dir)).length - 1)],
    ['zero bytes behind', dir => appendFileSync(segment(dir), Buffer.alloc(512))],
    ['zero bytes in the middle', dir => zero(segment(dir), 5000, 700)],
    ['a record glued behind a torn one', dir => glue(dir)],
    ['a byte order mark and other line endings', dir => dos(dir)],
    ['disorder', dir => writeFileSync(segment(dir), `${lines(dir).toReversed().join('\n')}\n`)],
    ['duplicates', dir => appendFileSync(segment(dir), `${lines(dir).slice(5, 9).join('\n')}\n`)],
    [
      'bytes that are no text',
      dir => writeFileSync(segment(dir), readFileSync(segment(dir)).fill(0xff, 900, 905)),
    ],
    ['nothing at all', dir => rmSync(segment(dir))],
    ['an empty file', dir => truncateSync(segment(dir), 0)],
  ]
  test.each(damages)('%s', (name, damage) => {
    const dir = filled()
    const whole = readFileSync(segment(dir), 'utf8')
    damage(dir)
    const bytes = existsSync(segment(dir)) ? readFileSync(segment(dir)) : undefined
    if (name === 'an empty file') {
      // It says nothing wrong: what it lacks is appended.
      const store = openWriting(dir)
      expect(store.damage).toBeUndefined()
      store.close()
    } else {
      const { report, kept } = mended(dir)
      expect(report?.missing).toBe('nothing')
      expect(kept).toEqual(bytes === undefined ? [] : ['0001.jsonl'])
      if (bytes) expect(readFileSync(join(report?.kept ?? '', '0001.jsonl')).equals(bytes)).toBe(true)
    }
    expect(readFileSync(segment(dir), 'utf8').startsWith(whole)).toBe(true)
  })
})

describe('segments alone, damaged, are all there is', () => {
  const row = (seq: number, kind: string) =>
    `{"seq":${seq},"at":"2026-01-0${seq}T10:00:00.000Z","task":"t${seq}","kind":"${kind}"}`
  const good = [row(1, 'start'), row(2, 'start'), row(3, 'exit'), row(4, 'note')].join('\n')
  const samples: [string, string | Buffer, number[], number, string][] = [
    ['torn', `${good}\n${row(5, 'end').slice(0, 31)}`, [1, 2, 3, 4], 5, 'facts 5'],
    ['zeros', Buffer.concat([Buffer.from(`${good}\n`), Buffer.alloc(512)]), [1, 2, 3, 4], 4, 'nothing'],
    [
      'glued',
      `${good}\n${row(5, 'end').slice(0, 20)}${row(6, 'end')}\n${row(7, 'end')}\n`,
      [1, 2, 3, 4, 6, 7],
      7,
      'facts 5',
    ],
    ['bom-crlf', `\uFEFF${good.replaceAll('\n', '\r\n')}\r\n`, [1, 2, 3, 4], 4, 'nothing'],
    ['disorder', `${good}\n${row(4, 'note')}\n${row(3, 'late')}\n`, [1, 2, 3, 4], 4, 'nothing'],
    ['no-newline', `${good}\n${row(5, 'end')}`, [1, 2, 3, 4, 5], 5, 'nothing'],
  ]
  test.each(samples)('%s', (_, bytes, intact, highest, missing) => {
    const dir = join(folder(), 'state')
    mkdirSync(join(dir, 'facts'), { recursive: true })
    writeFileSync(segment(dir), bytes)
    writeFileSync(join(dir, 'id.json'), '{"stateId":"one","schema":1,"madeAt":1}\n')
    const reader = openReading(dir)
    expect(seqs(reader.read())).toEqual(intact)
    reader.close()
    const { report, kept } = mended(dir, intact, highest)
    expect(report).toMatchObject({ recovered: intact.length, missing })
    expect(kept).toEqual(['0001.jsonl'])
    expect(readFileSync(join(report?.kept ?? '', '0001.jsonl')).equals(Buffer.from(bytes))).toBe(true)
    const shown = openReading(dir)
    expect([...shown.read({ to: 3, from: 3 })]).toEqual([JSON.parse(row(3, 'exit'))])
    shown.close()
  })
})

test('database and segments damaged at once lose only what neither has', () => {
  const dir = filled()
  const file = join(dir, 'berth.db')
  const original = lines(dir)
  zero(segment(dir), 0, 20_000)
  const lostIn = original.findIndex(line => lines(dir).includes(line))
  truncateSync(file, readFileSync(file).length - 4096)
  const store = openWriting(dir)
  const left = seqs(store.read())
  expect(store.damage?.what.split('; ')).toHaveLength(2)
  expect(left.filter(seq => seq > lostIn)).toEqual(all.slice(lostIn))
  expect(seqs(store.append([state('a')], stamp))).toEqual([count + 1])
  store.close()
})

test('a repair that was cut short at any step is finished by the next start, and reported once', () => {
  const dir = filled()
  zero(join(dir, 'berth.db'), 4096 * 10, 4096)
  glue(dir)
  const before = contents(dir)
  // The steps of a repair, as a crash after each would leave them.
  const steps: ((at: string) => void)[] = [
    at => keep(at, 'berth.db'),
    at => writeFileSync(join(at, 'berth.db.part'), 'half'),
    at => copyFileSync(complete(), join(at, 'berth.db.new')),
    at => {
      copyFileSync(complete(), join(at, 'berth.db.new'))
      keep(at, 'berth.db')
      rmSync(join(at, 'berth.db'))
    },
  ]
  for (const step of steps) {
    const at = join(folder(), 'state')
    for (const [path, bytes] of Object.entries(before)) {
      mkdirSync(join(at, path, '..'), { recursive: true })
      writeFileSync(join(at, path), bytes, 'latin1')
    }
    step(at)
    const { kept } = mended(at)
    expect(kept).toContain('berth.db')
    expect(readdirSync(at).filter(name => /part|new/.test(name))).toEqual([])
    expect(readdirSync(join(at, 'damaged'))).toHaveLength(1)
  }
})

test('a report that the log does not tell of yet is made again at each start', () => {
  const dir = filled()
  rmSync(join(dir, 'berth.db'))
  const one = openWriting(dir)
  const report = one.damage
  one.close()
  const two = openWriting(dir)
  expect(two.damage).toEqual(report)
  two.append([{ kind: 'store.damaged', ...(report ?? fail()) }], stamp)
  two.close()
  const three = openWriting(dir)
  expect(three.damage).toBeUndefined()
  three.close()
})

test('damage that shows only while reading is said, and mended by the next start', () => {
  const dir = filled()
  const store = openWriting(dir)
  const file = join(dir, 'berth.db')
  zero(file, 4096, 4096 * 20)
  expect(() => seqs(store.read())).toThrow(expect.objectContaining({ code: 'state-damaged' }))
  store.close()
  mended(dir)
})

/** The database of an undamaged twin. */
function complete(): string {
  return join(filled(), 'berth.db')
}

/** What a repair does first. */
function keep(dir: string, name: string): void {
  const kept = join(dir, 'damaged/2025-06-15T15-06-40-000Z')
  mkdirSync(kept, { recursive: true, mode: 0o700 })
  const report = { what: 'berth.db: x', kept, recovered: 0, missing: '', highest: 0, done: false }
  writeFileSync(join(kept, 'report.json'), JSON.stringify(report))
  copyFileSync(join(dir, name), join(kept, name))
}

/** Overwrites part of one record's text where no structure of SQLite is. */
function scribble(file: string): void {
  const bytes = readFileSync(file)
  const where = bytes.indexOf('"text":"note 100 ')
  bytes.fill(0, where, where + 20)
  writeFileSync(file, bytes)
}

function glue(dir: string): void {
  const [first = '', second = '', ...rest] = lines(dir)
  writeFileSync(segment(dir), `${first.slice(0, 25)}${second}\n${rest.join('\n')}\n`)
}

function dos(dir: string): void {
  writeFileSync(segment(dir), `\uFEFF${lines(dir).join('\r\n')}\r\n`)
}
