// The composition root: takes the lock, opens the store, builds everything, starts it and ends it.

import { randomUUID } from 'node:crypto'
import { setMaxListeners } from 'node:events'
import { rmdirSync, rmSync } from 'node:fs'
import { hostname } from 'node:os'
import { dirname, join } from 'node:path'
import { contract } from '../core/api.ts'
import { restsFor } from '../core/exit.ts'
import { branchOf, folderOf } from '../core/names.ts'
import { isAlive, isWaiting } from '../core/run.ts'
import { latestRun, type Task } from '../core/task.ts'
import { version } from '../core/version.ts'
import { platform } from '../platform/platform.ts'
import { installSupervisor } from '../process/spawn.ts'
import { atomicWrite } from '../store/files.ts'
import { type Lock, takeLock } from '../store/lock.ts'
import { type StatePaths } from '../store/paths.ts'
import { clearTempFolders } from '../git/temp.ts'
import { openState } from '../store/state.ts'
import { openStore, type Store } from '../store/store.ts'
import { type Environment } from '../workspace/environment.ts'
import { adoptRuns, expireAbandoned } from './adopt.ts'
import { makeBugs } from './bugs.ts'
import { openCalls } from './calls.ts'
import { findInstallation, placeShim } from './installation.ts'
import { openLooks } from './looks.ts'
import { startLoop } from './loop.ts'
import { openWatch } from './observe.ts'
import { openPassed } from './passed.ts'
import { makePerform } from './perform.ts'
import { projectSite } from './perform/site.ts'
import { type DaemonFile } from './remote.ts'
import { openRepositories } from './repositories.ts'
import { type Lifetime, makeHandle } from './requests.ts'
import { interruptCall } from './requests/control.ts'
import { watchRoom } from './room.ts'
import { scrubbed } from './scrub.ts'
import { type Handle, listen, type Server } from './server.ts'
import { fleetOf, type Shell } from './shell.ts'
import { openSpares } from './spares.ts'
import { openTokens } from './token.ts'
import { openTurns } from './turns.ts'
import { withdrawal } from './withdrawn.ts'

export type Daemon = {
  handle: Handle
  admission(): 'open' | 'closed'
  /** Whether anything goes on without a person, or a run is alive. */
  isBusy(): boolean
  /** Whether a loop is wanted even with nothing to do. */
  isKept(): boolean
  /** Until nothing is under way, at most `limitMs`. */
  finish(limitMs: number): Promise<void>
  /** Ends the loop and lets go of everything; runs live on. */
  end(reason: string): Promise<void>
  /** Somebody asked it to end, which a call that hosts it leaves at that. */
  isEnding(): boolean
  ended: Promise<void>
}

export type DaemonInput = {
  dir: string
  env: Environment
  admission: 'open' | 'closed'
  /** It lives in the process of a call. */
  foreground: boolean
  /** It stays when there is nothing to do. */
  keep: boolean
  /** How long to wait for another loop to end. */
  lockMs: number
}

/** What is under way when the loop ends gets this long to stop. */
const stopMs = 5_000
/** With nothing to do a background loop ends after this (docs/decisions/0024). */
const idleMs = 10 * 60_000

/** Becomes the loop of a state directory; undefined if another one is. Throws BerthError `state-*`, `disk-full`. */
export async function startDaemon(input: DaemonInput): Promise<Daemon | undefined> {
  const now = (): number => Date.now()
  const local = { isNetworkFileSystem: platform.isNetworkFileSystem }
  const { id, paths } = openState(input.dir, { now, newId: randomUUID, ...local })
  const holder = { pid: process.pid, what: 'loop', since: now() }
  const lock = await takeLock(paths.lock, { waitMs: input.lockMs, holder })
  if (!lock) return undefined
  let store: Store | undefined
  try {
    store = openStore(input.dir, { now, host: hostname(), newId: randomUUID, ...local })
    return await begin(input, { lock, store, paths, stateId: id.stateId })
  } catch (error) {
    store?.close()
    lock.release()
    throw error
  }
}

type Held = { lock: Lock; store: Store; paths: StatePaths; stateId: string }

async function begin(input: DaemonInput, held: Held): Promise<Daemon> {
  const { store, paths, stateId } = held
  const closing = new AbortController()
  // As many listen as there are calls: each that waits for something ends with the loop.
  setMaxListeners(0, closing.signal)
  const shell = buildShell(input, held, closing.signal)
  adoptRuns(shell)
  void clearTempFolders()
  if (store.damage) shell.loop.record([{ kind: 'store.damaged', ...store.damage }])
  const abandoned = expireAbandoned(shell)
  watchRoom(shell)
  shell.loop.onEvent(event => {
    if (event.kind === 'run.reported' && event.activity === 'working') shell.watch.atWork(event.run)
  })
  let ended = (): void => {}
  const over = new Promise<void>(resolve => (ended = resolve))
  let ending: Promise<void> | undefined
  const end = (reason: string): Promise<void> =>
    (ending ??= endAll(shell, held, { server, closing, reason }).finally(() => {
      clearTimeout(abandoned)
      ended()
    }))
  let kept = input.keep
  const lifetime: Lifetime = {
    since: new Date(Date.now()).toISOString(),
    foreground: input.foreground,
    end: reason => void setImmediate(() => end(reason)),
    stopRuns: () => stopRuns(shell),
    keep: () => void (kept = true),
  }
  const handle = makeHandle(shell, lifetime)
  const path = platform.socketPath(shell.runtimeDir, stateId, 'daemon')
  const server = await listen({ path, stateId, version, handle })
  writeDaemonFile(paths, { socket: path, pid: process.pid, version, contract, stateId })
  if (!input.foreground)
    endWhenIdle(shell, server, { isKept: () => kept, end: () => void end('nothing to do') })
  return {
    handle,
    admission: () => fleetOf(shell).admission,
    isBusy: () => isBusy(shell),
    isKept: () => kept,
    finish: limitMs => finish(shell, limitMs),
    end,
    isEnding: () => ending !== undefined,
    ended: over,
  }
}

function buildShell(input: DaemonInput, { store, paths, stateId }: Held, ended: AbortSignal): Shell {
  const installation = findInstallation()
  const supervisorFile = installSupervisor(paths.dir, installation.supervisor, version)
  const runtimeDir = platform.runtimeDir(input.env)
  const windows = platform.name === 'windows'
  const shell: Shell = {
    stateId,
    paths,
    env: input.env,
    host: hostname(),
    windows,
    runtimeDir,
    socketDir: dirname(platform.socketPath(runtimeDir, stateId, 'daemon')),
    clock: { wall: () => Date.now(), awake: () => shell.loop.clock().awake },
    uuid: randomUUID,
    installation,
    supervisorFile,
    spares: openSpares(supervisorFile),
    turns: openTurns(),
    binDir: placeShim(paths, installation, windows),
    tokens: openTokens(paths),
    passed: openPassed(input.env),
    calls: openCalls(),
    looks: openLooks({
      fleet: () => fleetOf(shell),
      now: platform.monotonicMs,
      watches: true,
      onLook: (task, changes) => void shell.loop.record(withdrawal(shell, task, changes)),
      site: project => {
        if (!project.policy) throw new Error(`'${project.name}' is not configured`)
        return projectSite(shell, project, project.policy, shell.env)
      },
    }),
    repositories: openRepositories(paths),
    store,
    stopping: false,
    forced: new Set(),
    typedAt: new Map(),
    asking: new Set(),
    ended,
    watch: openWatch({
      stateId,
      runDir: paths.run,
      clock: { wall: () => Date.now(), awake: () => shell.loop.clock().awake },
      record: facts => void shell.loop.record(facts),
      wokeAt: () => fleetOf(shell).wokeAt,
      waits: of => waits(shell, of),
    }),
    loop: undefined as never,
  }
  shell.loop = startLoop({
    log: {
      append: (facts, stamp) => store.append(scrubbed(facts, shell.passed.secrets()), stamp),
      state: () => store.state(),
      reserveUsed: () => store.reserveUsed(),
    },
    perform: makePerform(shell),
    makes: makesOf(paths),
    host: () => ({ wall: Date.now(), monotonic: platform.monotonicMs(), boot: platform.bootId() }),
    timers: { set: (run, ms) => setTimeout(run, ms), clear: timer => clearTimeout(timer as NodeJS.Timeout) },
    version,
    pid: process.pid,
    admission: input.admission,
    onBug: makeBugs(paths.dir, () => Date.now()),
  })
  return shell
}

const makesOf = (paths: StatePaths): Parameters<typeof startLoop>[0]['makes'] => ({
  runId: () => randomUUID(),
  place: ({ id, policy }, { name }) => ({
    path: join(policy?.root ?? paths.worktrees(id), folderOf(name)),
    branch: branchOf(policy?.branchPrefix ?? '', name),
    home: paths.home(id, name),
  }),
})

function waits(shell: Shell, of: { project: string; task: string; run: string }): boolean {
  const task = fleetOf(shell).tasks.get(`${of.project}/${of.task}`)
  const run = task?.runs.find(({ id }) => id === of.run)
  return run === undefined || isWaiting(run) || run.state.phase !== 'alive'
}

const writeDaemonFile = (paths: StatePaths, file: DaemonFile): void =>
  atomicWrite(paths.daemon, `${JSON.stringify(file)}\n`)

async function endAll(
  shell: Shell,
  { lock, store, paths }: Held,
  { server, closing, reason }: { server: Server; closing: AbortController; reason: string },
): Promise<void> {
  closing.abort(reason)
  rmSync(paths.daemon, { force: true })
  await shell.loop.stop({ reason, limitMs: stopMs })
  shell.watch.close()
  shell.looks.close()
  shell.spares.close()
  await server.close()
  leaveRuntimeFolder(shell)
  store.close()
  lock.release()
}

/** Its folder in the runtime folder goes if nothing is in it: what still runs, or is kept, has something there. */
function leaveRuntimeFolder({ socketDir }: Shell): void {
  try {
    rmdirSync(socketDir)
  } catch {
    // Something is in it, or it is a name of Windows' own.
  }
}

const liveTasksOf = (shell: Shell): Task[] =>
  [...fleetOf(shell).live].flatMap(key => {
    const task = fleetOf(shell).tasks.get(key)
    return task === undefined ? [] : [task]
  })

function isBusy(shell: Shell): boolean {
  if (fleetOf(shell).admission === 'closed') return false
  const tasks = liveTasksOf(shell)
  const alive = tasks.some(task => {
    const run = latestRun(task)
    return run !== undefined && isAlive(run)
  })
  return alive || !restsFor(fleetOf(shell), tasks, shell.loop.clock())
}

async function finish(shell: Shell, limitMs: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const limit = new Promise<void>(resolve => (timer = setTimeout(resolve, limitMs)))
  await Promise.race([shell.loop.idle(), limit])
  clearTimeout(timer)
}

async function stopRuns(shell: Shell): Promise<void> {
  shell.stopping = true
  const calls = new Set(liveTasksOf(shell).map(({ call }) => call))
  await Promise.all(
    [...calls].map(call => interruptCall(shell, { call, force: false, only: 'runs', by: 'daemon-stop' })),
  )
}

/** One timer, set anew only when it has fired: what happens in between only moves the time. */
function endWhenIdle(
  shell: Shell,
  server: Server,
  { isKept, end }: { isKept: () => boolean; end: () => void },
): void {
  let last = platform.monotonicMs()
  shell.loop.onEvent(() => {
    last = platform.monotonicMs()
  })
  const look = (): void => {
    if (shell.ended.aborted || isKept()) return
    const idle = platform.monotonicMs() - last
    const busy = isBusy(shell) || server.connections() > 0
    if (!busy && idle >= idleMs) return end()
    setTimeout(look, busy ? idleMs : idleMs - idle).unref()
  }
  setTimeout(look, idleMs).unref()
}
