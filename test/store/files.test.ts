// Files that are whole or not there, on a full disk and in a folder that cannot be written too.

import { execFileSync } from 'node:child_process'
import {
  closeSync,
  mkdirSync,
  openSync,
  readFileSync,
  readdirSync,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import {
  atomicWrite,
  exclusiveCreate,
  isFull,
  makeReserve,
  privateDir,
  readIfThere,
  releaseReserve,
  reserveBytes,
} from '../../src/store/files.ts'
import { takeLock } from '../../src/store/lock.ts'
import { at, observation, seqs, state } from './conformance.ts'
import { contents, folder, openReading, openWriting } from './folder.ts'

const stamp = { at, awake: 0 }

test('a replaced file has the new content, its mode, and leaves nothing beside it', () => {
  const dir = folder()
  const file = join(dir, 'a')
  atomicWrite(file, 'one')
  atomicWrite(file, Buffer.from('two'), 0o640)
  expect(readFileSync(file, 'utf8')).toBe('two')
  expect(statSync(file).mode & 0o777).toBe(0o640)
  expect(readdirSync(dir)).toEqual(['a'])
})

test('a file is made once, and a second maker changes nothing', () => {
  const dir = folder()
  const file = join(dir, 'a')
  expect(exclusiveCreate(file, 'one')).toBe('made')
  expect(exclusiveCreate(file, 'two')).toBe('exists')
  expect(readFileSync(file, 'utf8')).toBe('one')
  expect(statSync(file).mode & 0o777).toBe(0o600)
  expect(readdirSync(dir)).toEqual(['a'])
})

test('a missing file is undefined, a folder in its place is an error', () => {
  const dir = folder()
  writeFileSync(join(dir, 'a'), 'x')
  expect(readIfThere(join(dir, 'a'))?.toString()).toBe('x')
  expect(readIfThere(join(dir, 'b'))).toBeUndefined()
  expect(readIfThere(join(dir, 'a/b'))).toBeUndefined()
  expect(() => readIfThere(dir)).toThrow('EISDIR')
})

test('a private folder is the owner’s alone, also when it was there before', () => {
  const dir = folder()
  mkdirSync(join(dir, 'there'), { mode: 0o755 })
  for (const name of ['there', 'new/deep']) {
    privateDir(join(dir, name))
    expect(statSync(join(dir, name)).mode & 0o777).toBe(0o700)
  }
})

test('the reserve is 16 MB of real blocks, made once, given up once', () => {
  const file = join(folder(), 'reserve')
  expect(makeReserve(file)).toBe('there')
  expect(makeReserve(file)).toBe('there')
  expect(statSync(file).size).toBe(reserveBytes)
  expect(statSync(file).blocks * 512).toBeGreaterThanOrEqual(reserveBytes)
  expect(releaseReserve(file)).toBe('released')
  expect(releaseReserve(file)).toBe('none')
})

test('the device that is always full is known as such', () => {
  const fd = openSync('/dev/full', 'w')
  expect(thrown(() => writeSync(fd, 'x'))).toSatisfy(isFull)
  closeSync(fd)
})

describe.runIf(mounts())('on a disk of its own', () => {
  test('a full one gives up the reserve, and the facts go on', () => {
    const dir = mounted('size=40m')
    const store = openWriting(join(dir, 'state'))
    store.append([state('a')], stamp)
    expect(store.reserveUsed()).toBe(false)
    fillUp(join(dir, 'ballast'))
    let last = 1
    while (!store.reserveUsed()) last = store.append([state('a', 'x'.repeat(3000))], stamp).at(-1)?.seq ?? 0
    expect(readdirSync(join(dir, 'state'))).not.toContain('reserve')
    for (let i = 0; i < 50; i++) last = store.append([state('b')], stamp)[0]?.seq ?? 0
    expect(store.restoreReserve()).toBe('no-room')
    store.close()
    const again = openWriting(join(dir, 'state'))
    expect(again.damage).toBeUndefined()
    expect(again.reserveUsed()).toBe(true)
    expect(seqs(again.read())).toEqual(Array.from({ length: last }, (_, i) => i + 1))
    execFileSync('rm', [join(dir, 'ballast')])
    expect(again.restoreReserve()).toBe('there')
    expect(again.reserveUsed()).toBe(false)
    again.close()
  })

  test('a full one without a reserve says disk-full, records nothing half, and loses nothing', () => {
    const dir = mounted('size=40m')
    const at = join(dir, 'state')
    const store = openWriting(at)
    store.append([state('a')], stamp)
    releaseReserve(join(at, 'reserve'))
    fillUp(join(dir, 'ballast'))
    let acknowledged = 1
    const error = thrown(() => {
      for (;;) {
        const batch = [state('a', 'x'.repeat(3000)), observation('a', 'r', 'f')]
        acknowledged = store.append(batch, stamp).at(-1)?.seq ?? 0
      }
    })
    expect(error).toMatchObject({ code: 'disk-full', hint: 'df -h' })
    expect(seqs(store.read())).toEqual(Array.from({ length: acknowledged }, (_, i) => i + 1))
    expect(thrown(() => atomicWrite(join(at, 'daemon.json'), 'x'.repeat(10_000)))).toMatchObject({
      code: 'disk-full',
    })
    expect(readdirSync(at).filter(name => name.includes('tmp') || name === 'daemon.json')).toEqual([])
    execFileSync('rm', [join(dir, 'ballast')])
    expect(store.append([state('a')], stamp)[0]?.seq).toBe(acknowledged + 1)
    store.close()
    const again = openWriting(at)
    expect(again.damage).toBeUndefined()
    expect(seqs(again.read())).toEqual(Array.from({ length: acknowledged + 1 }, (_, i) => i + 1))
    const lines = readFileSync(join(at, 'facts/0001.jsonl'), 'utf8').trimEnd().split('\n')
    expect(lines.map(line => JSON.parse(line).seq)).toEqual(seqs(again.read()))
    again.close()
  })

  test('a state directory that cannot be written is read, and refuses a writer', async () => {
    const dir = folder()
    const store = openWriting(join(dir, 'state'))
    store.append([state('a'), observation('a', 'r', 'f')], stamp)
    store.close()
    const before = contents(join(dir, 'state'))
    const view = readOnlyView(dir)
    const at = join(view, 'state')
    const refusal = { code: 'state-read-only' }
    expect(thrown(() => openWriting(at))).toMatchObject(refusal)
    expect(thrown(() => openWriting(join(view, 'other')))).toMatchObject(refusal)
    expect(thrown(() => atomicWrite(join(at, 'a'), 'x'))).toMatchObject(refusal)
    expect(thrown(() => exclusiveCreate(join(at, 'a'), 'x'))).toMatchObject(refusal)
    await expect(takeLock(join(at, 'lock.db'), { waitMs: 0 })).rejects.toMatchObject(refusal)
    const reader = openReading(at)
    expect(seqs(reader.read())).toEqual([1, 2])
    reader.close()
    expect(contents(join(dir, 'state'))).toEqual(before)
  })

  test('what a crash left where nothing can be written any more is read too', () => {
    const dir = folder()
    const store = openWriting(join(dir, 'live'))
    store.append([state('a'), observation('a', 'r', 'f')], stamp)
    execFileSync('cp', ['-a', join(dir, 'live'), join(dir, 'state')])
    store.close()
    for (const gone of ['', 'berth.db-shm', 'berth.db-wal', 'berth.db']) {
      execFileSync('rm', ['-f', join(dir, 'state', gone || 'none')])
      const reader = openReading(join(readOnlyView(dir), 'state'))
      expect([gone, seqs(reader.read())]).toEqual([gone, [1, 2]])
      reader.close()
    }
  })
})

/** The same folder seen through a mount that nothing can be written through, even by root. */
function readOnlyView(dir: string): string {
  const view = join(folder(), 'view')
  mkdirSync(view)
  execFileSync('mount', ['--bind', dir, view])
  execFileSync('mount', ['-o', 'remount,bind,ro', view])
  onTestFinished(() => void execFileSync('umount', ['-l', view]))
  return view
}

/** Whether this account may mount a file system of its own. */
function mounts(): boolean {
  try {
    const dir = execFileSync('mktemp', ['-d'], { encoding: 'utf8' }).trim()
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'none', dir], { stdio: 'ignore' })
    execFileSync('umount', [dir])
    execFileSync('rmdir', [dir])
    return true
  } catch {
    return false
  }
}

function mounted(options: string): string {
  const dir = join(folder(), 'disk')
  mkdirSync(dir)
  execFileSync('mount', ['-t', 'tmpfs', '-o', options, 'none', dir])
  // Lazily: a database of SQLite may be open until its last statement is collected.
  onTestFinished(() => void execFileSync('umount', ['-l', dir]))
  return dir
}

function fillUp(file: string): void {
  const fd = openSync(file, 'w')
  for (const size of [65_536, 4096]) thrown(() => writeForever(fd, size))
  closeSync(fd)
}

function writeForever(fd: number, size: number): never {
  for (;;) writeSync(fd, Buffer.alloc(size, 1))
}

function thrown(work: () => unknown): unknown {
  try {
    work()
  } catch (error) {
    return error
  }
  throw new Error('it did not fail')
}
