// Linux and macOS: one Platform, over /proc or over `ps` and `lsof`.

import { cpus, totalmem, userInfo } from 'node:os'
import { join } from 'node:path'
import { BerthError } from '../core/errors.ts'
import { becomeSubreaper, none } from './contain.ts'
import { runNow } from './exec.ts'
import { makeLinuxSource } from './linux.ts'
import { type Platform } from './platform.ts'
import { makeProcReader } from './proc.ts'
import { type ProcessSource, makeProcesses } from './processes.ts'
import { makePsSource } from './ps.ts'
import { posixRuntimeDir, posixSocketPath } from './runtime.ts'
import { posixMonotonicMs } from './signal.ts'
import {
  freeBytes,
  mountOf,
  networkFileSystemLinux,
  networkKind,
  parseMount,
  sameFile,
  standing,
} from './volumes.ts'

const linux = process.platform === 'linux'
const reader = makeProcReader()

export const posix: Platform = makePosix(linux ? makeLinuxSource(reader) : macSource())

/** Exported for the conformance suite, which runs it over both kinds of source. */
export function makePosix(source: ProcessSource): Platform {
  return {
    name: 'posix',
    bootId: linux ? reader.bootId : macBootId,
    monotonicMs: posixMonotonicMs,
    runtimeDir: env => posixRuntimeDir(env, uid()),
    accountHome,
    accountDataDir: () =>
      join(accountHome(), ...(linux ? ['.local', 'share'] : ['Library', 'Application Support']), 'berth'),
    ...makeProcesses(source),
    cpuMs: linux ? reader.cpuMs : macCpuMs,
    socketPath: (runtimeDir, stateId, what) => posixSocketPath(runtimeDir, stateId, what, uid()),
    contain: ({ koffi }) => (linux ? becomeSubreaper(koffi) : none('this system has no subreaper')),
    jobName: () => '',
    freeBytes,
    networkFileSystem,
    isNetworkFileSystem: path => networkFileSystem(path) !== undefined,
    sameFile,
    comparePath: (a, b) => order(tidied(a), tidied(b)),
    shell: command => ({ file: '/bin/sh', args: ['-c', command], verbatim: false }),
    defaultJobs: () => jobsFor(cpus().length, totalmem()),
  }
}

const bytesPerJob = 1_500_000_000

/** One agent per core and per 1.5 GB, at least one. */
export const jobsFor = (cores: number, memory: number) =>
  Math.max(1, Math.min(cores, Math.floor(memory / bytesPerJob)))

const uid = () => process.getuid?.() ?? 0

/** From the account's own record: HOME may be a task's. */
function accountHome(): string {
  try {
    return userInfo().homedir
  } catch {
    const message = `the account with uid ${uid()} has no home folder`
    throw new BerthError('config', message, 'export BERTH_STATE_DIR=/some/folder')
  }
}

function networkFileSystem(path: string): string | undefined {
  if (linux) return networkFileSystemLinux(path)
  return networkKind(mountOf(parseMount(tool('mount', []).out), standing(path)))
}

const tidied = (path: string) => path.replace(/\/+/g, '/').replace(/(.)\/$/, '$1')
const order = (a: string, b: string) => (a === b ? 0 : a < b ? -1 : 1)

const tool = (file: string, args: readonly string[]) =>
  runNow(file, args, { timeoutMs: 10_000, maxBytes: 50_000_000 })

let macBoot: string | undefined
function macBootId(): string {
  macBoot ??=
    tool('sysctl', ['-n', 'kern.bootsessionuuid']).out.trim() ||
    tool('sysctl', ['-n', 'kern.boottime']).out.trim()
  return macBoot
}

function macSource(): ProcessSource {
  return makePsSource({ tool, bootId: macBootId, environmentArgs: ['-axwwE', '-o', 'pid=,command='] })
}

/** `ps -o time=`: `[[dd-]hh:]mm:ss.cc`. */
function macCpuMs(pid: number): number | undefined {
  const parts = tool('ps', ['-o', 'time=', '-p', String(pid)])
    .out.trim()
    .split(/[:-]/)
    .map(Number)
  if (parts.length < 2 || parts.some(Number.isNaN)) return undefined
  return Math.round(parts.reduce((total, part) => total * 60 + part, 0) * 1000)
}
