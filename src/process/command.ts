// Runs one setup command or gate to its end, and everything that it started.

import { closeSync, existsSync, openSync, writeSync } from 'node:fs'
import { constants } from 'node:os'
import { makeRedactor, redactText } from '../core/redact.ts'
import { type Identity, type TreeQuery, platform } from '../platform/platform.ts'
import { spawnLeader } from './spawn.ts'
import { shownLines, textOf } from './text.ts'

export type CommandInput = {
  command: { shell: string } | { file: string; args: string[] }
  cwd: string
  /** Whole: nothing is inherited. BERTH_RUN in it must hold `marker`. */
  env: { [name: string]: string }
  /** `<state id>:<run id>` of this command alone. */
  marker: string
  timeoutMs: number
  graceMs: number
  /** All output, redacted, is written here; the middle of more than 32 MB is left out. */
  outFile: string
  secrets: readonly string[]
  redact?: readonly RegExp[]
  signal?: AbortSignal
  /** Called when the process exists. */
  onStart?: (leader: Identity) => void
  /**
   * When the command began, ms since 1970: then orphans with their working directory below `cwd` are ended too, by
   * decision 5, (b). Only where nothing else of the task runs meanwhile.
   */
  since?: number
}

export type CommandResult = {
  code: number | null
  signal: string | null
  timedOut: boolean
  cancelled: boolean
  ms: number
  /** Last 200 lines as a person would see them. */
  tail: string[]
  /** There is no such program; a shell's own word for it (exit 127) is not this. */
  missing: boolean
  /** Why it could not be started, or why its output is not all there. */
  reason?: string
  /** Processes that could not be ended. */
  left: { pid: number; command: string }[]
  /** Processes that were still there when the command had ended. */
  ended: number
}

type ChildProcess = ReturnType<typeof spawnLeader>

const tailLines = 200
const tailBytes = 262_144
const headBytes = 16_000_000
const drainMs = 500
const limitMs = 15_000
const dayMs = 86_400_000

/** Never throws for what the command does. The tree is ended always: at its end, at the time limit, when cancelled. */
export async function runCommand(input: CommandInput): Promise<CommandResult> {
  const begun = platform.monotonicMs()
  const nothing = {
    code: null,
    signal: null,
    timedOut: false,
    cancelled: false,
    tail: [],
    missing: false,
    left: [],
    ended: 0,
  }
  const elapsed = () => Math.round(platform.monotonicMs() - begun)
  if (input.signal?.aborted) return { ...nothing, cancelled: true, ms: 0 }
  const child = await start(input)
  if (child instanceof Error) return { ...nothing, ...refusal(child, input), ms: elapsed() }
  const leader = { pid: child.pid ?? 0, start: platform.identity(child.pid ?? 0) ?? 'gone' }
  input.onStart?.(leader)
  const sink = openSink(input)
  child.stdout?.on('data', sink.out)
  child.stderr?.on('data', sink.err)
  const closed = new Promise<void>(resolve => child.once('close', () => resolve()))
  const ending = await ended(child, input)
  const query: TreeQuery = { marker: input.marker, leaders: [leader] }
  // What went well has no more to say; what hangs is asked first.
  const { left, ended: after } = await platform.endTree(query, {
    graceMs: input.graceMs,
    limitMs: input.graceMs + limitMs,
  })
  const strays = await endStrays(input, query)
  await Promise.race([closed, new Promise(resolve => setTimeout(resolve, drainMs).unref())])
  child.stdout?.destroy()
  child.stderr?.destroy()
  const exit = exitOf(child, input)
  const { tail, reason } = sink.end()
  const names = left.map(({ pid, command }) => ({ pid, command: redactText(command, input.secrets) }))
  return {
    ...exit,
    ...ending,
    ms: elapsed(),
    tail,
    missing: false,
    left: names,
    ended: after + strays - (ending.timedOut || ending.cancelled ? ownProcesses(input) : 0),
    ...(reason === undefined ? {} : { reason }),
  }
}

/**
 * Stands between this process and the command, which would end all of Berth with a `kill $PPID`, and again whenever it
 * is gone on with. Two commands, so that no shell replaces itself by the first.
 */
const between = '"$0" "$@"; exit $?'
const hasBetween = platform.name === 'posix'

async function start(input: CommandInput): Promise<ChildProcess | Error> {
  const { command, cwd, env } = input
  const shell = 'shell' in command ? platform.shell(command.shell) : undefined
  const own: [string, string[]] =
    'file' in command ? [command.file, command.args] : [shell?.file ?? '', shell?.args ?? []]
  const [file, args] = shell && hasBetween ? [own[0], ['-c', between, own[0], ...own[1]]] : own
  try {
    const child = spawnLeader(file, args, { cwd, env, verbatim: shell?.verbatim ?? false })
    const failed =
      child.pid === undefined ? await new Promise<Error>(resolve => child.once('error', resolve)) : undefined
    if (failed) return failed
    child.on('error', () => undefined)
    return child
  } catch (error) {
    return error as Error
  }
}

/** A shell tells the end of its child by a signal with 128 and the signal's number. */
function exitOf({ exitCode: code, signalCode: signal }: ChildProcess, { command }: CommandInput) {
  const told = 'shell' in command && hasBetween && code !== null && code > 128
  const name = told && Object.entries(constants.signals).find(([, number]) => number === code - 128)?.[0]
  return name ? { code: null, signal: name } : { code, signal }
}

/** What a command consists of that has started nothing itself. */
const ownProcesses = ({ command }: CommandInput): number => ('shell' in command && hasBetween ? 2 : 1)

/** The system says ENOENT for a missing folder too. */
function refusal(error: Error & { code?: string }, { cwd, secrets }: CommandInput) {
  if (!existsSync(cwd)) return { missing: false, reason: `there is no folder '${cwd}'` }
  return { missing: error.code === 'ENOENT', reason: redactText(error.message, secrets) }
}

/** Until the command itself has ended, its time is over, or nobody wants it any more. */
function ended(child: ChildProcess, input: CommandInput): Promise<{ timedOut: boolean; cancelled: boolean }> {
  return new Promise(resolve => {
    const done = (timedOut: boolean, cancelled: boolean) => {
      clearTimeout(timer)
      input.signal?.removeEventListener('abort', cancel)
      resolve({ timedOut, cancelled })
    }
    const cancel = () => done(false, true)
    const timer = setTimeout(() => done(true, false), Math.min(input.timeoutMs, dayMs))
    child.once('exit', () => done(false, false))
    input.signal?.addEventListener('abort', cancel, { once: true })
    if (input.signal?.aborted) cancel()
    if (child.exitCode !== null || child.signalCode !== null) done(false, false)
  })
}

/** Without a subreaper, an orphan without marker and session is known by where it stands (case 35). */
async function endStrays(input: CommandInput, query: TreeQuery): Promise<number> {
  if (input.since === undefined) return 0
  const { ours } = platform.holdersOf(input.cwd, { ...query, since: input.since, cwdOnly: true })
  if (ours.length === 0) return 0
  const { ended: count } = await platform.endTree(
    { pids: ours },
    { graceMs: input.graceMs, limitMs: input.graceMs + limitMs },
  )
  return count
}

/** Head into the file, the rest around in a ring that is written at the end; a full disk ends the log only. */
function openSink({ outFile, secrets, redact }: CommandInput) {
  const make = () => makeRedactor({ values: secrets, extra: redact ?? [] })
  const redactors = { out: make(), err: make() }
  let file: number | undefined
  let reason: string | undefined
  let size = 0
  let ring: Uint8Array[] = []
  let held = 0
  let dropped = 0
  let last: { stream: 'out' | 'err'; bytes: Uint8Array }[] = []
  let lastBytes = 0
  attempt(() => (file = openSync(outFile, 'w', 0o600)))

  function put(stream: 'out' | 'err', bytes: Uint8Array) {
    if (bytes.length === 0) return
    last.push({ stream, bytes })
    lastBytes += bytes.length
    while (last.length > 1 && lastBytes - (last[0]?.bytes.length ?? 0) > tailBytes)
      lastBytes -= last.shift()?.bytes.length ?? 0
    if (size < headBytes) {
      write(bytes)
      size += bytes.length
      return
    }
    ring.push(bytes)
    held += bytes.length
    while (ring.length > 1 && held > headBytes) {
      const oldest = ring.shift()?.length ?? 0
      held -= oldest
      dropped += oldest
    }
  }
  function write(bytes: Uint8Array) {
    attempt(() => {
      if (file === undefined) return
      for (let done = 0; done < bytes.length;) done += writeSync(file, bytes, done)
    })
  }
  function attempt(action: () => void) {
    if (reason !== undefined) return
    try {
      action()
    } catch (error) {
      reason = `its output is not all there: ${(error as Error).message}`
    }
  }
  return {
    out: (bytes: Uint8Array) => put('out', redactors.out.push(bytes)),
    err: (bytes: Uint8Array) => put('err', redactors.err.push(bytes)),
    end() {
      put('out', redactors.out.end())
      put('err', redactors.err.end())
      if (dropped > 0) write(Buffer.from(`\n[${dropped} bytes left out]\n`))
      for (const bytes of ring) write(bytes)
      ring = []
      if (file !== undefined) closeSync(file)
      const tail = shownLines(textOf(last)).slice(-tailLines)
      last = []
      return { tail, reason }
    },
  }
}
