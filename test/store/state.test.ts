// The state directory: where it is, whether it may be used, and which schema it has.

import { cpSync, mkdirSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { stateDirOf, statePaths } from '../../src/store/paths.ts'
import { migrate, schemaOf, schemaVersion } from '../../src/store/schema.ts'
import { openDatabase } from '../../src/store/sqlite.ts'
import { openState } from '../../src/store/state.ts'
import { openStore } from '../../src/store/store.ts'
import { at, seqs, state } from './conformance.ts'
import { contents, folder, openReading, openWriting } from './folder.ts'

const stamp = { at, awake: 0 }
const account = { accountDataDir: () => '/account/berth' }
const making = { now: () => at, newId: () => 'one' }

test('the state directory is BERTH_STATE_DIR, else the account’s, whatever HOME says', () => {
  expect(stateDirOf({ BERTH_STATE_DIR: '/some/where/' }, account)).toBe('/some/where')
  expect(stateDirOf({ BERTH_STATE_DIR: '' }, account)).toBe('/account/berth')
  expect(stateDirOf({ HOME: homedir(), XDG_DATA_HOME: '/x' }, account)).toBe('/account/berth')
})

test('a new state directory is private and has an id, made once', () => {
  const dir = join(folder(), 'deep/state')
  const { id, paths } = openState(dir, making)
  expect(id).toEqual({ stateId: 'one', schema: schemaVersion, madeAt: at })
  expect(statSync(dir).mode & 0o777).toBe(0o700)
  expect(openState(dir, { now: () => 0, newId: () => 'two' }).id).toEqual(id)
  expect(openState(dir, { readOnly: true }).id).toEqual(id)
  expect(readdirSync(dir).sort()).toEqual(['facts', 'id.json', 'private'])
  expect(paths).toMatchObject({ lock: join(dir, 'lock.db'), database: join(dir, 'berth.db') })
})

test('of two that make a state directory in the same moment both have the id of the first', () => {
  const dir = join(folder(), 'state')
  let first = ''
  const newId = () => {
    first = openState(dir, making).id.stateId
    return 'two'
  }
  expect(openState(dir, { now: () => at, newId }).id.stateId).toBe('one')
  expect([first, openState(dir, { readOnly: true }).id.stateId]).toEqual(['one', 'one'])
})

test('a damaged id is taken from its copy', () => {
  const dir = folder()
  openState(dir, making)
  for (const bytes of ['', 'null', '{"stateId":']) {
    writeFileSync(join(dir, 'id.json'), bytes)
    expect(openState(dir, { readOnly: true }).id.stateId).toBe('one')
    expect(openState(dir, { now: () => 0, newId: () => 'two' }).id.stateId).toBe('one')
  }
})

test('reading where nothing was ever recorded says so and makes nothing', () => {
  const dir = join(folder(), 'none')
  expect(() => openReading(dir)).toThrow(expect.objectContaining({ code: 'not-found' }))
  expect(readdirSync(dirname(dir))).toEqual([])
})

test('a folder of something else is not taken for a state directory', () => {
  const dir = folder()
  writeFileSync(join(dir, 'thesis.tex'), 'x')
  expect(() => openWriting(dir)).toThrow(expect.objectContaining({ code: 'path-refused' }))
  expect(readdirSync(dir)).toEqual(['thesis.tex'])
  rmSync(join(dir, 'thesis.tex'))
  mkdirSync(join(dir, 'runs'))
  writeFileSync(join(dir, 'lock.db'), '')
  openWriting(dir).close()
})

test('a network file system is refused before anything is made', () => {
  const dir = join(folder(), 'deep/state')
  const asked: string[] = []
  const isNetworkFileSystem = (path: string) => asked.push(path) > 0
  const options = { ...making, host: 'here', isNetworkFileSystem }
  expect(() => openStore(dir, options)).toThrow(expect.objectContaining({ code: 'state-network' }))
  expect(() => openStore(dir, { ...options, readOnly: true })).toThrow(
    expect.objectContaining({ code: 'state-network' }),
  )
  expect(asked).toEqual([join(dir, '../..'), join(dir, '../..')])
  expect(readdirSync(asked[0] ?? '')).toEqual([])
})

test('a state directory of a newer Berth is refused, by a reader too, and not touched', () => {
  const byId = folder()
  openWriting(byId).close()
  const id = JSON.parse(readFileSync(join(byId, 'id.json'), 'utf8'))
  writeFileSync(join(byId, 'id.json'), JSON.stringify({ ...id, schema: schemaVersion + 1 }))
  const byDatabase = folder()
  openWriting(byDatabase).close()
  const database = openDatabase(join(byDatabase, 'berth.db'), { busyMs: 0 })
  database.exec(`pragma user_version = ${schemaVersion + 1}`)
  database.close()
  for (const dir of [byId, byDatabase]) {
    const before = contents(dir)
    const refusal = expect.objectContaining({ code: 'state-newer', hint: 'npm install -g berth@latest' })
    expect(() => openWriting(dir)).toThrow(refusal)
    expect(() => [...openReading(dir).read()]).toThrow(refusal)
    expect(contents(dir)).toEqual(before)
  }
})

test('a state directory kept from schema 1 is read and written', () => {
  const kept = join(dirname(fileURLToPath(import.meta.url)), '../fixtures/state-schema-1')
  const dir = join(folder(), 'state')
  cpSync(kept, dir, { recursive: true })
  const reader = openReading(dir)
  expect([...reader.read()].map(event => [event.seq, event.kind])).toEqual([
    [1, 'project.seen'],
    [2, 'task.noted'],
    [3, 'tool.called'],
    [4, 'file.changed'],
  ])
  expect(seqs(reader.state())).toEqual([1, 2])
  reader.close()
  const store = openWriting(dir)
  expect(store.damage).toBeUndefined()
  expect(store.id).toBe('5e3a7c1e-0000-4000-8000-000000000001')
  expect(seqs(store.read({ file: 'src/a.ts' }))).toEqual([3, 4])
  expect(seqs(store.append([state('a')], stamp))).toEqual([5])
  store.close()
  expect(JSON.parse(readFileSync(statePaths(dir).id, 'utf8')).schema).toBe(schemaVersion)
})

test('an older database is brought forward step by step, and a step that fails changes nothing', () => {
  const file = join(folder(), 'a.db')
  const one = (database: ReturnType<typeof openDatabase>) => database.exec('create table a (x)')
  const two = (database: ReturnType<typeof openDatabase>) => database.exec('alter table a add column y')
  const three = (database: ReturnType<typeof openDatabase>) => {
    database.exec('alter table a add column z')
    throw new Error('cut short')
  }
  const database = openDatabase(file, { busyMs: 0 })
  expect(migrate(database, [one])).toBe(0)
  database.exec('insert into a values (1)')
  expect(() => migrate(database, [one, two, three])).toThrow('cut short')
  expect(schemaOf(database)).toBe(2)
  expect(database.prepare('select * from a').all()).toEqual([{ x: 1, y: null }])
  expect(migrate(database, [one, two])).toBe(2)
  database.close()
})
