// Windows: one Platform, over Win32 calls where koffi loads, else over PowerShell and taskkill.

import { createRequire } from 'node:module'
import { cpus, totalmem, userInfo } from 'node:os'
import { win32 } from 'node:path'
import { none } from './contain.ts'
import { runNow } from './exec.ts'
import { type Containment, type Platform, type ProcessInfo } from './platform.ts'
import { type ProcessSource, makeProcesses } from './processes.ts'
import { jobsFor } from './posix.ts'
import { type Row, type Touch } from './tree.ts'
import { freeBytes, sameFile } from './volumes.ts'
import { type WindowsCalls, loadWindowsCalls } from './win32-calls.ts'
import {
  cmdShell,
  compareWindowsPaths,
  isWithinWindows,
  jobNameOf,
  parseCim,
  pipePath,
  taskkillWorked,
} from './winpath.ts'

export type WindowsTools = {
  /** Undefined if koffi is not there. */
  calls(): WindowsCalls | undefined
  tool(
    file: string,
    args: readonly string[],
  ): { code: number | null; out: string; reason?: string | undefined }
}

export const windows: Platform = makeWindows({
  calls: () => lazyCalls(),
  tool: (file, args) => runNow(file, args, { timeoutMs: 15_000, maxBytes: 50_000_000 }),
})

export function makeWindows(tools: WindowsTools): Platform {
  const bootId = () => (boot ??= bootIdOf(tools))
  let boot: string | undefined
  return {
    name: 'windows',
    bootId,
    // QueryPerformanceCounter; it may count a suspension, which the loop finds by comparing both clocks.
    monotonicMs: () => Number(process.hrtime.bigint() / 1000n) / 1000,
    // Pipes need no folder.
    runtimeDir: () => '\\\\.\\pipe',
    accountHome: () => userInfo().homedir,
    accountDataDir: () => win32.join(userInfo().homedir, 'AppData', 'Local', 'berth'),
    ...makeProcesses(makeWindowsSource(tools, bootId)),
    cpuMs: () => undefined,
    socketPath: (_, stateId, what) => pipePath(stateId, what),
    contain: ({ job, koffi }) => enterJob(job, koffi),
    jobName: jobNameOf,
    freeBytes,
    networkFileSystem: path =>
      /^[\\/]{2}(?![?.][\\/])/.test(path) || /^[\\/]{2}\?[\\/]UNC/i.test(path) ? 'smb' : undefined,
    isNetworkFileSystem(path) {
      return this.networkFileSystem(path) !== undefined
    },
    sameFile,
    comparePath: compareWindowsPaths,
    shell: command => cmdShell(command, process.env),
    defaultJobs: () => jobsFor(cpus().length, totalmem()),
  }
}

/** The supervisor joins its run's job before it spawns anything: then every descendant is in it (windows.md). */
function enterJob(job: string, koffi: string | undefined): Containment {
  if (koffi === undefined) return none('koffi is not installed')
  try {
    loadWindowsCalls(koffi).enterJob(job)
    return { is: 'job', reap: () => undefined }
  } catch (error) {
    return none((error as Error).message)
  }
}

export function makeWindowsSource(tools: WindowsTools, bootId: () => string): ProcessSource {
  const prefix = () => bootId().slice(0, 16)
  const list = (): Row[] => {
    const calls = tools.calls()
    return calls ? rowsByCalls(calls, prefix()) : rowsByCim(tools, prefix())
  }
  const identity = (pid: number) => {
    const calls = tools.calls()
    if (!calls) return rowsByCim(tools, prefix()).find(row => row.pid === pid)?.start
    const created = calls.created(pid)
    return created === undefined ? undefined : `${prefix()}.${created}`
  }
  return {
    self: process.pid,
    rows: list,
    identity,
    inJob: name => new Set(tools.calls()?.jobPids(name)),
    killJob: name => void tools.calls()?.endJob(name),
    touches: (rows, within) => touchesOf(tools, rows, within),
    listeners: () => new Map(),
    isWithin: isWithinWindows,
    // No handler would run: the engine's own way to end comes before this (windows.md, "Signals").
    ask: () => false,
    kill: row => end(tools, row, identity),
    monotonicMs: () => Number(process.hrtime.bigint() / 1000n) / 1000,
  }
}

function rowsByCalls(calls: WindowsCalls, prefix: string): Row[] {
  const born = new Map<number, bigint>()
  const rows = calls.processes().flatMap(({ pid, ppid, name }): Row[] => {
    const detail = pid > 4 ? calls.detail(pid) : undefined
    if (!detail) return []
    born.set(pid, detail.created)
    return [rowOf({ pid, ppid, name, prefix, ...detail })]
  })
  // A parent's pid may have been given to a younger process: then the child is an orphan.
  return rows.map(row => {
    const [parent, own] = [born.get(row.ppid), born.get(row.pid)]
    return parent !== undefined && own !== undefined && parent > own ? { ...row, ppid: 0 } : row
  })
}

type Found = {
  pid: number
  ppid: number
  name: string
  prefix: string
  created: bigint
  startedAt: number | undefined
  command?: string
  environment?: string
}

const rowOf = (found: Found): Row => ({
  pid: found.pid,
  ppid: found.ppid,
  pgid: 0,
  session: 0,
  start: `${found.prefix}.${found.created}`,
  startedAt: found.startedAt,
  command: () => (found.command ?? found.name).slice(0, 300),
  uid: () => undefined,
  state: '',
  tty: 0,
  environment: () => found.environment,
})

const cimQuery =
  'Get-CimInstance Win32_Process | Select-Object ProcessId,ParentProcessId,CommandLine,' +
  '@{n="Created";e={([DateTimeOffset]$_.CreationDate).ToUnixTimeMilliseconds()}} | ConvertTo-Csv -NoTypeInformation'

function rowsByCim(tools: WindowsTools, prefix: string): Row[] {
  return parseCim(powershell(tools, cimQuery)).map(({ pid, ppid, createdAt, command }) =>
    rowOf({
      pid,
      ppid,
      name: command,
      prefix,
      created: BigInt(createdAt ?? 0),
      startedAt: createdAt,
      command,
    }),
  )
}

/** Only working directories can be read; open files are found by the rename into the trash, which fails as a whole. */
function touchesOf(
  tools: WindowsTools,
  rows: readonly Row[],
  within: (path: string) => boolean,
): Map<number, Touch> {
  const calls = tools.calls()
  if (!calls) throw new Error('the working directories of processes cannot be read: koffi is not installed')
  return new Map(
    rows.flatMap(({ pid }): [number, Touch][] => {
      const cwd = calls.detail(pid)?.cwd
      return cwd !== undefined && within(cwd) ? [[pid, { what: 'cwd', path: cwd }]] : []
    }),
  )
}

function end(tools: WindowsTools, row: ProcessInfo, identity: (pid: number) => string | undefined) {
  const calls = tools.calls()
  const created = BigInt(row.start.slice(row.start.lastIndexOf('.') + 1))
  if (calls) return void calls.endProcess(row.pid, created)
  if (row.pid <= 4 || identity(row.pid) !== row.start) return
  const taskkill = `${process.env['SystemRoot'] ?? 'C:\\Windows'}\\System32\\taskkill.exe`
  const { code } = tools.tool(taskkill, ['/F', '/PID', String(row.pid)])
  // What it could not end is found again by the next look.
  if (!taskkillWorked(code)) return
}

function bootIdOf(tools: WindowsTools): string {
  const calls = tools.calls()
  if (calls) return calls.bootTime().toString(16)
  const query =
    '([DateTimeOffset](Get-CimInstance Win32_OperatingSystem).LastBootUpTime).ToUnixTimeMilliseconds()'
  return Number(powershell(tools, query)).toString(16)
}

/** Treats "exit 0 and no output" as the failure that it is. */
function powershell(tools: WindowsTools, query: string): string {
  const file = `${process.env['SystemRoot'] ?? 'C:\\Windows'}\\System32\\WindowsPowerShell\\v1.0\\powershell.exe`
  const { code, out, reason } = tools.tool(file, ['-NoProfile', '-NonInteractive', '-Command', query])
  if (code !== 0 || out.trim() === '') throw new Error(`PowerShell failed${reason ? `: ${reason}` : ''}`)
  return out.trim()
}

let calls: WindowsCalls | undefined | null
/** Loaded when the first process is asked for, once. */
function lazyCalls(): WindowsCalls | undefined {
  if (calls === undefined) {
    try {
      const require = createRequire(import.meta.url)
      calls = loadWindowsCalls(require.resolve('koffi'))
    } catch {
      calls = null
    }
  }
  return calls ?? undefined
}
