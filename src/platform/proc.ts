// Linux: what /proc says about processes. Read directly: a look at 2,000 processes is a matter of milliseconds.

import { readFileSync, readdirSync, readlinkSync, readSync, openSync, closeSync } from 'node:fs'
import { type Row, type Touch } from './tree.ts'

/** Ticks of start times in /proc are hundredths of a second on every Linux that Node runs on. */
const tickMs = 10

export type ProcReader = ReturnType<typeof makeProcReader>

/** `root` is /proc, or a copy of it in a test. */
export function makeProcReader(root = '/proc') {
  let boot: string | undefined
  let namespace: string | undefined

  const bootId = () => (boot ??= text(`${root}/sys/kernel/random/boot_id`)?.trim() ?? bootTimeText(root))
  const prefix = () => {
    namespace ??= link(`${root}/self/ns/pid`)?.replace(/\D/g, '') ?? '0'
    return `${bootId().slice(0, 8)}.${namespace}`
  }

  /** Every living process; zombies are dead. Throws if the list itself cannot be read: unknown is not empty. */
  function rows(): Row[] {
    const bootedAt = bootedAtMs(root)
    const found: Row[] = []
    for (const name of readdirSync(root)) {
      const first = name.charCodeAt(0)
      if (first < 49 || first > 57) continue
      const row = rowOf(Number(name), bootedAt)
      if (row) found.push(row)
    }
    return found
  }

  function rowOf(pid: number, bootedAt: number | undefined): Row | undefined {
    const stat = parseStat(small(`${root}/${pid}/stat`))
    if (!stat || isDead(stat.state) || isKernelThread(stat.flags)) return undefined
    return {
      pid: stat.pid,
      ppid: stat.ppid,
      pgid: stat.pgid,
      session: stat.session,
      state: stat.state,
      tty: stat.tty,
      start: `${prefix()}.${stat.ticks}`,
      startedAt: bootedAt === undefined ? undefined : bootedAt + stat.ticks * tickMs,
      command: () => commandOf(readAll(`${root}/${pid}/cmdline`)?.toString('utf8'), stat.name),
      uid: () => uidOf(text(`${root}/${pid}/status`)),
      environment: () => readAll(`${root}/${pid}/environ`)?.toString('latin1'),
    }
  }

  /** `start` of one living process. */
  function identity(pid: number): string | undefined {
    if (!(pid > 0)) return undefined
    const stat = parseStat(small(`${root}/${pid}/stat`))
    return stat && !isDead(stat.state) ? `${prefix()}.${stat.ticks}` : undefined
  }

  /** User and system time of one process, ms. */
  const cpuMs = (pid: number) => {
    const stat = parseStat(small(`${root}/${pid}/stat`))
    return stat ? stat.cpuTicks * tickMs : undefined
  }

  const touch = (pid: number, within: (path: string) => boolean, cwdOnly: boolean) =>
    touchOf(`${root}/${pid}`, within, cwdOnly)

  const listeners = (ports: readonly number[]) => listenersIn(root, ports)

  return { bootId, rows, identity, touch, cpuMs, listeners }
}

/** Pid to port. */
function listenersIn(root: string, ports: readonly number[]): Map<number, number> {
  const sockets = new Map<string, number>()
  for (const file of ['tcp', 'tcp6'])
    for (const [inode, port] of listening(text(`${root}/net/${file}`) ?? ''))
      if (ports.includes(port)) sockets.set(`socket:[${inode}]`, port)
  const found = new Map<number, number>()
  if (sockets.size === 0) return found
  for (const pid of names(root).filter(name => /^[1-9]\d*$/.test(name))) {
    for (const fd of names(`${root}/${pid}/fd`)) {
      const port = sockets.get(link(`${root}/${pid}/fd/${fd}`) ?? '')
      if (port !== undefined) found.set(Number(pid), port)
    }
  }
  return found
}

/** Inode and port of each listening socket of /proc/net/tcp. */
export function listening(table: string): [string, number][] {
  return table.split('\n').flatMap((row): [string, number][] => {
    const [, local = '', , state, , , , , , inode = ''] = row.trim().split(/\s+/)
    return state === '0A' ? [[inode, Number.parseInt(local.slice(local.lastIndexOf(':') + 1), 16)]] : []
  })
}

/** What a process has under `within`: the gravest, writing before standing there before reading. */
function touchOf(place: string, within: (path: string) => boolean, cwdOnly: boolean): Touch | undefined {
  const cwd = target(`${place}/cwd`)
  const open = cwdOnly ? undefined : openUnder(place, within)
  if (open?.what === 'open-for-writing') return open
  if (cwd !== undefined && within(cwd)) return { what: 'cwd', path: cwd }
  if (open || cwdOnly) return open
  const program = target(`${place}/exe`)
  return program !== undefined && within(program) ? { what: 'open', path: program } : undefined
}

function openUnder(place: string, within: (path: string) => boolean): Touch | undefined {
  let found: Touch | undefined
  for (const fd of names(`${place}/fd`)) {
    const path = target(`${place}/fd/${fd}`)
    if (path === undefined || !path.startsWith('/') || !within(path)) continue
    const flags = /^flags:\s*([0-7]+)/m.exec(text(`${place}/fdinfo/${fd}`) ?? '')?.[1]
    const writes = flags !== undefined && (Number.parseInt(flags, 8) & 3) !== 0
    if (writes) return { what: 'open-for-writing', path }
    found ??= { what: 'open', path }
  }
  return found
}

/** The fields of /proc/PID/stat; the name is in parentheses and may hold anything, parentheses too. */
export function parseStat(line: string | undefined) {
  if (line === undefined) return undefined
  const open = line.indexOf('(')
  const close = line.lastIndexOf(')')
  if (open < 0 || close < open) return undefined
  const fields = line.slice(close + 2).split(' ', 20)
  const number = (index: number) => Number(fields[index])
  return {
    pid: Number(line.slice(0, open)),
    name: line.slice(open + 1, close),
    state: fields[0] ?? '',
    ppid: number(1),
    pgid: number(2),
    session: number(3),
    tty: number(4),
    flags: number(6),
    cpuTicks: number(11) + number(12),
    ticks: number(19),
  }
}

/** PF_KTHREAD: it holds nothing, belongs to nobody, and what it lacks in /proc is slow to find out. */
const isKernelThread = (flags: number) => (flags & 0x0020_0000) !== 0

const isDead = (state: string) => state === 'Z' || state === 'X' || state === 'x' || state === ''

/** A file that was deleted keeps its place in the list, with this after its name. */
const target = (path: string) => link(path)?.replace(/ \(deleted\)$/, '')

function commandOf(line: string | undefined, name: string): string {
  const command = line?.replaceAll('\0', ' ').trim()
  return command ? command.slice(0, 300) : `[${name}]`
}

function uidOf(status: string | undefined): number | undefined {
  const uid = /^Uid:\s+(\d+)/m.exec(status ?? '')?.[1]
  return uid === undefined ? undefined : Number(uid)
}

function bootedAtMs(root: string): number | undefined {
  const seconds = /^btime (\d+)/m.exec(text(`${root}/stat`) ?? '')?.[1]
  return seconds === undefined ? undefined : Number(seconds) * 1000
}

const bootTimeText = (root: string) => `b${(bootedAtMs(root) ?? 0) / 1000}`

function text(path: string): string | undefined {
  try {
    return readFileSync(path, 'latin1')
  } catch {
    return undefined
  }
}

const page = Buffer.allocUnsafe(65_536)
const mostBytes = 8_000_000

/** Without asking the size first, which /proc does not say anyway: half the price of readFileSync. */
function readAll(path: string): Buffer | undefined {
  let file: number | undefined
  try {
    file = openSync(path, 'r')
    const first = readSync(file, page, 0, page.length, null)
    if (first < page.length) return page.subarray(0, first)
    const parts = [Buffer.from(page)]
    for (let size = first; size < mostBytes;) {
      const more = readSync(file, page, 0, page.length, null)
      if (more === 0) break
      parts.push(Buffer.from(page.subarray(0, more)))
      size += more
    }
    return Buffer.concat(parts)
  } catch {
    return undefined
  } finally {
    if (file !== undefined) closeSync(file)
  }
}

const small = (path: string) => readAll(path)?.toString('latin1')

function link(path: string): string | undefined {
  try {
    return readlinkSync(path)
  } catch {
    return undefined
  }
}

function names(path: string): string[] {
  try {
    return readdirSync(path)
  } catch {
    return []
  }
}
