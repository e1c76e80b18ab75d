// The embedded store: the conformance suite, and what only it promises about its files.

import { existsSync, readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { segmentBytes } from '../../src/store/segments.ts'
import { at, observation, seqs, state, storeConformance } from './conformance.ts'
import { contents, folder, openReading, openWriting } from './folder.ts'

storeConformance('the embedded store', () => {
  const dir = join(folder(), 'state')
  return { writer: () => openWriting(dir), reader: () => openReading(dir) }
})

const stamp = { at, awake: 0 }

test('every fact is a line of a segment the moment it is appended', () => {
  const dir = folder()
  const store = openWriting(dir)
  const events = store.append([state('a'), observation('a', 'r', 'x')], stamp)
  expect(readFileSync(join(dir, 'facts/0001.jsonl'), 'utf8')).toBe(
    `${events.map(event => JSON.stringify(event)).join('\n')}\n`,
  )
  store.close()
})

test('segments are of bounded size, and all of them together hold all facts', () => {
  const dir = folder()
  const store = openWriting(dir)
  const text = 'x'.repeat(100_000)
  for (let i = 0; i < 100; i++) store.append([state('a', text)], stamp)
  store.close()
  const names = readdirSync(join(dir, 'facts'))
  expect(names).toEqual(['0001.jsonl', '0002.jsonl', '0003.jsonl'])
  for (const name of names) expect(statSync(join(dir, 'facts', name)).size).toBeLessThanOrEqual(segmentBytes)
  const lines = names.flatMap(name =>
    readFileSync(join(dir, 'facts', name), 'utf8')
      .trimEnd()
      .split('\n'),
  )
  expect(lines.map(line => JSON.parse(line).seq)).toEqual(Array.from({ length: 100 }, (_, i) => i + 1))
  const again = openWriting(dir)
  expect(again.damage).toBeUndefined()
  again.close()
})

test('nobody but the owner may read any of it', () => {
  const dir = join(folder(), 'state')
  const store = openWriting(dir)
  store.append([state('a')], stamp)
  const loose = ['.', ...readdirSync(dir, { recursive: true }).map(String)].filter(
    name => (statSync(join(dir, name)).mode & 0o077) !== 0,
  )
  expect(loose).toEqual([])
  expect(existsSync(join(dir, 'berth.db-wal'))).toBe(true)
  store.close()
})

test('a close in order leaves one plain database file, and a reader writes nothing', () => {
  const dir = join(folder(), 'state')
  const store = openWriting(dir)
  store.append([state('a'), observation('a', 'r', 'x')], stamp)
  store.close()
  const before = contents(dir)
  expect(Object.keys(before)).toEqual([
    'berth.db',
    'facts/0001.jsonl',
    'id.json',
    'private/id.json',
    'reserve',
    'sealed.json',
  ])
  const reader = openReading(dir)
  expect(seqs(reader.read())).toEqual([1, 2])
  expect(reader.damage).toBeUndefined()
  reader.close()
  expect(contents(dir)).toEqual(before)
})

test('a reader that stays open does not keep a writer from starting and stopping', () => {
  const dir = folder()
  openWriting(dir).close()
  const reader = openReading(dir)
  for (let i = 1; i <= 5; i++) {
    const writer = openWriting(dir)
    expect(writer.damage).toBeUndefined()
    writer.append([state('a')], stamp)
    expect(reader.last()?.seq).toBe(i)
    writer.close()
    expect(reader.last()?.seq).toBe(i)
  }
  reader.close()
})

test('what the segments lack is appended to them at the next start, without a word', () => {
  const dir = folder()
  const store = openWriting(dir)
  store.append([state('a')], stamp)
  store.append([state('b'), state('c')], stamp)
  store.close()
  const file = join(dir, 'facts/0001.jsonl')
  const whole = readFileSync(file, 'utf8')
  writeFileSync(file, `${whole.split('\n')[0]}\n`)
  const again = openWriting(dir)
  expect(again.damage).toBeUndefined()
  expect(readFileSync(file, 'utf8')).toBe(whole)
  again.close()
})
