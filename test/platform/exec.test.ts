import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { run } from '../../src/platform/exec.ts'
import { platform } from '../../src/platform/platform.ts'
import { until } from '../fixtures/berth.ts'

const env = { PATH: process.env['PATH'] }
const limits = { env, timeoutMs: 20_000, maxBytes: 1_000_000 }
const sh = (line: string, more: object = {}) => run('sh', ['-c', line], { ...limits, ...more })

test('a command gives its code and both streams', async () => {
  const { out, err, ...rest } = await sh('echo out; echo err >&2; exit 3')
  expect([out.toString(), err.toString()]).toEqual(['out\n', 'err\n'])
  expect(rest).toEqual({ code: 3, signal: null, timedOut: false, truncated: false, missing: false })
})

test('input goes in whole and ends, and a command that does not read it is no trouble', async () => {
  const input = Buffer.alloc(3_000_000, 'abc\0')
  const { out } = await run('sh', ['-c', 'wc -c'], { ...limits, input })
  expect(Number(out.toString())).toBe(3_000_000)
  expect((await run('true', [], { ...limits, input })).code).toBe(0)
  expect((await sh('cat')).out.length).toBe(0)
})

test('a missing program and a missing folder are told apart', async () => {
  expect(await run('no-such-program', [], limits)).toMatchObject({ code: null, missing: true })
  const folder = await run('true', [], { ...limits, cwd: '/no/such/folder' })
  expect(folder).toMatchObject({ code: null, missing: false })
  expect(folder.err.toString()).toBe("there is no folder '/no/such/folder'")
  expect((await run('true', ['x'.repeat(3_000_000)], limits)).code).toBeNull()
})

test('time and bytes are limited, and what the command started is ended with it', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'berth-exec-'))
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }))
  const slow = await sh('sleep 300 & echo $! > pid; wait', { cwd: dir, timeoutMs: 1_000 })
  expect(slow).toMatchObject({ timedOut: true, signal: 'SIGTERM' })
  if (existsSync(join(dir, 'pid'))) {
    const pid = Number(readFileSync(join(dir, 'pid'), 'utf8'))
    // It was killed before the answer came; the system may still be taking it down.
    await until('the grandchild to be gone', () => platform.identity(pid) === undefined, 10_000)
  }
  const loud = await sh('yes', { maxBytes: 10_000 })
  expect(loud).toMatchObject({ truncated: true })
  expect(loud.out.length).toBe(10_000)
})

test('a grandchild that keeps the pipe open does not keep the answer', async () => {
  const begun = performance.now()
  const { out, code } = await sh('sleep 20 & echo $!')
  expect(code).toBe(0)
  expect(performance.now() - begun).toBeLessThan(10_000)
  process.kill(Number(out.toString()), 'SIGKILL')
})

test('an abort ends the command', async () => {
  const abort = new AbortController()
  const running = sh('sleep 300', { signal: abort.signal })
  abort.abort()
  expect(await running).toMatchObject({ code: null, signal: 'SIGTERM', timedOut: false })
})

test('a command is asked to end, so that it can take its locks away, and one that does not listen is killed', async () => {
  const env = { PATH: process.env['PATH'] ?? '' }
  const limits = { env, timeoutMs: 300, maxBytes: 1000 }
  const polite = await run(
    'sh',
    ['-c', 'trap "echo tidied; exit 7" TERM; while :; do sleep 0.05; done'],
    limits,
  )
  expect(polite).toMatchObject({ code: 7, timedOut: true })
  expect(polite.out.toString()).toBe('tidied\n')
  const deaf = await run('sh', ['-c', 'trap "" TERM; while :; do sleep 0.05; done'], limits)
  expect(deaf).toMatchObject({ code: null, signal: 'SIGKILL', timedOut: true })
})
