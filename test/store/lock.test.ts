// Locks between real processes: one holder at a time, free the moment it dies.

import {
  appendFileSync,
  chmodSync,
  existsSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { lockHolder, takeLock } from '../../src/store/lock.ts'
import { ended, folder, lineOf, startChild } from './folder.ts'

/** Takes the lock, says so, and holds it until its stdin ends. */
const holder = `
import { takeLock } from './store/lock.js'
const lock = await takeLock(process.argv[2], { waitMs: 10_000, holder: { pid: process.pid, what: 'loop' } })
console.log(lock ? 'held' : 'busy')
process.stdin.resume().on('end', () => { lock?.release(); process.exit() })
`

test('a free lock is taken, a held one is not, a released one is free again', async () => {
  const file = join(folder(), 'new/folder/lock.db')
  const one = await takeLock(file, { waitMs: 0 })
  expect(one).toBeDefined()
  expect(await takeLock(file, { waitMs: 0 })).toBeUndefined()
  expect(await takeLock(file, { waitMs: 30 })).toBeUndefined()
  one?.release()
  one?.release()
  const two = await takeLock(file, { waitMs: 0 })
  expect(two).toBeDefined()
  two?.release()
})

test('a lock held by another process is not taken, and says who holds it', async () => {
  const dir = folder()
  const file = join(dir, 'lock.db')
  const child = startChild(dir, holder, file)
  expect(await lineOf(child, () => true)).toBe('held')
  expect(await takeLock(file, { waitMs: 50 })).toBeUndefined()
  expect(lockHolder(file)).toEqual({ pid: child.pid, what: 'loop' })
  child.stdin?.end()
  const lock = await takeLock(file, { waitMs: 10_000 })
  expect(lock).toBeDefined()
  expect(lockHolder(file)).toBeUndefined()
  lock?.release()
})

test('a lock whose file was taken away while it was waited for is not held by two', async () => {
  const dir = folder()
  const file = join(dir, 'lock.db')
  const one = await takeLock(file, { waitMs: 0 })
  const early = startChild(dir, holder, file)
  const first = lineOf(early, () => true)
  await vi.waitUntil(() => hasOpen(early.pid ?? 0, file), { timeout: 20_000 })
  rmSync(file)
  const late = startChild(dir, holder, file)
  expect(await lineOf(late, () => true)).toBe('held')
  one?.release()
  const soon = new Promise(resolve => setTimeout(() => resolve('waits'), 300))
  expect(await Promise.race([first, soon])).toBe('waits')
  late.stdin?.end()
  expect(await first).toBe('held')
  early.stdin?.end()
})

const hasOpen = (pid: number, file: string): boolean =>
  readdirSync(`/proc/${pid}/fd`).some(name => {
    try {
      return readlinkSync(`/proc/${pid}/fd/${name}`) === file
    } catch {
      return false
    }
  })

test('a lock is free at once after its holder was killed', async () => {
  const dir = folder()
  const file = join(dir, 'lock.db')
  const child = startChild(dir, holder, file)
  await lineOf(child, line => line === 'held')
  child.kill('SIGKILL')
  await ended(child)
  const lock = await takeLock(file, { waitMs: 0 })
  expect(lock).toBeDefined()
  lock?.release()
})

test('of six processes racing for it, one after the other holds it, and each gets its turn', async () => {
  const dir = folder()
  const file = join(dir, 'lock.db')
  const log = join(dir, 'log')
  writeFileSync(log, '')
  const racer = `
import { appendFileSync } from 'node:fs'
import { takeLock } from './store/lock.js'
console.log('ready')
await new Promise(resolve => process.stdin.once('data', resolve))
for (let i = 0; i < 5; i++) {
  const lock = await takeLock(process.argv[2], { waitMs: 50_000 })
  appendFileSync(process.argv[3], 'in\\n')
  await new Promise(resolve => setTimeout(resolve, 2))
  appendFileSync(process.argv[3], 'out\\n')
  lock.release()
}
process.exit()
`
  const children = Array.from({ length: 6 }, () => startChild(dir, racer, file, log))
  await Promise.all(children.map(child => lineOf(child, line => line === 'ready')))
  for (const child of children) child.stdin?.write('go\n')
  await Promise.all(children.map(ended))
  expect(children.map(child => child.exitCode)).toEqual([0, 0, 0, 0, 0, 0])
  expect(readFileSync(log, 'utf8')).toBe('in\nout\n'.repeat(30))
})

test('of six processes that ask once, exactly one gets it', async () => {
  const dir = folder()
  const file = join(dir, 'lock.db')
  const once = `
import { takeLock } from './store/lock.js'
console.log('ready')
await new Promise(resolve => process.stdin.once('data', resolve))
const lock = await takeLock(process.argv[2], { waitMs: 0 })
console.log(lock ? 'held' : 'busy')
process.stdin.resume().on('end', () => process.exit())
`
  const children = Array.from({ length: 6 }, () => startChild(dir, once, file))
  await Promise.all(children.map(child => lineOf(child, line => line === 'ready')))
  for (const child of children) child.stdin?.write('go\n')
  const answers = await Promise.all(children.map(child => lineOf(child, line => line !== 'ready')))
  expect(answers.sort()).toEqual(['busy', 'busy', 'busy', 'busy', 'busy', 'held'])
})

test('waiters of one process get it in order, and one that gives up is skipped', async () => {
  const file = join(folder(), 'lock.db')
  const order: number[] = []
  const first = await takeLock(file, { waitMs: 0 })
  const impatient = takeLock(file, { waitMs: 10 })
  const cancelled = takeLock(file, { waitMs: 10_000, signal: AbortSignal.timeout(20) })
  const others = Array.from({ length: 50 }, async (_, i) => {
    const lock = await takeLock(file, { waitMs: 30_000 })
    order.push(i)
    await Promise.resolve()
    lock?.release()
  })
  expect(await impatient).toBeUndefined()
  expect(await cancelled).toBeUndefined()
  first?.release()
  await Promise.all(others)
  expect(order).toEqual(Array.from({ length: 50 }, (_, i) => i))
})

test('a lock file that something wrote into still locks', async () => {
  const file = join(folder(), 'lock.db')
  appendFileSync(file, 'garbage that is no database at all '.repeat(100))
  const lock = await takeLock(file, { waitMs: 100 })
  expect(lock).toBeDefined()
  expect(await takeLock(file, { waitMs: 0 })).toBeUndefined()
  lock?.release()
})

test('where the lock cannot be made, the error says what a person can do', async () => {
  const dir = folder()
  writeFileSync(join(dir, 'file'), '')
  await expect(takeLock(join(dir, 'file/lock.db'), { waitMs: 0 })).rejects.toThrow()
  if (process.getuid?.() === 0) return
  chmodSync(dir, 0o500)
  onTestFinished(() => chmodSync(dir, 0o700))
  await expect(takeLock(join(dir, 'lock.db'), { waitMs: 0 })).rejects.toMatchObject({
    code: 'state-read-only',
  })
})

test('a killed holder leaves a note that is not taken for a lock', async () => {
  const dir = folder()
  const file = join(dir, 'lock.db')
  const child = startChild(dir, holder, file)
  await lineOf(child, line => line === 'held')
  child.kill('SIGKILL')
  await ended(child)
  expect(lockHolder(file)?.pid).toBe(child.pid)
  const lock = await takeLock(file, { waitMs: 0, holder: { pid: process.pid } })
  expect(lockHolder(file)).toEqual({ pid: process.pid })
  lock?.release()
  expect(existsSync(`${file}.holder`)).toBe(false)
  rmSync(file)
})
