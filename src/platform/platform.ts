// What Berth asks of the operating system, and the one `if` that chooses who answers.

import { posix } from './posix.ts'
import { windows } from './win32.ts'

/** One process, for good: `start` is boot id, pid namespace and start ticks, so a recycled pid never compares equal. */
export type Identity = { pid: number; start: string }

export type ProcessInfo = Identity & {
  ppid: number
  pgid: number
  session: number
  /** ms since 1970, exact to a second; undefined where the system does not say. */
  startedAt: number | undefined
  command: string
  uid: number | undefined
  /** The system's letter or word; dead and zombie processes are never listed. */
  state: string
}

/**
 * Which processes belong together: the union of all that is given, and the descendants of each.
 * Berth itself, its ancestors and pids up to 1 are never part of the answer (decisions 5; safety.md, law 6).
 */
export type TreeQuery = {
  /** `<state id>:<run id>`: one element of the comma list in BERTH_RUN. */
  marker?: string
  pids?: readonly Identity[]
  /** Processes that Berth started as leaders of a session of their own: they, their group and their session. */
  leaders?: readonly Identity[]
  /** Their descendants only, not they themselves: what a subreaper has gathered. */
  under?: readonly Identity[]
  /** Windows: the name of the run's job object. */
  job?: string
}

export type Tie = 'cwd' | 'open' | 'open-for-writing'
export type Tied = ProcessInfo & { what: Tie; path: string }

export type Listener = ProcessInfo & { port: number }

export type HolderQuery = TreeQuery & {
  /** When the workspace was made, ms since 1970: only what started later can be ours by decision 5, (a) and (b). */
  since?: number
  /** Looks at working directories only, not at open files: some ten times cheaper. */
  cwdOnly?: boolean
}

export type Holders = {
  /** To be ended. */
  ours: (ProcessInfo & { what?: Tie; path?: string })[]
  /** A person's: to be named, never ended. */
  tied: Tied[]
  /** Probes that failed as a whole, as sentences: the answer is not complete, and unknown is not good. */
  unknown: string[]
}

export type EndOptions = {
  /** Between SIGTERM and SIGKILL; 0 kills at once. */
  graceMs: number
  /** For everything, grace included. */
  limitMs: number
  /** Cuts the grace short: what is left is killed at once. */
  signal?: AbortSignal
}

export type Ended = {
  /** Still alive at the limit. */
  left: ProcessInfo[]
  ended: number
}

/** How a supervisor holds its descendants together. */
export type Containment = {
  is: 'subreaper' | 'job' | 'none'
  /** Why it is `none`. */
  reason?: string
  /** Buries adopted orphans that have died; `own` are waited for by their own library. Cheap, never blocks. */
  reap(own: readonly number[]): void
}

export type Shell = {
  file: string
  args: string[]
  /** Windows: arguments must not be quoted again. */ verbatim: boolean
}

export type Platform = {
  name: 'posix' | 'windows'
  /** Changes with every boot of the machine. */
  bootId(): string
  /** ms that the machine was awake, without suspension; never goes back (decisions 26). */
  monotonicMs(): number
  /** Folder for sockets, 0700, ours, no link (decisions 4). Throws BerthError `path-refused`. */
  runtimeDir(env: { [name: string]: string | undefined }): string
  /** Of the account, whatever HOME says. */
  accountHome(): string
  accountDataDir(): string
  /** `start` of a living process; undefined if there is none (zombies are dead). */
  identity(pid: number): string | undefined
  alive(pid: number, start: string): boolean
  /** User and system time of one living process, ms; undefined where the system does not say. */
  cpuMs(pid: number): number | undefined
  processesOf(query: TreeQuery): ProcessInfo[]
  holdersOf(path: string, query: HolderQuery): Holders
  /** Who listens on TCP ports, as far as the system says: another user's process may stay unnamed. */
  listenersOn(ports: readonly number[]): Listener[]
  /** SIGTERM, the grace, SIGKILL, and again until nothing is left or the limit is met. */
  endTree(query: TreeQuery, options: EndOptions): Promise<Ended>
  /** Of a living process, nearest first. */
  ancestors(pid: number): number[]
  /** Makes `<runtime dir>/berth-<8 hex>` too. `what` is `daemon` or a run id. Throws BerthError `socket-path`. */
  socketPath(runtimeDir: string, stateId: string, what: string): string
  /** Makes the calling process the one that holds its descendants. `koffi`: path of the library, if there is one. */
  contain(input: { job: string; koffi: string | undefined }): Containment
  /** Name of the job object of a run. */
  jobName(stateId: string, run: string): string
  freeBytes(path: string): number
  /** The kind of network file system that `path` lies on, undefined if it is local. */
  networkFileSystem(path: string): string | undefined
  isNetworkFileSystem(path: string): boolean
  sameFile(a: string, b: string): boolean
  /** 0 if both name the same place by their spelling (case, slashes, prefixes of the platform); else their order. */
  comparePath(a: string, b: string): number
  shell(command: string): Shell
  defaultJobs(): number
}

export const platform: Platform = process.platform === 'win32' ? windows : posix
