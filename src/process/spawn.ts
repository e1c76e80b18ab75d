// Starts long-lived processes: supervisors, warm ones where there are, the loop in the background, and commands.

import { type ChildProcess, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { closeSync, existsSync, openSync, readdirSync } from 'node:fs'
import { createRequire } from 'node:module'
import { type Socket } from 'node:net'
import { devNull } from 'node:os'
import { dirname, join, parse } from 'node:path'
import { inheritedDescriptors } from '../platform/inherited.ts'
import { platform } from '../platform/platform.ts'
import { BerthError } from '../core/errors.ts'
import { atomicWrite, privateDir, readIfThere } from '../store/files.ts'
import { statePaths } from '../store/paths.ts'
import { readSpawn } from './record.ts'
import { type RunSpec, type Started } from './spec.ts'

export type { RunSpec, Started }

type Spare = { child: ChildProcess; channel: Socket; supervisorFile: string }

const answerMs = 20_000
const spares: Spare[] = []

/**
 * Gives a supervisor what to run, and waits until the program exists. The spec goes over a pipe, so that no secret
 * is in an argument, a file or the supervisor's environment. It comes back with `failed` if nothing was started.
 */
export async function startSupervisor(
  spec: RunSpec,
  options: { supervisorFile: string; signal?: AbortSignal },
): Promise<Started> {
  if (options.signal?.aborted) return { is: 'failed', reason: 'it was cancelled', missing: false }
  const warm = takeSpare(options.supervisorFile)
  const first = await give(warm ?? launch(options.supervisorFile), spec)
  if (first) return first
  // A spare that had died unnoticed took nothing with it; anything else must not be tried again.
  if (warm && readSpawn(spec.runDir).is === 'none') {
    const second = await give(launch(options.supervisorFile), spec)
    if (second) return second
  }
  return lost(spec)
}

/** Sees to it that at least `n` supervisors wait, so that a program starts within milliseconds. */
export function warmSupervisors(n: number, options: { supervisorFile: string }): void {
  const waiting = spares.filter(spare => spare.supervisorFile === options.supervisorFile).length
  for (let count = waiting; count < n; count++) {
    const spare = launch(options.supervisorFile)
    spares.push(spare)
    spare.channel.once('close', () => forget(spare))
    // They must not keep this process alive.
    spare.channel.unref()
  }
}

/** They also die by themselves, with this process. */
export function endSpares(): void {
  for (const spare of spares.splice(0)) spare.channel.destroy()
}

/**
 * Copies the supervisor into the state directory, once per version and content: runs outlive upgrades. Where an
 * upgrade has taken the source away under a client that must become the loop, the copy of its version serves.
 */
export function installSupervisor(dir: string, source: string, version: string): string {
  const bytes = readIfThere(source)
  if (bytes === undefined) return copyOf(dir, source, version)
  const hash8 = createHash('sha256').update(bytes).digest('hex').slice(0, 8)
  const file = statePaths(dir).supervisor(version, hash8)
  if (existsSync(file)) return file
  privateDir(dirname(file))
  atomicWrite(file, bytes)
  return file
}

function copyOf(dir: string, source: string, version: string): string {
  const folder = dirname(statePaths(dir).supervisor(version, ''))
  const found = existsSync(folder)
    ? readdirSync(folder).find(name => name.startsWith(`${version}-`))
    : undefined
  if (found !== undefined) return join(folder, found)
  throw new BerthError('failed', `'${source}' is gone: Berth was removed or upgraded`, 'berth run')
}

export type Apart = { pid: number; exited: Promise<number | null> }

/** A process that outlives this one: a session of its own, nothing of this terminal, errors into `errFile`. */
export function spawnApart(input: {
  file: string
  args: readonly string[]
  cwd: string
  env: { [name: string]: string | undefined }
  errFile: string
}): Promise<Apart> {
  const errors = openSync(input.errFile, 'w', 0o600)
  const child = withoutInherited(['ignore', 'ignore', errors], stdio =>
    spawn(input.file, [...input.args], {
      cwd: input.cwd,
      env: input.env,
      stdio,
      detached: true,
      windowsHide: true,
    }),
  )
  closeSync(errors)
  child.unref()
  const exited = new Promise<number | null>(resolve => child.once('exit', resolve))
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('spawn', () => resolve({ pid: child.pid ?? 0, exited }))
  })
}

type Stdio = 'ignore' | 'pipe' | number

/**
 * Starts what may outlive this process without what the caller of this process left open: a script's lock would be
 * held as long as an agent works. Node closes the low ones by itself; over each other one the null device is put.
 */
function withoutInherited(own: Stdio[], start: (stdio: Stdio[]) => ChildProcess): ChildProcess {
  const inherited = inheritedDescriptors().filter(descriptor => descriptor >= own.length)
  if (inherited.length === 0) return start(own)
  const nothing = openSync(devNull, 'r')
  const all = Array.from({ length: Math.max(...inherited) + 1 }, (_, i): Stdio => own[i] ?? 'ignore')
  for (const descriptor of inherited) all[descriptor] = nothing
  try {
    return start(all)
  } finally {
    closeSync(nothing)
  }
}

export type LeaderOptions = {
  cwd: string
  env: { [name: string]: string }
  /** Windows: the arguments are one line that must not be quoted again. */
  verbatim: boolean
}

/** A command in a session of its own: no stdin, output through pipes. Throws what the system throws. */
export function spawnLeader(file: string, args: readonly string[], options: LeaderOptions): ChildProcess {
  return spawn(file, [...args], {
    cwd: options.cwd,
    env: options.env,
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: platform.name === 'posix',
    windowsHide: true,
    windowsVerbatimArguments: options.verbatim,
  })
}

function takeSpare(supervisorFile: string): Spare | undefined {
  const index = spares.findIndex(
    ({ supervisorFile: file, child }) => file === supervisorFile && child.exitCode === null,
  )
  return index < 0 ? undefined : spares.splice(index, 1)[0]
}

function forget(spare: Spare) {
  const index = spares.indexOf(spare)
  if (index >= 0) spares.splice(index, 1)
}

function launch(supervisorFile: string): Spare {
  const natives = JSON.stringify({ koffi: libraryOf('koffi'), pty: libraryOf('@lydell/node-pty') })
  // Young objects get little room: a supervisor lives long and holds next to nothing.
  const flags = ['--max-semi-space-size=1', '--single-threaded-gc']
  const child = withoutInherited(['ignore', 'ignore', 'ignore', 'pipe'], stdio =>
    spawn(process.execPath, [...flags, supervisorFile, natives], {
      cwd: parse(supervisorFile).root,
      env: supervisorEnv(process.env),
      stdio,
      detached: true,
      windowsHide: true,
    }),
  )
  child.on('error', () => undefined)
  child.unref()
  const channel = child.stdio[3] as Socket
  channel.on('error', () => undefined)
  return { child, channel, supervisorFile }
}

/** Of this process only what is needed, and the markers of runs around it: their end must reach it too. */
function supervisorEnv(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const names = ['PATH', 'Path', 'BERTH_RUN', 'SystemRoot', 'SYSTEMROOT', 'TEMP', 'TMP', 'XDG_RUNTIME_DIR']
  return Object.fromEntries(names.flatMap(name => (env[name] === undefined ? [] : [[name, env[name]]])))
}

/** Undefined if supervisor or pipe died before it answered. */
function give({ child, channel }: Spare, spec: RunSpec): Promise<Started | undefined> {
  return new Promise(resolve => {
    let held = ''
    const timer = setTimeout(() => {
      child.kill('SIGKILL')
      done(undefined)
    }, answerMs)
    channel.ref()
    channel.setEncoding('utf8')
    channel.on('data', (text: string) => {
      held += text
      if (held.endsWith('\n')) done(JSON.parse(held) as Started)
    })
    channel.once('close', () => done(undefined))
    child.once('error', error => done({ is: 'failed', reason: error.message, missing: false }))
    channel.write(`${JSON.stringify(spec)}\n`)

    function done(started: Started | undefined) {
      clearTimeout(timer)
      channel.removeAllListeners('data')
      channel.destroy()
      resolve(started)
    }
  })
}

/** It died in between: whatever it began is ended, so that "failed" is true. */
async function lost(spec: RunSpec): Promise<Started> {
  const limits = { graceMs: 0, limitMs: answerMs }
  const { left } = await platform.endTree({ marker: `${spec.stateId}:${spec.run}` }, limits)
  const more = left.length > 0 ? `, and ${left.length} of its processes live on` : ''
  return { is: 'failed', reason: `the supervisor died before it answered${more}`, missing: false }
}

const libraries = new Map<string, string | undefined>()

/** Where an optional library lies, told to the supervisor, which is not beside it. */
function libraryOf(name: string): string | undefined {
  if (!libraries.has(name)) libraries.set(name, resolved(name))
  return libraries.get(name)
}

function resolved(name: string): string | undefined {
  try {
    return createRequire(import.meta.url).resolve(name)
  } catch {
    return undefined
  }
}
