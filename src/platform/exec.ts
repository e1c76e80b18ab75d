// Runs a short command to its end, with a limit on time and on bytes.

import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { accessSync, constants, existsSync, statSync } from 'node:fs'

export type ExecOptions = {
  cwd?: string
  env: { [name: string]: string | undefined }
  input?: Uint8Array | string
  timeoutMs: number
  /** Of stdout and of stderr each; more ends the command. */
  maxBytes: number
  signal?: AbortSignal
}

export type ExecResult = {
  code: number | null
  signal: string | null
  out: Buffer
  err: Buffer
  timedOut: boolean
  truncated: boolean
  /** There is no such program (ENOENT). Why else nothing ran stands in `err`, with code and signal null. */
  missing: boolean
}

/**
 * Runs `file` without a shell. Never throws for what the child does. At a limit the child and what it started in
 * its own process group are ended, and the answer does not wait for a pipe that somebody else holds open.
 */
export function run(file: string, args: readonly string[], options: ExecOptions): Promise<ExecResult> {
  return new Promise(resolve => {
    const started = start(file, args, options)
    if (started instanceof Error) return resolve(refused(started, options))
    const child: ChildProcess = started
    const out = gather(options.maxBytes, () => stop('truncated'))
    const err = gather(options.maxBytes, () => stop('truncated'))
    let ended: { code: number | null; signal: string | null } | undefined
    let cut: 'timedOut' | 'truncated' | 'aborted' | undefined
    const timer = setTimeout(() => stop('timedOut'), Math.min(options.timeoutMs, dayMs))
    const abort = () => stop('aborted')
    options.signal?.addEventListener('abort', abort, { once: true })
    child.stdout?.on('data', out.add)
    child.stderr?.on('data', err.add)
    child.on('error', error => finish(error))
    child.on('exit', (code, signal) => {
      ended = { code, signal }
      if (cut !== undefined) signalGroup(child, 'SIGKILL')
      linger()
    })
    child.on('close', () => finish())
    feed(child, options.input)
    if (options.signal?.aborted) abort()

    // A grandchild may keep the pipes open for ever: all has been read when nothing came for a while. Time alone
    // proves nothing, since this process may have been busy: the immediate runs after the pipes were looked at.
    function linger() {
      const before = out.size() + err.size()
      const look = () => (out.size() + err.size() === before ? finish() : linger())
      setTimeout(() => setImmediate(look), pipeGraceMs).unref()
    }
    // Asked first: git takes its lock files away when it is asked, and leaves them for ever when it is killed.
    function stop(why: 'timedOut' | 'truncated' | 'aborted') {
      if (cut !== undefined) return
      cut = why
      signalGroup(child, 'SIGTERM')
      const end = () => {
        signalGroup(child, 'SIGKILL')
        setTimeout(finish, pipeGraceMs).unref()
      }
      setTimeout(end, termGraceMs).unref()
    }
    function finish(error?: Error & { code?: string }) {
      clearTimeout(timer)
      options.signal?.removeEventListener('abort', abort)
      child.stdout?.destroy()
      child.stderr?.destroy()
      if (error && !ended) return resolve(refused(error, options))
      resolve({
        code: ended?.code ?? null,
        signal: ended?.signal ?? (cut ? 'SIGKILL' : null),
        out: out.bytes(),
        err: err.bytes(),
        timedOut: cut === 'timedOut',
        truncated: cut === 'truncated',
        missing: false,
      })
    }
  })
}

/** The same for the few probes that must answer at once (macOS and Windows: `ps`, `lsof`, `sysctl`). */
export function runNow(
  file: string,
  args: readonly string[],
  options: { timeoutMs: number; maxBytes: number },
) {
  const done = spawnSync(file, args, {
    env: { PATH: process.env['PATH'], LC_ALL: 'C', SystemRoot: process.env['SystemRoot'] },
    timeout: options.timeoutMs,
    maxBuffer: options.maxBytes,
    stdio: ['ignore', 'pipe', 'ignore'],
    windowsHide: true,
  })
  return {
    code: done.error ? null : done.status,
    out: done.stdout?.toString('utf8') ?? '',
    reason: done.error?.message,
  }
}

const dayMs = 86_400_000
const pipeGraceMs = 250
const termGraceMs = 2_000

function start(file: string, args: readonly string[], options: ExecOptions): ChildProcess | Error {
  try {
    return spawn(programAt(file, options.env['PATH']), [...args], {
      cwd: options.cwd,
      env: options.env,
      stdio: [options.input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
      // A group of its own, so that a limit ends what it started too.
      detached: process.platform !== 'win32',
      windowsHide: true,
    })
  } catch (error) {
    return error as Error
  }
}

const places = new Map<string, string>()

/** Where a bare name lies, looked for once per PATH: the system would try every folder of it at every start. */
function programAt(name: string, path: string | undefined): string {
  if (process.platform === 'win32' || name.includes('/') || path === undefined) return name
  const key = `${name}\0${path}`
  const before = places.get(key)
  if (before !== undefined && isProgram(before)) return before
  const folder = path.split(':').find(each => each.startsWith('/') && isProgram(`${each}/${name}`))
  if (folder === undefined) return name
  if (places.size >= maxPlaces) places.clear()
  places.set(key, `${folder}/${name}`)
  return `${folder}/${name}`
}

const maxPlaces = 200

function isProgram(file: string): boolean {
  try {
    accessSync(file, constants.X_OK)
    return statSync(file).isFile()
  } catch {
    return false
  }
}

/** The system says ENOENT for a missing folder too. */
function refused(error: Error & { code?: string }, options: ExecOptions): ExecResult {
  const folder = options.cwd === undefined || existsSync(options.cwd)
  const text = folder ? error.message : `there is no folder '${options.cwd}'`
  const nothing = { code: null, signal: null, out: Buffer.alloc(0), timedOut: false, truncated: false }
  return { ...nothing, err: Buffer.from(text), missing: folder && error.code === 'ENOENT' }
}

function gather(maxBytes: number, full: () => void) {
  const parts: Buffer[] = []
  let size = 0
  const add = (part: Buffer) => {
    const room = maxBytes - size
    parts.push(part.length > room ? part.subarray(0, Math.max(0, room)) : part)
    size += part.length
    if (size > maxBytes) full()
  }
  return { add, size: () => size, bytes: () => Buffer.concat(parts) }
}

/** A child that does not read its input must not hurt: the broken pipe is its affair. */
function feed(child: ChildProcess, input: Uint8Array | string | undefined) {
  if (input === undefined || !child.stdin) return
  child.stdin.on('error', () => undefined)
  child.stdin.end(input)
}

function signalGroup(child: ChildProcess, signal: 'SIGTERM' | 'SIGKILL') {
  if (child.pid === undefined) return
  try {
    process.kill(process.platform === 'win32' ? child.pid : -child.pid, signal)
  } catch {
    // all of it has ended
  }
}
