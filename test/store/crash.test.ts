// A writer killed at any moment: every fact that was acknowledged is there, and no number is missing or used twice.

import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ended, folder, lineOf, openReading, openWriting, startChild } from './folder.ts'

/** Appends batches without end and says each one's last number, once it is acknowledged. */
const writer = `
import { writeSync } from 'node:fs'
import { openStore } from './store/store.js'
const store = openStore(process.argv[2], { now: () => 1e12, host: 'here', newId: () => 'one' })
if (store.damage) writeSync(1, 'damage ' + JSON.stringify(store.damage) + '\\n')
const fact = i => i % 3 === 0
  ? { kind: 'task.noted', project: 'p', task: 'a', text: 'x'.repeat(i % 500) }
  : { kind: 'file.changed', project: 'p', task: 'a', run: 'r', path: 'f' + i % 20, change: 'modified' }
for (let i = 0; ; i++) {
  const events = store.append(Array.from({ length: 1 + (i % 4) }, (_, k) => fact(i + k)), { at: 1e12, awake: i })
  writeSync(1, events.at(-1).seq + '\\n')
}
`

test('kill -9 at twenty moments loses no acknowledged fact', async () => {
  const dir = folder()
  const state = join(dir, 'state')
  let acknowledged = 0
  for (let round = 0; round < 20; round++) {
    const child = startChild(dir, writer, state)
    let said = ''
    child.stdout?.on('data', chunk => (said += String(chunk)))
    // It goes on writing while the line is on its way: the kill meets it anywhere.
    const enough = acknowledged + round * 3
    await lineOf(child, line => Number(line) > enough)
    child.kill('SIGKILL')
    await ended(child)
    expect(said).not.toContain('damage')
    acknowledged = Number(said.split('\n').at(-2))

    const reader = openReading(state)
    expect(reader.damage).toBeUndefined()
    expect(reader.last()?.seq).toBeGreaterThanOrEqual(acknowledged)
    reader.close()
  }
  const store = openWriting(state)
  expect(store.damage).toBeUndefined()
  const last = store.last()?.seq ?? 0
  expect(last).toBeGreaterThanOrEqual(acknowledged)
  const expected = Array.from({ length: last }, (_, i) => i + 1)
  expect([...store.read()].map(event => event.seq)).toEqual(expected)
  const copied = readdirSync(join(state, 'facts')).flatMap(name =>
    readFileSync(join(state, 'facts', name), 'utf8')
      .trimEnd()
      .split('\n')
      .map(line => JSON.parse(line).seq),
  )
  expect(copied).toEqual(expected)
  store.close()
})

test('readers in other processes see a gapless log while it is written', async () => {
  const dir = folder()
  const state = join(dir, 'state')
  const child = startChild(dir, writer, state)
  await lineOf(child, line => Number(line) > 50)
  for (let look = 0; look < 20; look++) {
    const reader = openReading(state)
    const found = [...reader.read()].map(event => event.seq)
    expect(found).toEqual(Array.from({ length: found.length }, (_, i) => i + 1))
    expect(found.length).toBeGreaterThan(50)
    expect(reader.damage).toBeUndefined()
    reader.close()
  }
  child.kill('SIGKILL')
  await ended(child)
})
