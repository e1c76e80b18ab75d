// The parent of one run, apart from the daemon: holds pipes or terminal, writes output and exit to disk, ends the
// tree. Nothing that it does depends on the daemon being alive. Entry of dist/supervisor.cjs.

import { type ChildProcess, spawn } from 'node:child_process'
import { appendFileSync, closeSync, existsSync, mkdirSync, openSync } from 'node:fs'
import { Socket } from 'node:net'
import { join } from 'node:path'
import { redactText } from '../core/redact.ts'
import { type Containment, platform } from '../platform/platform.ts'
import { spawnPty } from './pty.ts'
import { reserveExit, takeRunLock, writeSocket, writeSpawn } from './record.ts'
import { makeRecorder } from './recorder.ts'
import { openOutput } from './segments.ts'
import { type Handlers, type Service, serve } from './serve.ts'
import { type RunSpec, type Started } from './spec.ts'
import { type Agent, type Supervised, supervise } from './supervise.ts'

/** Where the native libraries lie; nothing else is told by argument. */
type Natives = { koffi?: string; pty?: string }

/** This is an entry point: here the clock is made. */
const now = () => Date.now()

main()

function main() {
  const natives = JSON.parse(process.argv[2] ?? '{}') as Natives
  const channel = new Socket({ fd: 3 })
  // Natives come before the spec, so that a spare has them and an upgrade cannot take them away (decisions 39).
  const early = platform.name === 'posix' ? platform.contain({ job: '', koffi: natives.koffi }) : undefined
  let held = ''
  let given = false
  channel.setEncoding('utf8')
  channel.on('error', () => undefined)
  // A spare without a daemon has no purpose.
  channel.on('close', () => given || process.exit(0))
  channel.on('data', (text: string) => {
    held += text
    if (given || !held.endsWith('\n')) return
    given = true
    const spec = JSON.parse(held) as RunSpec
    held = ''
    void start(spec, natives, early).then(({ started, run }) => {
      channel.once('close', () => run ?? process.exit(0))
      channel.end(`${JSON.stringify(started)}\n`)
      void run?.exited.finally(() => process.exit(0))
    })
  })
}

type Start = { started: Started; run?: Supervised }

async function start(spec: RunSpec, natives: Natives, early: Containment | undefined): Promise<Start> {
  const self = { pid: process.pid, start: platform.identity(process.pid) ?? '' }
  const complain = surviveFor(spec)
  try {
    const patterns = (spec.redact ?? []).map(source => new RegExp(source, 'g'))
    mkdirSync(spec.runDir, { recursive: true, mode: 0o700 })
    if (!takeRunLock(spec.runDir, self)) return failed('this run was started before')
    reserveExit(spec.runDir)
    const job = platform.jobName(spec.stateId, spec.run)
    const containment = early ?? platform.contain({ job, koffi: natives.koffi })
    const writer = openOutput(spec.runDir, spec)
    const live: { run?: Supervised } = {}
    const service = await serve(spec.socket, spec, handlersOnce(live))
    writeSocket(spec.runDir, spec.socket)
    writeSpawn(spec.runDir, { is: 'spawning' })
    const agent = await spawnAgent(spec, natives)
    if (agent instanceof Error) return await refuse(agent, spec, service)
    const onWrite = (next: number) => service.output(next)
    const recorder = makeRecorder({ writer, secrets: spec.secrets, patterns, now, onWrite })
    const rest = { recorder, writer, service: () => service, job, now, complain }
    const run = (live.run = supervise({ spec, self, agent, containment, ...rest }))
    for (const signal of ['SIGTERM', 'SIGINT'] as const) {
      process.on(signal, () => void run.stop({ graceMs: spec.graceMs, force: false }).catch(complain))
    }
    const { pid, start, at } = run.spawned
    writeSpawn(spec.runDir, { is: 'spawned', pid, start, at, supervisor: self })
    return { started: { is: 'started', pid, startedAt: start, supervisor: self.pid, at }, run }
  } catch (error) {
    return failed((error as Error).message)
  }
}

const failed = (reason: string, missing = false): Start => ({ started: { is: 'failed', reason, missing } })

/** The system says ENOENT for a missing folder too. */
async function refuse(error: Error & { code?: string }, spec: RunSpec, service: Service): Promise<Start> {
  const folder = existsSync(spec.cwd)
  const missing = folder && error.code === 'ENOENT'
  const reason = folder
    ? missing
      ? `there is no program '${spec.file}'`
      : error.message
    : `there is no folder '${spec.cwd}'`
  writeSpawn(spec.runDir, { is: 'failed', reason, missing })
  await service.close()
  return failed(reason, missing)
}

/** Before the agent lives, nothing can be asked. */
function handlersOnce(live: { run?: Supervised }): Handlers {
  const handlers = () => {
    if (!live.run) throw new Error('the agent is being started')
    return live.run.handlers
  }
  return {
    status: () => handlers().status(),
    stop: ask => handlers().stop(ask),
    input: text => handlers().input(text),
    resize: size => handlers().resize(size),
    read: (from, maxBytes) => handlers().read(from, maxBytes),
  }
}

/** A fault in one answer must not end the run: it is written down, and the run goes on. */
function surviveFor(spec: RunSpec): (error: unknown) => void {
  const complain = (error: unknown) => {
    try {
      const text = error instanceof Error ? (error.stack ?? error.message) : String(error)
      appendFileSync(join(spec.runDir, 'supervisor.log'), `${redactText(text, spec.secrets)}\n`, {
        mode: 0o600,
      })
    } catch {
      // There is nowhere left to say it.
    }
  }
  process.on('uncaughtException', complain)
  process.on('unhandledRejection', complain)
  process.on('SIGHUP', () => undefined)
  return complain
}

async function spawnAgent(spec: RunSpec, natives: Natives): Promise<Agent | Error> {
  try {
    return spec.pty ? ptyAgent(spec, natives.pty, spec.pty) : await pipeAgent(spec)
  } catch (error) {
    return error as Error
  }
}

function ptyAgent(spec: RunSpec, library: string | undefined, size: { cols: number; rows: number }): Agent {
  if (library === undefined)
    throw new Error("a terminal needs the package '@lydell/node-pty', which is not installed")
  const child = spawnPty(library, { file: spec.file, args: spec.args, cwd: spec.cwd, env: spec.env, size })
  return {
    pid: child.pid,
    input(text) {
      child.write(text)
      return true
    },
    resize: child.resize,
    onExit: child.onExit,
    // It says its exit only after its last byte.
    onDrained: listener => listener(),
    onData: listener => child.onData(bytes => listener('pty', bytes)),
    drop: () => undefined,
  }
}

async function pipeAgent(spec: RunSpec): Promise<Agent> {
  // The prompt's bytes are the file's, to its end: nothing has to be pumped, and a child that never reads hurts nobody.
  const stdin = spec.stdin.is === 'file' ? openSync(spec.stdin.path, 'r') : undefined
  try {
    const child = spawn(spec.file, spec.args, {
      cwd: spec.cwd,
      env: spec.env,
      stdio: [stdin ?? 'ignore', 'pipe', 'pipe'],
      // On POSIX a session of its own; on Windows it would be a console window.
      detached: platform.name === 'posix',
      windowsHide: true,
      windowsVerbatimArguments: spec.verbatim === true,
    })
    await spawned(child)
    return agentOf(child)
  } finally {
    if (stdin !== undefined) closeSync(stdin)
  }
}

const spawned = (child: ChildProcess): Promise<void> =>
  child.pid === undefined ? new Promise((_, reject) => child.once('error', reject)) : Promise.resolve()

function agentOf(child: ChildProcess): Agent {
  child.on('error', () => undefined)
  let closed = false
  child.once('close', () => (closed = true))
  return {
    pid: child.pid ?? 0,
    input: () => false,
    resize: () => undefined,
    onExit: listener => void child.once('exit', (code, signal) => listener({ code, signal })),
    onDrained: listener => (closed ? listener() : void child.once('close', listener)),
    onData(listener) {
      child.stdout?.on('data', (bytes: Uint8Array) => listener('out', bytes))
      child.stderr?.on('data', (bytes: Uint8Array) => listener('err', bytes))
    },
    drop() {
      child.stdout?.destroy()
      child.stderr?.destroy()
    },
  }
}
