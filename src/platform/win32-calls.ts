// The Win32 calls that Berth makes through koffi: processes, job objects, the environment block of a process.
// Signatures, sizes and offsets were proven on a real Windows node.exe; HANDLE is intptr_t, all structures 64-bit.

import { createRequire } from 'node:module'
import { fileTimeMs, environmentBlock } from './winpath.ts'

export type WindowsProcess = { pid: number; ppid: number; name: string }
export type WindowsDetail = {
  created: bigint
  startedAt: number
  cwd?: string
  command?: string
  environment?: string
}
export type WindowsCalls = ReturnType<typeof loadWindowsCalls>

const killOnJobClose = 0x2000
const extendedLimitInformation = 9
const basicProcessIdList = 3
const jobAccess = 0x1f_001f
const queryAndRead = 0x410
const queryLimited = 0x1000
const terminate = 0x0001
const self = -1

/** Throws if koffi or one of the libraries does not load. */
export function loadWindowsCalls(koffiPath: string) {
  const koffi = createRequire(koffiPath)(koffiPath)
  const [kernel, nt] = [koffi.load('kernel32.dll'), koffi.load('ntdll.dll')]
  const call = {
    createJob: kernel.func('intptr_t __stdcall CreateJobObjectW(void *a, str16 name)'),
    openJob: kernel.func('intptr_t __stdcall OpenJobObjectW(uint32_t access, int inherit, str16 name)'),
    setJob: kernel.func('int __stdcall SetInformationJobObject(intptr_t j, int c, void *b, uint32_t n)'),
    queryJob: kernel.func(
      'int __stdcall QueryInformationJobObject(intptr_t j, int c, void *b, uint32_t n, void *r)',
    ),
    assign: kernel.func('int __stdcall AssignProcessToJobObject(intptr_t j, intptr_t p)'),
    endJob: kernel.func('int __stdcall TerminateJobObject(intptr_t j, uint32_t code)'),
    open: kernel.func('intptr_t __stdcall OpenProcess(uint32_t access, int inherit, uint32_t pid)'),
    end: kernel.func('int __stdcall TerminateProcess(intptr_t p, uint32_t code)'),
    close: kernel.func('int __stdcall CloseHandle(intptr_t h)'),
    lastError: kernel.func('uint32_t __stdcall GetLastError()'),
    read: kernel.func('int __stdcall ReadProcessMemory(intptr_t p, uint64_t a, void *b, size_t n, void *r)'),
    times: kernel.func('int __stdcall GetProcessTimes(intptr_t p, void *a, void *b, void *c, void *d)'),
    snapshot: kernel.func('intptr_t __stdcall CreateToolhelp32Snapshot(uint32_t f, uint32_t pid)'),
    first: kernel.func('int __stdcall Process32FirstW(intptr_t h, void *e)'),
    next: kernel.func('int __stdcall Process32NextW(intptr_t h, void *e)'),
    information: nt.func(
      'int32_t __stdcall NtQueryInformationProcess(intptr_t p, int c, void *b, uint32_t n, void *r)',
    ),
    system: nt.func('int32_t __stdcall NtQuerySystemInformation(int c, void *b, uint32_t n, void *r)'),
  }
  const fail = (what: string): never => {
    throw new Error(`${what} failed with ${call.lastError()}`)
  }
  return {
    ...jobs(call, fail),
    ...processes(call, fail),
    /** FILETIME of the boot. */
    bootTime(): bigint {
      const block = Buffer.alloc(48)
      if (call.system(3, block, block.length, null) !== 0) fail('NtQuerySystemInformation')
      return block.readBigUInt64LE(0)
    },
  }
}

// Whatever koffi gives back is typed here, at the one place that knows.
// oxlint-disable-next-line typescript/no-explicit-any
type Calls = { [name: string]: (...values: any[]) => any }
type Fail = (what: string) => never

function jobs(call: Calls, fail: Fail) {
  const c = call as Required<Calls>
  const withJob = <T>(name: string, use: (job: unknown) => T): T | undefined => {
    const job = c['openJob']!(jobAccess, 0, name)
    if (!job) return undefined
    // A handle that stays open keeps a dead tree's job alive: always closed.
    try {
      return use(job)
    } finally {
      c['close']!(job)
    }
  }
  return {
    /** Puts the calling process into a job of this name; its handle stays open on purpose, until the process dies. */
    enterJob(name: string) {
      const job = c['createJob']!(null, name)
      if (!job) fail('CreateJobObject')
      const limits = Buffer.alloc(144)
      limits.writeUInt32LE(killOnJobClose, 16)
      if (!c['setJob']!(job, extendedLimitInformation, limits, limits.length)) fail('SetInformationJobObject')
      if (!c['assign']!(job, self)) fail('AssignProcessToJobObject')
    },
    jobPids: (name: string): number[] =>
      withJob(name, job => {
        const list = Buffer.alloc(8 + 8 * 4096)
        if (!c['queryJob']!(job, basicProcessIdList, list, list.length, null))
          fail('QueryInformationJobObject')
        return Array.from({ length: list.readUInt32LE(4) }, (_, index) =>
          Number(list.readBigUInt64LE(8 + 8 * index)),
        )
      }) ?? [],
    endJob: (name: string): boolean => withJob(name, job => Boolean(c['endJob']!(job, 1))) ?? false,
  }
}

function processes(call: Calls, fail: Fail) {
  const c = call as Required<Calls>
  const withProcess = <T>(pid: number, access: number, use: (process: unknown) => T): T | undefined => {
    const handle = c['open']!(access, 0, pid)
    if (!handle) return undefined
    try {
      return use(handle)
    } finally {
      c['close']!(handle)
    }
  }
  const createdAt = (handle: unknown): bigint | undefined => {
    const times = [0, 0, 0, 0].map(() => Buffer.alloc(8))
    return c['times']!(handle, ...times) ? times[0]?.readBigUInt64LE(0) : undefined
  }
  return {
    processes(): WindowsProcess[] {
      const snapshot = c['snapshot']!(2, 0)
      const entry = Buffer.alloc(568)
      entry.writeUInt32LE(568, 0)
      const found: WindowsProcess[] = []
      for (let more = c['first']!(snapshot, entry); more; more = c['next']!(snapshot, entry)) {
        const name = entry.subarray(44, 564).toString('utf16le').split('\0')[0] ?? ''
        found.push({ pid: entry.readUInt32LE(8), ppid: entry.readUInt32LE(32), name })
      }
      c['close']!(snapshot)
      if (found.length === 0) fail('CreateToolhelp32Snapshot')
      return found
    },
    created: (pid: number) => withProcess(pid, queryLimited, createdAt),
    /** Undefined for what is gone or another user's; `cwd` and the rest only where memory may be read. */
    detail: (pid: number): WindowsDetail | undefined =>
      withProcess(pid, queryAndRead, handle => {
        const created = createdAt(handle)
        if (created === undefined) return undefined
        return { created, startedAt: fileTimeMs(created), ...parametersOf(c, handle) }
      }) ??
      withProcess(pid, queryLimited, handle => {
        const created = createdAt(handle)
        return created === undefined ? undefined : { created, startedAt: fileTimeMs(created) }
      }),
    /** Ends exactly the process that was created then. */
    endProcess: (pid: number, created: bigint): boolean =>
      withProcess(pid, queryLimited | terminate, handle =>
        createdAt(handle) === created ? Boolean(c['end']!(handle, 1)) : false,
      ) ?? false,
  }
}

/** Reads the process parameters block: working directory 0x38, command line 0x70, environment 0x80, its size 0x3f0. */
function parametersOf(c: Calls, handle: unknown): { cwd?: string; command?: string; environment?: string } {
  try {
    const basic = Buffer.alloc(48)
    if (c['information']!(handle, 0, basic, basic.length, null) !== 0) return {}
    const read = (address: bigint, size: number) => {
      const bytes = Buffer.alloc(size)
      if (!c['read']!(handle, address, bytes, size, null)) throw new Error('ReadProcessMemory')
      return bytes
    }
    const parameters = read(basic.readBigUInt64LE(8) + 0x20n, 8).readBigUInt64LE(0)
    const text = (offset: bigint) => {
      const header = read(parameters + offset, 16)
      const length = header.readUInt16LE(0)
      return length === 0 ? '' : read(header.readBigUInt64LE(8), length).toString('utf16le')
    }
    const size = Number(read(parameters + 0x3f0n, 8).readBigUInt64LE(0))
    const block = read(read(parameters + 0x80n, 8).readBigUInt64LE(0), Math.min(size, 1 << 20)).toString(
      'utf16le',
    )
    return { cwd: text(0x38n), command: text(0x70n), environment: environmentBlock(block) }
  } catch {
    return {}
  }
}
