import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { platform } from '../../src/platform/platform.ts'
import { type CommandInput, runCommand } from '../../src/process/command.ts'
import { makePlace, until } from './place.ts'

function commandIn(
  place: ReturnType<typeof makePlace>,
  line: string,
  more: Partial<CommandInput> = {},
): CommandInput {
  // Counted among the place's runs, so that its tree is ended with the test.
  const { run, env } = place.specOf('', [])
  return {
    command: { shell: line },
    cwd: place.dir,
    env,
    marker: `${place.stateId}:${run}`,
    timeoutMs: 30_000,
    graceMs: 200,
    outFile: join(place.dir, 'out'),
    secrets: [],
    ...more,
  }
}
const pidIn = (file: string) => (existsSync(file) ? Number(readFileSync(file, 'utf8')) : 0)

test('a command gives its code, its last lines and all of its output', async () => {
  const place = makePlace()
  const result = await runCommand(commandIn(place, 'seq 1 300; printf "\\033[31mred\\033[0m" >&2; exit 4'))
  expect(result).toMatchObject({
    code: 4,
    signal: null,
    timedOut: false,
    cancelled: false,
    missing: false,
    left: [],
    ended: 0,
  })
  expect(result.tail).toHaveLength(200)
  expect(result.tail).toContain('300')
  expect(readFileSync(join(place.dir, 'out'), 'utf8')).toContain('1\n2\n3\n')
})

test('it has no stdin, and no terminal', async () => {
  const place = makePlace()
  const result = await runCommand(
    commandIn(place, 'cat; [ -t 0 ] || echo none; (: < /dev/tty) 2>/dev/null || echo no terminal'),
  )
  expect(result).toMatchObject({ code: 0, tail: ['none', 'no terminal'] })
})

test('its output is redacted on the way in', async () => {
  const place = makePlace()
  const secret = 'a-very-secret-value'
  const line = `printf 'x %s' a-very-; sleep 0.2; echo secret-value; echo ${Buffer.from(secret).toString('base64')}`
  const { tail } = await runCommand(commandIn(place, line, { secrets: [secret] }))
  expect(tail[0]).toBe('x [redacted]')
  expect(readFileSync(join(place.dir, 'out'), 'utf8')).not.toMatch(/very|YS12ZXJ5/)
})

test('a writer in a session of its own that shrugs off TERM is dead when the time is over (case 35)', async () => {
  const place = makePlace()
  const line = `setsid sh -c 'trap "" TERM HUP; echo $$ > writer; i=0; while [ $i -lt 1200 ]; do i=$((i+1)); mkdir -p "n/p$i"; sleep 0.05; done' & exec sleep 60`
  const result = await runCommand(commandIn(place, line, { timeoutMs: 1_500 }))
  expect(result).toMatchObject({ timedOut: true, cancelled: false, left: [] })
  expect(result.ms).toBeLessThan(20_000)
  expect(platform.identity(pidIn(join(place.dir, 'writer')))).toBeUndefined()
})

test('without marker and session, a stray is found by where it stands', async () => {
  const place = makePlace()
  const line = `env -i PATH="$PATH" setsid sh -c 'trap "" TERM; echo $$ > stray; exec sleep 300' & until [ -s stray ]; do sleep 0.02; done`
  const result = await runCommand(commandIn(place, line, { since: Date.now() }))
  expect(result).toMatchObject({ code: 0, ended: 1 })
  expect(platform.identity(pidIn(join(place.dir, 'stray')))).toBeUndefined()
})

test('what it left running is ended, and a pipe that is held open keeps nobody', async () => {
  const place = makePlace()
  const result = await runCommand(commandIn(place, 'sleep 300 & echo $! > left; echo done'))
  expect(result).toMatchObject({ code: 0, tail: ['done'], ended: 1 })
  expect(platform.identity(pidIn(join(place.dir, 'left')))).toBeUndefined()
})

test('it is cancelled at once, with everything that it started', async () => {
  const place = makePlace()
  const abort = new AbortController()
  const running = runCommand(commandIn(place, 'sleep 300 & echo $! > child; wait', { signal: abort.signal }))
  const child = await until(() => pidIn(join(place.dir, 'child')) || undefined)
  abort.abort()
  expect(await running).toMatchObject({ cancelled: true, timedOut: false, left: [] })
  expect(platform.identity(child)).toBeUndefined()
  const never = await runCommand(commandIn(place, 'touch never', { signal: abort.signal }))
  expect(never).toMatchObject({ cancelled: true, code: null })
  expect(existsSync(join(place.dir, 'never'))).toBe(false)
})

test('a command that kills its parent, or is killed, ends by that signal, and alone', async () => {
  const place = makePlace()
  const line = 'sleep 300 & echo $! > left; kill -9 $PPID; sleep 300'
  expect(await runCommand(commandIn(place, line))).toMatchObject({ code: null, signal: 'SIGKILL', left: [] })
  expect(platform.identity(pidIn(join(place.dir, 'left')))).toBeUndefined()
  expect(await runCommand(commandIn(place, 'kill $$'))).toMatchObject({ code: null, signal: 'SIGTERM' })
  expect(await runCommand(commandIn(place, 'exit 255'))).toMatchObject({ code: 255, signal: null })
})

test('a missing program and a missing folder are told apart', async () => {
  const place = makePlace()
  const program = { command: { file: 'no-such-program', args: [] } }
  expect(await runCommand(commandIn(place, '', program))).toMatchObject({ missing: true, code: null })
  const folder = commandIn(place, 'true', { cwd: join(place.dir, 'none') })
  expect(await runCommand(folder)).toMatchObject({
    missing: false,
    reason: `there is no folder '${folder.cwd}'`,
  })
})

test('much output is kept at both ends, and a file that cannot be written is told', async () => {
  const place = makePlace()
  const result = await runCommand(
    commandIn(place, 'echo first; head -c 50000000 /dev/zero | tr "\\0" z; echo; echo last'),
  )
  expect(result.code).toBe(0)
  expect(result.tail.at(-1)).toBe('last')
  const text = readFileSync(join(place.dir, 'out'), 'utf8')
  expect(text.length).toBeLessThan(34_000_000)
  expect(text.startsWith('first\n') && text.endsWith('last\n') && text.includes(' bytes left out]')).toBe(
    true,
  )
  mkdirSync(join(place.dir, 'folder'))
  const refused = await runCommand(
    commandIn(place, 'echo all the same', { outFile: join(place.dir, 'folder') }),
  )
  expect(refused).toMatchObject({
    code: 0,
    tail: ['all the same'],
    reason: expect.stringContaining('EISDIR'),
  })
})

test('a record that was cut off by a crash says what it can', async () => {
  const { readExit, readSpawn, takeRunLock, writeSpawn } = await import('../../src/process/record.ts')
  const place = makePlace()
  expect(readSpawn(join(place.dir, 'none'))).toEqual({ is: 'none' })
  expect(readExit(join(place.dir, 'none'))).toBeUndefined()
  const own = { pid: process.pid, start: platform.identity(process.pid) ?? '' }
  const [held, dead] = ['held', 'dead'].map(name => join(place.dir, name)) as [string, string]
  for (const dir of [held, dead]) mkdirSync(dir)
  expect(takeRunLock(held, own)).toBe(true)
  expect(takeRunLock(held, own)).toBe(false)
  expect(readSpawn(held)).toEqual({ is: 'spawning', lockHeld: true })
  expect(takeRunLock(dead, { pid: own.pid, start: 'an earlier life' })).toBe(true)
  writeSpawn(dead, { is: 'spawning' })
  expect(readSpawn(dead)).toEqual({ is: 'spawning', lockHeld: false })
  const exit = { code: 0, signal: null, endedAt: 1, spawned: { ...own, at: 0 }, tree: 'ending', left: [] }
  for (const dir of [held, dead]) writeFileSync(join(dir, 'exit.json'), JSON.stringify(exit))
  expect(readExit(held)).toBeUndefined()
  expect(readExit(dead)).toMatchObject({ code: 0, tree: 'ending' })
})
