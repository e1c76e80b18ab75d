// What every platform must do: one suite of plain functions, so that any test runner can run it, on any system.
// Programs are Node itself; nothing here asks which system it is.

import { strict as assert } from 'node:assert'
import { type ChildProcess, spawn } from 'node:child_process'
import {
  mkdirSync,
  mkdtempSync,
  openSync,
  realpathSync,
  rmSync,
  writeFileSync,
  closeSync,
  existsSync,
  readFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Identity, type Platform } from '../../src/platform/platform.ts'

export type Case = { name: string; run(platform: Platform): Promise<void> }

const waits = 'setInterval(() => {}, 1000)'

type Bench = {
  dir: string
  start(
    script: string,
    options?: { cwd?: string; env?: { [name: string]: string }; apart?: boolean },
  ): Promise<Identity>
}

/** A folder and programs in it, gone afterwards. A program is ready when its script says so: it has run up to there. */
async function withBench(platform: Platform, use: (bench: Bench) => Promise<void>): Promise<void> {
  const dir = realpathSync(mkdtempSync(join(tmpdir(), 'berth-platform-')))
  const children: ChildProcess[] = []
  try {
    await use({
      dir,
      async start(script, { cwd = dir, env = {}, apart = true } = {}) {
        const ready = `require('fs').writeFileSync(1, 'ready');`
        const child = spawn(process.execPath, ['-e', ready + script], {
          cwd,
          env: { PATH: process.env['PATH'], SystemRoot: process.env['SystemRoot'], ...env },
          stdio: ['ignore', 'pipe', 'inherit'],
          detached: apart,
        })
        children.push(child)
        await new Promise(resolve => child.stdout?.once('data', resolve))
        child.stdout?.destroy()
        const pid = child.pid ?? 0
        return { pid, start: platform.identity(pid) ?? '' }
      },
    })
  } finally {
    for (const child of children) child.kill('SIGKILL')
    for (const file of ['pid1', 'pid2', 'pid3']) {
      const pid = existsSync(join(dir, file)) ? Number(readFileSync(join(dir, file), 'utf8')) : 0
      if (pid > 1 && platform.identity(pid) !== undefined) process.kill(pid, 'SIGKILL')
    }
    rmSync(dir, { recursive: true, force: true })
  }
}

async function until(look: () => boolean): Promise<void> {
  for (const begun = performance.now(); !look();) {
    if (performance.now() - begun > 15_000) throw new Error('it did not come to be')
    await new Promise(resolve => setTimeout(resolve, 10))
  }
}

const pidIn = (file: string) => (existsSync(file) ? Number(readFileSync(file, 'utf8')) : 0)
const quick = { graceMs: 0, limitMs: 10_000 }

const processes: Case[] = [
  {
    name: 'a process is itself until it ends, and nobody afterwards',
    run: platform =>
      withBench(platform, async ({ start }) => {
        const one = await start(waits)
        assert.notEqual(one.start, '')
        assert.equal(platform.identity(one.pid), one.start)
        assert.equal(platform.alive(one.pid, one.start), true)
        assert.equal(platform.alive(one.pid, `${one.start}0`), false)
        process.kill(one.pid, 'SIGKILL')
        await until(() => !platform.alive(one.pid, one.start))
        assert.equal(platform.identity(0), undefined)
      }),
  },
  {
    name: 'processes are found by one whole element of the marker, whatever stands around it',
    run: platform =>
      withBench(platform, async ({ start }) => {
        const inner = await start(waits, { env: { BERTH_RUN: 'state:outer,state:inner' } })
        const longer = await start(waits, { env: { BERTH_RUN: 'state:outer,state:inner2' } })
        const pids = (marker: string) => platform.processesOf({ marker }).map(({ pid }) => pid)
        assert.deepEqual(pids('state:inner'), [inner.pid])
        assert.deepEqual(pids('state:outer').sort(), [inner.pid, longer.pid].sort())
        assert.deepEqual(pids('state:inne'), [])
        assert.deepEqual(pids('inner'), [])
      }),
  },
  {
    name: 'descendants belong to whoever started them, and the caller to nobody',
    run: platform =>
      withBench(platform, async ({ dir, start }) => {
        const parent = await start(
          `const c = require('child_process').spawn(process.execPath, ['-e', ${JSON.stringify(waits)}], { stdio: 'ignore', detached: true });
           require('fs').writeFileSync('pid1', String(c.pid)); ${waits}`,
        )
        await until(() => pidIn(join(dir, 'pid1')) > 0)
        const child = pidIn(join(dir, 'pid1'))
        const own = { pid: process.pid, start: platform.identity(process.pid) ?? '' }
        const pids = (found: { pid: number }[]) => found.map(({ pid }) => pid).sort((a, b) => a - b)
        const both = [parent.pid, child].sort((a, b) => a - b)
        assert.deepEqual(pids(platform.processesOf({ pids: [parent] })), both)
        assert.deepEqual(pids(platform.processesOf({ under: [parent] })), [child])
        assert.ok(!pids(platform.processesOf({ pids: [own], leaders: [own] })).includes(process.pid))
        const above = platform
          .ancestors(process.pid)
          .map(pid => ({ pid, start: platform.identity(pid) ?? '' }))
        assert.ok(!pids(platform.processesOf({ pids: above })).includes(process.pid))
        assert.ok(
          !pids(platform.processesOf({ pids: above })).some(pid => above.some(parent => parent.pid === pid)),
        )
        await platform.endTree({ pids: [parent] }, quick)
      }),
  },
  {
    name: 'a recycled pid is nobody',
    run: platform =>
      withBench(platform, async ({ start }) => {
        const one = await start(waits)
        const other = { pid: one.pid, start: `${one.start}0` }
        assert.deepEqual(platform.processesOf({ pids: [other], leaders: [other], under: [other] }), [])
        assert.deepEqual(await platform.endTree({ pids: [other], leaders: [other] }, quick), {
          left: [],
          ended: 0,
        })
        assert.equal(platform.alive(one.pid, one.start), true)
      }),
  },
  {
    name: 'ending a tree ends all of it, and says how many there were',
    run: platform =>
      withBench(platform, async ({ dir, start }) => {
        const marker = 'state:run'
        const child = (file: string, more: string) =>
          `{ const c = require('child_process').spawn(process.execPath, ['-e', ${JSON.stringify(`${more}; ${waits}`)}], { stdio: 'ignore', detached: true }); c.unref(); require('fs').writeFileSync('${file}', String(c.pid)); }`
        const stubborn = `process.on('SIGTERM', () => {})`
        const parent = await start(
          `${child('pid1', stubborn)} ${child('pid2', 'process.title = "x"')} ${waits}`,
          {
            env: { BERTH_RUN: marker },
          },
        )
        await until(() => pidIn(join(dir, 'pid2')) > 0)
        const { left, ended } = await platform.endTree(
          { marker, leaders: [parent] },
          { graceMs: 200, limitMs: 10_000 },
        )
        assert.deepEqual({ left, ended }, { left: [], ended: 3 })
        for (const file of ['pid1', 'pid2'])
          assert.equal(platform.identity(pidIn(join(dir, file))), undefined)
        assert.deepEqual(await platform.endTree({ marker }, quick), { left: [], ended: 0 })
      }),
  },
  {
    name: 'an aborted grace kills at once',
    run: platform =>
      withBench(platform, async ({ start }) => {
        const one = await start(`process.on('SIGTERM', () => {}); ${waits}`)
        const abort = new AbortController()
        const begun = performance.now()
        const ending = platform.endTree(
          { pids: [one] },
          { graceMs: 60_000, limitMs: 70_000, signal: abort.signal },
        )
        setTimeout(() => abort.abort(), 50)
        assert.deepEqual(await ending, { left: [], ended: 1 })
        assert.ok(performance.now() - begun < 20_000)
      }),
  },
]

const holders: Case[] = [
  {
    name: 'a process that stands in a folder holds it, by whole components of the path',
    run: platform =>
      withBench(platform, async ({ dir, start }) => {
        const [inside, beside] = [join(dir, 'feat'), join(dir, 'feat-2')]
        mkdirSync(join(inside, 'deep'), { recursive: true })
        mkdirSync(beside)
        const one = await start(waits, { cwd: join(inside, 'deep') })
        await start(waits, { cwd: beside })
        const { ours, tied, unknown } = platform.holdersOf(inside, {})
        assert.deepEqual({ ours, unknown }, { ours: [], unknown: [] })
        assert.deepEqual(
          tied.map(({ pid, what }) => [pid, what]),
          [[one.pid, 'cwd']],
        )
        const told = platform.holdersOf(inside, { pids: [one] })
        assert.deepEqual(
          told.ours.map(({ pid, what }) => [pid, what]),
          [[one.pid, 'cwd']],
        )
        assert.deepEqual(told.tied, [])
      }),
  },
]

/** Open files can be told only where the system lists them; signals and orphans are POSIX's. */
const posixHolders: Case[] = [
  {
    name: 'a file that is open for writing is told from one that is only read, also after it was deleted',
    run: platform =>
      withBench(platform, async ({ dir, start }) => {
        writeFileSync(join(dir, 'read'), 'x')
        const there = join(dir, 'there')
        mkdirSync(there)
        writeFileSync(join(there, 'file'), 'x')
        const reader = await start(`require('fs').openSync('${join(there, 'file')}', 'r'); ${waits}`)
        const writer = await start(
          `const fs = require('fs'); fs.openSync('${join(there, 'log')}', 'a'); fs.unlinkSync('${join(there, 'log')}'); ${waits}`,
        )
        const tied = () => new Map(platform.holdersOf(there, {}).tied.map(({ pid, what }) => [pid, what]))
        await until(() => tied().size === 2)
        assert.deepEqual(
          tied(),
          new Map([
            [reader.pid, 'open'],
            [writer.pid, 'open-for-writing'],
          ]),
        )
        assert.equal(platform.holdersOf(there, { cwdOnly: true }).tied.length, 0)
      }),
  },
  {
    name: 'an orphan without a terminal that stands in the workspace is ours if it began later, else a person’s',
    run: platform =>
      withBench(platform, async ({ dir, start }) => {
        const orphan = (file: string, env: string) =>
          `require('child_process').spawn(process.execPath, ['-e', ${JSON.stringify(waits)}], { stdio: 'ignore', detached: true, env: { ${env} } }).unref()`
        // `ps` rounds down twice.
        const made = Date.now() - 1_000
        // Its parent ends at once, so it belongs to whoever gathers orphans here.
        await start(`${orphan('', '')}; setTimeout(() => process.exit(), 50)`)
        await start(`${orphan('', "DISPLAY: ':0'")}; setTimeout(() => process.exit(), 50)`)
        const own = platform.ancestors(process.pid)
        const standing = () => {
          const { ours, tied } = platform.holdersOf(dir, { since: made })
          const isOrphan = ({ ppid }: { ppid: number }) => ppid <= 1 || own.slice(1).includes(ppid)
          return { ours: ours.filter(isOrphan), tied: tied.filter(isOrphan) }
        }
        await until(() => standing().ours.length + standing().tied.length === 2)
        const { ours, tied } = standing()
        // Inside a run of Berth orphans come to its supervisor: they are its, and not looked at here.
        if ([...ours, ...tied].some(({ ppid }) => ppid > 1)) return
        assert.deepEqual([ours.length, tied.length], [1, 1])
        const later = platform.holdersOf(dir, { since: made + 3_600_000 })
        assert.deepEqual(later.ours, [])
        for (const one of [...ours, ...tied]) process.kill(one.pid, 'SIGKILL')
        await until(() => [...ours, ...tied].every(one => !platform.alive(one.pid, one.start)))
      }),
  },
]

const places: Case[] = [
  {
    name: 'the clock of the awake machine never goes back, and the boot has a name',
    run: async platform => {
      const first = platform.monotonicMs()
      await new Promise(resolve => setTimeout(resolve, 5))
      assert.ok(platform.monotonicMs() > first)
      assert.equal(platform.bootId(), platform.bootId())
      assert.notEqual(platform.bootId(), '')
    },
  },
  {
    name: 'space, sameness and the shell',
    run: platform =>
      withBench(platform, async ({ dir }) => {
        assert.ok(platform.freeBytes(join(dir, 'not', 'there')) > 0)
        const file = join(dir, 'file')
        closeSync(openSync(file, 'w'))
        assert.equal(platform.sameFile(file, join(dir, '.', 'file')), true)
        assert.equal(platform.sameFile(file, dir), false)
        assert.equal(platform.sameFile(file, join(dir, 'none')), false)
        assert.equal(platform.isNetworkFileSystem(dir), false)
        assert.ok(platform.defaultJobs() >= 1)
        assert.equal(platform.comparePath(dir, join(dir, '.')), 0)
        const { file: shell, args } = platform.shell('echo it')
        const child = spawn(shell, args, { stdio: ['ignore', 'pipe', 'ignore'] })
        const said = await new Promise<Buffer>(resolve => child.stdout.once('data', resolve))
        assert.equal(said.toString().trim(), 'it')
      }),
  },
]

export const common: readonly Case[] = [...processes, ...holders, ...places]
export const posixOnly: readonly Case[] = posixHolders
