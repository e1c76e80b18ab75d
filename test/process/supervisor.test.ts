import { mkdirSync, readFileSync, readdirSync, statSync, writeFileSync, existsSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { platform } from '../../src/platform/platform.ts'
import { connect } from '../../src/process/link.ts'
import { lastLines, readOutput, shownLines, textOf } from '../../src/process/output.ts'
import { readExit, readSpawn } from '../../src/process/record.ts'
import { startSupervisor, warmSupervisors } from '../../src/process/spawn.ts'
import { makePlace, node, supervisorFile, until } from './place.ts'

const all = (runDir: string) => {
  const { chunks } = readOutput(runDir, 0, 100_000_000)
  return Buffer.concat(chunks.map(({ bytes }) => bytes)).toString()
}
const pidsIn = (file: string) =>
  existsSync(file) ? readFileSync(file, 'utf8').split('\n').filter(Boolean).map(Number) : []
const isAlive = (pid: number) => platform.identity(pid) !== undefined

test('a run leaves its output by stream, its exit code and its spawn on disk', async () => {
  const place = makePlace()
  const spec = place.specOf('sh', ['-c', 'echo to out; echo to err >&2; exit 3'])
  const exit = await place.toEnd(spec)
  expect(exit).toMatchObject({
    code: 3,
    signal: null,
    tree: 'ended',
    left: [],
    asked: null,
    dropped: 0,
    logEnded: null,
  })
  expect(lastLines(spec.runDir, 'out', 5)).toEqual(['to out'])
  expect(lastLines(spec.runDir, 'err', 5)).toEqual(['to err'])
  expect(readSpawn(spec.runDir)).toMatchObject({
    is: 'spawned',
    pid: exit.spawned.pid,
    start: exit.spawned.start,
  })
  expect(exit.bytes).toBe('to out\nto err\n'.length)
  await until(() => !existsSync(spec.socket))
})

test('a signal is told as a signal', async () => {
  const place = makePlace()
  const exit = await place.toEnd(place.specOf('sh', ['-c', 'kill -9 $$']))
  expect(exit).toMatchObject({ code: null, signal: 'SIGKILL' })
})

test('a missing program and a missing folder are told apart, and nothing is left', async () => {
  const place = makePlace()
  const program = place.specOf('no-such-program', [])
  expect(await place.start(program)).toEqual({
    is: 'failed',
    reason: "there is no program 'no-such-program'",
    missing: true,
  })
  expect(readSpawn(program.runDir)).toMatchObject({ is: 'failed', missing: true })
  expect(existsSync(program.socket)).toBe(false)
  const folder = place.specOf('sh', ['-c', 'true'], { cwd: join(place.dir, 'none') })
  expect(await place.start(folder)).toEqual({
    is: 'failed',
    reason: `there is no folder '${folder.cwd}'`,
    missing: false,
  })
})

test('the same run is never started twice', async () => {
  const place = makePlace()
  const spec = place.specOf('sh', ['-c', 'echo once'])
  const both = await Promise.all([place.start(spec), place.start(spec)])
  expect(both.map(({ is }) => is).sort()).toEqual(['failed', 'started'])
  await until(() => readExit(spec.runDir))
  expect(await place.start(spec)).toEqual({
    is: 'failed',
    reason: 'this run was started before',
    missing: false,
  })
  expect(all(spec.runDir)).toBe('once\n')
})

test('a prompt goes in byte for byte, megabytes and zeros too, and then ends', async () => {
  const place = makePlace()
  const prompt = Buffer.concat([
    Buffer.from('\ufeff- $(x) `y`\r\n\0\xff'),
    Buffer.alloc(5_000_000, 'p\r\n\0q'),
    Buffer.from('END'),
  ])
  const file = join(place.dir, 'prompt')
  writeFileSync(file, prompt)
  const spec = place.specOf('sh', ['-c', 'cat > got'], { stdin: { is: 'file', path: file } })
  expect((await place.toEnd(spec)).code).toBe(0)
  expect(readFileSync(join(place.dir, 'got')).equals(prompt)).toBe(true)
})

test('a program that never reads its prompt, and one that reads a stdin of nothing, both end', async () => {
  const place = makePlace()
  const file = join(place.dir, 'prompt')
  writeFileSync(file, Buffer.alloc(3_000_000, 'x'))
  expect((await place.toEnd(place.specOf('true', [], { stdin: { is: 'file', path: file } }))).code).toBe(0)
  const begun = performance.now()
  expect((await place.toEnd(place.specOf('sh', ['-c', 'cat; echo done']))).code).toBe(0)
  expect(performance.now() - begun).toBeLessThan(10_000)
})

const escapes = `
sleep 301 & echo $! >> pids
setsid sh -c 'echo $$ >> pids; exec sleep 302' &
nohup sh -c 'echo $$ >> pids; exec sleep 303' >/dev/null 2>&1 &
(sh -c 'setsid sh -c "echo \\$\\$ >> pids; exec sleep 304" &' &)
setsid sh -c 'echo $$ >> pids; cd /; exec sleep 305' &
setsid sh -c 'trap "" TERM HUP INT; echo $$ >> pids; while :; do sleep 1; done' &
env -i PATH="$PATH" setsid sh -c 'echo $$ >> pids; exec sleep 306' &
env -i PATH="$PATH" setsid "${node}" -e 'process.title="something else entirely"; require("fs").appendFileSync("pids", process.pid + "\\n"); process.on("SIGTERM", () => {}); setInterval(() => {}, 1000)' &
`

test('whatever a program left running is ended with it, however it tried to get away', async () => {
  const place = makePlace()
  const spec = place.specOf('sh', [
    '-c',
    `${escapes} until [ "$(wc -l < pids)" -ge 8 ]; do sleep 0.05; done; exit 5`,
  ])
  const exit = await place.toEnd(spec)
  const pids = pidsIn(join(place.dir, 'pids'))
  expect(pids).toHaveLength(8)
  expect(exit).toMatchObject({ code: 5, tree: 'ended', left: [] })
  expect(exit.ended).toBeGreaterThanOrEqual(8)
  expect(pids.filter(isAlive)).toEqual([])
})

test('stop ends the whole tree within its grace and a little, and answers with the exit', async () => {
  const place = makePlace()
  const spec = place.specOf('sh', ['-c', `${escapes} exec sleep 300`])
  await place.start(spec)
  await until(() => pidsIn(join(place.dir, 'pids')).length === 8)
  const link = await connect(spec.runDir, spec)
  expect((await link?.status())?.processes).toBeGreaterThanOrEqual(8)
  const exit = await link?.stop({ graceMs: 300, force: false })
  expect(exit).toMatchObject({ code: null, signal: 'SIGTERM', asked: 'stop', left: [], tree: 'ended' })
  expect(pidsIn(join(place.dir, 'pids')).filter(isAlive)).toEqual([])
})

test('a forced stop cuts the grace of a begun one short', async () => {
  const place = makePlace()
  const spec = place.specOf('sh', ['-c', 'trap "" TERM; echo up; while :; do sleep 0.1; done'])
  await place.start(spec)
  await until(() => all(spec.runDir) === 'up\n')
  const link = await connect(spec.runDir, spec)
  const slow = link?.stop({ graceMs: 60_000, force: false })
  const fast = link?.stop({ graceMs: 60_000, force: true })
  expect(await fast).toMatchObject({ signal: 'SIGKILL', asked: 'force' })
  expect(await slow).toMatchObject({ signal: 'SIGKILL' })
})

test('the output is told as it grows, and the exit when it is there', async () => {
  const place = makePlace()
  const spec = place.specOf('sh', [
    '-c',
    'until [ -e go ]; do sleep 0.02; done; echo one; until [ -e end ]; do sleep 0.02; done',
  ])
  await place.start(spec)
  const link = await connect(spec.runDir, spec)
  const told: number[] = []
  const exits: unknown[] = []
  link?.onOutput(next => told.push(next))
  link?.onExit(exit => exits.push(exit.code))
  writeFileSync(join(place.dir, 'go'), '')
  await until(() => told.includes(4))
  expect(await link?.status()).toMatchObject({ state: 'running', bytes: 4 })
  writeFileSync(join(place.dir, 'end'), '')
  await until(() => exits.length > 0)
  expect(exits).toEqual([0])
})

test('a link says when its supervisor was killed, and the records say what is left', async () => {
  const place = makePlace()
  const spec = place.specOf('sleep', ['300'])
  await place.start(spec)
  const link = await connect(spec.runDir, spec)
  const lost = new Promise<void>(resolve => link?.onLost(resolve))
  const spawn = readSpawn(spec.runDir)
  if (spawn.is !== 'spawned') throw new Error(spawn.is)
  expect(spawn.lockHeld).toBe(true)
  process.kill(spawn.supervisor.pid, 'SIGKILL')
  await lost
  await until(() => !platform.alive(spawn.supervisor.pid, spawn.supervisor.start))
  expect(readSpawn(spec.runDir)).toMatchObject({ is: 'spawned', lockHeld: false })
  expect(readExit(spec.runDir)).toBeUndefined()
  const { left, ended } = await platform.endTree(
    { marker: `${spec.stateId}:${spec.run}` },
    { graceMs: 0, limitMs: 5_000 },
  )
  expect({ left, ended }).toEqual({ left: [], ended: 1 })
  expect(await connect(spec.runDir, spec)).toBeUndefined()
})

test('a socket of another run is refused', async () => {
  const place = makePlace()
  const spec = place.specOf('sleep', ['300'])
  await place.start(spec)
  await expect(connect(spec.runDir, { ...spec, run: 'another' })).rejects.toMatchObject({ code: 'not-ours' })
})

test('a run outlives whoever started it', async () => {
  const place = makePlace()
  const spec = place.specOf('sh', ['-c', 'until [ -e go ]; do sleep 0.02; done; echo after; exit 9'])
  const file = join(place.dir, 'spec.json')
  writeFileSync(file, JSON.stringify(spec))
  const starter = place.specOf(node, [
    '-e',
    // What startSupervisor does, in a process that dies at once.
    `const { spawn } = require('node:child_process')
     const child = spawn(process.execPath, [${JSON.stringify(supervisorFile)}, '{}'], { stdio: ['ignore', 'ignore', 'ignore', 'pipe'], detached: true, env: { PATH: process.env.PATH } })
     child.stdio[3].write(require('node:fs').readFileSync(${JSON.stringify(file)}, 'utf8').trim() + '\\n')
     child.stdio[3].once('data', () => process.kill(process.pid, 'SIGKILL'))`,
  ])
  const { spawn } = await import('node:child_process')
  const child = spawn(starter.file, starter.args, { stdio: 'ignore' })
  await new Promise(resolve => child.once('exit', resolve))
  writeFileSync(join(place.dir, 'go'), '')
  expect(await until(() => readExit(spec.runDir))).toMatchObject({ code: 9 })
  expect(all(spec.runDir)).toBe('after\n')
})

test('a supervisor that is asked by the system to end ends its run, and tells of it', async () => {
  const place = makePlace()
  const spec = place.specOf('sleep', ['300'])
  await place.start(spec)
  const spawn = readSpawn(spec.runDir)
  if (spawn.is !== 'spawned') throw new Error(spawn.is)
  process.kill(spawn.supervisor.pid, 'SIGTERM')
  expect(await until(() => readExit(spec.runDir))).toMatchObject({
    signal: 'SIGTERM',
    asked: 'stop',
    left: [],
  })
})

test('orphans that have died are buried while the run goes on', async () => {
  const place = makePlace()
  const spec = place.specOf('sh', [
    '-c',
    'for i in 1 2 3 4 5; do (setsid sh -c "sleep 0.05" &); done; exec sleep 300',
  ])
  await place.start(spec)
  const spawn = readSpawn(spec.runDir)
  if (spawn.is !== 'spawned') throw new Error(spawn.is)
  const children = () =>
    readdirSync('/proc').filter(name => {
      if (!/^\d+$/.test(name)) return false
      try {
        return (
          readFileSync(`/proc/${name}/stat`, 'utf8').split(') ')[1]?.split(' ')[1] ===
          String(spawn.supervisor.pid)
        )
      } catch {
        return false
      }
    })
  await until(() => children().length > 1)
  await until(() => children().length === 1)
})

test('secrets never reach the disk, in no form and in no piece', async () => {
  const place = makePlace()
  const [token, password] = ['tok_case_A1b2C3d4E5f6G7h8', 'p@ss/w"rd+case==']
  const script = `const A = process.env.API_TOKEN, B = process.env.DB_PASS, nap = ms => new Promise(r => setTimeout(r, ms)), w = (s, o = process.stdout) => new Promise(r => o.write(s, r));
(async () => { await w('whole ' + A + '\\n'); await w('split ' + A.slice(0, 9)); await nap(400); await w(A.slice(9) + '\\n');
await w('err ' + A + '\\n', process.stderr); await w('colour ' + A.slice(0, 6) + '\\x1b[32m' + A.slice(6) + '\\x1b[0m\\n');
await w('json ' + JSON.stringify({ pass: B }) + '\\n'); await w('url https://u:' + encodeURIComponent(B) + '@db.case.invalid/\\n'); await w('b64 ' + Buffer.from(A).toString('base64') + '\\n');
for (let i = 0; i < 3; i++) { await w(A.slice(i * 8, i * 8 + 8)); await nap(30); } await w(A.slice(24) + '\\n');
await w('ab ab ab, an ordinary word stays\\n'); await w('last ' + A); })()`
  const spec = place.specOf(node, ['-e', script], {
    env: { API_TOKEN: token, DB_PASS: password },
    secrets: [token, password, 'ab'],
  })
  expect((await place.toEnd(spec)).code).toBe(0)
  const files = readdirSync(spec.runDir, { recursive: true, withFileTypes: true }).filter(entry =>
    entry.isFile(),
  )
  const text = files
    .map(entry => readFileSync(join(entry.parentPath ?? entry.path, entry.name), 'latin1'))
    .join('\n')
  for (const form of [
    token,
    token.slice(8),
    password,
    JSON.stringify(password).slice(1, -1),
    encodeURIComponent(password),
    Buffer.from(token).toString('base64').slice(0, 30),
  ]) {
    expect(text.includes(form)).toBe(false)
  }
  expect(all(spec.runDir)).toContain('ab ab ab, an ordinary word stays\n')
  expect(lastLines(spec.runDir, 'out', 1)).toEqual(['last [redacted]'])
})

test(
  'a flood keeps its head and its tail, says what was left out, and hurts nobody',
  { timeout: 120_000 },
  async () => {
    const place = makePlace()
    const script = `const fs = require('fs'); const put = (fd, b) => { let o = 0; while (o < b.length) { try { o += fs.writeSync(fd, b, o); } catch (e) { if (e.code !== 'EAGAIN') throw e; Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2); } } };
const k = Buffer.alloc(1 << 20, 'z'); put(1, Buffer.from('first\\n')); for (let i = 0; i < 64; i++) put(1, k); put(1, Buffer.from('\\n'));
for (let i = 0; i < 300; i++) { put(1, Buffer.from(Array.from({ length: 500 }, (_, j) => 'out ' + (i * 500 + j) + '\\n').join(''))); put(2, Buffer.from(Array.from({ length: 500 }, (_, j) => 'err ' + (i * 500 + j) + '\\n').join(''))); }
process.exitCode = 3;`
    const spec = place.specOf(node, ['-e', script])
    await place.start(spec)
    const spawn = readSpawn(spec.runDir)
    if (spawn.is !== 'spawned') throw new Error(spawn.is)
    let most = 0
    const exit = await until(() => {
      try {
        most = Math.max(
          most,
          Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${spawn.supervisor.pid}/status`, 'utf8'))?.[1]),
        )
      } catch {
        // It has ended.
      }
      return readExit(spec.runDir)
    }, 100_000)
    expect(exit).toMatchObject({ code: 3, logEnded: null })
    expect(exit.dropped).toBeGreaterThan(60_000_000)
    expect(most).toBeLessThan(200_000)
    expect(lastLines(spec.runDir, 'out', 1)).toEqual(['out 149999'])
    expect(lastLines(spec.runDir, 'err', 1)).toEqual(['err 149999'])
    const { chunks, next, dropped } = readOutput(spec.runDir, 0, 100_000_000)
    expect(
      Buffer.from(chunks[0]?.bytes ?? [])
        .subarray(0, 6)
        .toString(),
    ).toBe('first\n')
    expect({ next, dropped }).toEqual({ next: exit.bytes, dropped: exit.dropped })
    const kept = readdirSync(join(spec.runDir, 'output')).reduce(
      (sum, name) => sum + statSync(join(spec.runDir, 'output', name)).size,
      0,
    )
    expect(kept).toBeLessThan(3_000_000)
  },
)

test('bytes come as they were written, and are shown as text that a person can read', async () => {
  const place = makePlace()
  const script = `const nap = ms => new Promise(r => setTimeout(r, ms)), w = (s, o = process.stdout) => new Promise(r => o.write(s, r));
(async () => { for (const b of Buffer.from('price \\u20ac, \\u5b8c\\u4e86, \\u{1f9ea}\\n')) { await w(Buffer.from([b])); await nap(2); }
await w('\\x1b[31mred\\x1b[0m \\x1b]0;title\\x07 \\x1b]8;;https://case.invalid\\x1b\\\\link\\x1b]8;;\\x1b\\\\\\n');
for (let i = 0; i <= 100; i++) await w('\\rprogress ' + i + '%'); await w('\\n');
await w('half\\x1b['); await nap(30); await w('1mbold\\x1b[0m\\n'); await w(Buffer.from([0x66, 0xff, 0xfe, 0x00, 0x67, 0x0a]));
await w('cr only\\rover\\r\\nno newline at the end \\u20ac'); process.exitCode = 7; })()`
  const spec = place.specOf(node, ['-e', script])
  expect((await place.toEnd(spec)).code).toBe(7)
  const { chunks } = readOutput(spec.runDir, 0, 1_000_000)
  expect(shownLines(textOf(chunks))).toEqual([
    'price \u20ac, \u5b8c\u4e86, \u{1f9ea}',
    'red  link',
    'progress 100%',
    'halfbold',
    'f\ufffd\ufffdg',
    'over',
    'no newline at the end \u20ac',
  ])
  const raw = Buffer.concat(chunks.map(({ bytes }) => bytes))
  expect(raw.includes(Buffer.from([0x66, 0xff, 0xfe, 0x00, 0x67, 0x0a]))).toBe(true)
  expect(raw.includes('half\x1b[1mbold')).toBe(true)
})

test('a terminal has its size, is written to, and loses nothing at the end', async () => {
  const place = makePlace()
  const pty = { cols: 99, rows: 33 }
  const spec = place.specOf('sh', ['-c', 'stty size; read answer; echo "got $answer"; exit 4'], { pty })
  await place.start(spec)
  await until(() => all(spec.runDir).includes('33 99'))
  const link = await connect(spec.runDir, spec)
  expect(await link?.input('yes\n')).toBe(true)
  const exit = await until(() => readExit(spec.runDir))
  expect(exit).toMatchObject({ code: 4, signal: null })
  expect(lastLines(spec.runDir, 'pty', 1)).toEqual(['got yes'])
  for (let turn = 0; turn < 10; turn++) {
    const short = place.specOf('sh', ['-c', 'seq 1 400; printf end'], { pty })
    await place.toEnd(short)
    expect(lastLines(short.runDir, 'pty', 2)).toEqual(['400', 'end'])
  }
})

test('a terminal that was killed is a failure, and a missing program is told', async () => {
  const place = makePlace()
  const pty = { cols: 80, rows: 24 }
  const exit = await place.toEnd(place.specOf('sh', ['-c', 'kill -9 $$'], { pty }))
  expect(exit).toMatchObject({ code: null, signal: 'SIGKILL' })
  expect(await place.start(place.specOf('no-such-program', [], { pty }))).toMatchObject({
    is: 'failed',
    missing: true,
  })
})

test('a prompt without a line end is on the screen after a moment', async () => {
  const place = makePlace()
  const spec = place.specOf('sh', ['-c', 'printf "Continue? [y/N] s"; sleep 300'])
  await place.start(spec)
  await until(() => all(spec.runDir) === 'Continue? [y/N] s')
})

test('the daemon being started gives its supervisor nothing of its own', async () => {
  const place = makePlace()
  const spec = place.specOf('sh', ['-c', 'env; exec sleep 300'])
  process.env['BERTH_TEST_SECRET'] = 'not for the supervisor'
  await place.start(spec)
  delete process.env['BERTH_TEST_SECRET']
  const spawn = readSpawn(spec.runDir)
  if (spawn.is !== 'spawned') throw new Error(spawn.is)
  const { pid } = spawn.supervisor
  expect(readFileSync(`/proc/${pid}/environ`, 'utf8')).not.toContain('BERTH_TEST_SECRET')
  const [, , , , session, tty] = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /, 'x ')
    .split(' ')
  expect({ session, tty }).toEqual({ session: String(pid), tty: '0' })
  expect(readFileSync(`/proc/${pid}/cmdline`, 'utf8')).not.toContain(spec.run)
  await until(() => all(spec.runDir).includes('PATH='))
  expect(all(spec.runDir)).not.toContain('BERTH_TEST_SECRET')
})

test('a warm supervisor starts its program, and dies with its daemon if it is never used', async () => {
  const place = makePlace()
  warmSupervisors(2, { supervisorFile })
  warmSupervisors(2, { supervisorFile })
  const spares = () =>
    platform
      .processesOf({ under: [{ pid: process.pid, start: platform.identity(process.pid) ?? '' }] })
      .filter(({ command }) => command.includes('supervisor.cjs'))
  await until(() => spares().length === 2)
  const spec = place.specOf('sh', ['-c', 'echo warm'])
  const before = spares().map(({ pid }) => pid)
  const started = await startSupervisor(spec, { supervisorFile })
  expect(started.is === 'started' && before.includes(started.supervisor)).toBe(true)
  await until(() => readExit(spec.runDir))
  expect(all(spec.runDir)).toBe('warm\n')
  const { endSpares } = await import('../../src/process/spawn.ts')
  endSpares()
  await until(() => spares().length === 0)
})

test('a dead spare is not a failed start', async () => {
  const place = makePlace()
  warmSupervisors(1, { supervisorFile })
  const self = [{ pid: process.pid, start: platform.identity(process.pid) ?? '' }]
  const spare = await until(() =>
    platform.processesOf({ under: self }).find(({ command }) => command.includes('supervisor.cjs')),
  )
  process.kill(spare.pid, 'SIGSTOP')
  setTimeout(() => process.kill(spare.pid, 'SIGKILL'), 300)
  expect(await place.start(place.specOf('true', []))).toMatchObject({ is: 'started' })
})

test('a disk that is full ends the log, not the agent, and the exit says so', async ({ skip }) => {
  const place = makePlace()
  const disk = join(place.dir, 'disk')
  mkdirSync(disk)
  const { spawnSync } = await import('node:child_process')
  const { onTestFinished } = await import('vitest')
  if (spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', disk]).status !== 0)
    return skip('needs to mount a small disk')
  onTestFinished(() => void spawnSync('umount', ['-l', disk]))
  const spec = place.specOf('sh', ['-c', 'seq 1 400000; echo end; exit 6'], {
    headBytes: 9_000_000,
    tailBytes: 9_000_000,
  })
  spec.runDir = join(disk, 'run')
  const exit = await place.toEnd(spec)
  expect(exit).toMatchObject({ code: 6, tree: 'ended', logEnded: expect.stringContaining('ENOSPC') })
  expect(exit.dropped).toBeGreaterThan(1_000_000)
  expect(lastLines(spec.runDir, 'out', 1)).toHaveLength(1)
})
