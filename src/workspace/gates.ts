// Gates: the commands that must pass on exactly one commit before a task may land.

import { access, constants } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import picomatch from 'picomatch'
import { type GatePolicy } from '../core/config.ts'
import { type TaskName } from '../core/event.ts'
import { inDirectory } from '../git/git.ts'
import { readStatus, type Status } from '../git/status.ts'
import { type CommandResult } from '../process/command.ts'
import { type Place, runInPlace } from './place.ts'
import { outputOf, reasonOf, type Site, type Voice } from './site.ts'

export type Gate = GatePolicy & {
  /** What one task is to achieve: it says nothing about what the task's work stands on. */
  own?: true
}

export type GateVerdict =
  | { is: 'green'; gates: string[] }
  | {
      is: 'red'
      gate: string
      reason: string
      tail: string[]
      /** It could not be judged at all. */ unknown: boolean
      /** The gates before it. */ passed: string[]
    }
  | { is: 'cancelled' }

export type GatesInput = Site & {
  place: Place
  task: TaskName
  commit: string
  where: 'workspace' | 'integration' | 'target'
  gates: Gate[]
  /** Paths that differ: a gate with `paths` runs only if one of them matches. */
  changed: string[]
  /** Of the worktree just now, where it is known. */
  status?: Status
}

/** Runs them in order until one is red. The worktree of `place` stands at `commit`. */
export async function runGates(input: GatesInput, voice: Voice): Promise<GateVerdict> {
  const passed: string[] = []
  const at = inDirectory(input.repo, input.place.path)
  if (!input.gates.some(gate => concerns(gate, input.changed))) return { is: 'green', gates: [] }
  let stand = input.status ?? (await readStatus(at))
  for (const gate of input.gates) {
    if (!concerns(gate, input.changed)) continue
    if (voice.signal.aborted) return { is: 'cancelled' }
    if (stand.is === 'unknown')
      return { is: 'red', gate: gate.name, reason: stand.reason, tail: [], unknown: true, passed }
    const { verdict, after } = await runGate(input, gate, stand, voice)
    if (verdict.is === 'red') return { ...verdict, passed }
    if (verdict.is === 'cancelled') return verdict
    passed.push(gate.name)
    stand = after
  }
  return { is: 'green', gates: passed }
}

type Stand = Awaited<ReturnType<typeof readStatus>>

type Judgement = { reason: string; unknown: boolean } | undefined

async function runGate(
  input: GatesInput,
  gate: GatePolicy,
  before: Status,
  voice: Voice,
): Promise<{ verdict: GateVerdict; after: Stand }> {
  const { project, task, commit, where } = input
  const of = { project, task, gate: gate.name, commit, where }
  await voice.onFact({ kind: 'gate.started', ...of })
  const outFile = outputOf(input, task, `gate-${where}-${gate.name}-${commit.slice(0, 8)}`)
  const result = await runInPlace(input, input.place, { command: gate, outFile, signal: voice.signal }).catch(
    couldNotRun,
  )
  const after = await readStatus(inDirectory(input.repo, input.place.path))
  if (result.cancelled) return { verdict: { is: 'cancelled' }, after }
  const judged = await judge(input, gate, result, { before, after })
  const { code, signal, ms, timedOut, tail } = result
  const why = judged === undefined ? {} : { reason: judged.reason, output: outFile }
  await voice.onFact({ kind: 'gate.exited', ...of, code, signal, ms, timedOut, tail, ...why })
  if (judged === undefined) return { verdict: { is: 'green', gates: [gate.name] }, after }
  return { verdict: { is: 'red', gate: gate.name, ...judged, tail, passed: [] }, after }
}

const couldNotRun = (error: unknown): CommandResult => ({
  code: null,
  signal: null,
  timedOut: false,
  cancelled: false,
  ms: 0,
  tail: [],
  missing: false,
  reason: reasonOf(error),
  left: [],
  ended: 0,
})

/** Why a gate did not pass, in words; undefined if it did. */
async function judge(
  input: GatesInput,
  gate: GatePolicy,
  result: CommandResult,
  { before, after }: { before: Status; after: Stand },
): Promise<Judgement> {
  const red = (reason: string): Judgement => ({ reason, unknown: false })
  const unknown = (reason: string): Judgement => ({ reason, unknown: true })
  if (result.reason !== undefined && !result.missing) return unknown(result.reason)
  if (result.timedOut) return red(`it did not end within ${Math.round(gate.timeoutMs / 1000)} s`)
  if (result.missing || (result.code === 127 && !(await isThere(input, gate.run))))
    return unknown(`its program '${programOf(gate.run)}' is not on the PATH`)
  if (result.left.length > 0) {
    const names = result.left.map(({ pid, command }) => `${pid} ${command}`).join(', ')
    return unknown(`processes that it started could not be ended: ${names}`)
  }
  if (result.code !== 0)
    return red(result.code === null ? `ended by ${result.signal}` : `exit code ${result.code}`)
  if (gate.mayWrite) return undefined
  if (after.is === 'unknown') return unknown(after.reason)
  const paths = differing(before, after)
  if (paths.length === 0) return undefined
  const more = paths.length > 5 ? ', …' : ''
  return red(`it left changes in the worktree: ${paths.slice(0, 5).join(', ')}${more}`)
}

/** Where HEAD is and all that is not committed, by path, to compare. */
function standOf({ head, branch, changed, untracked }: Status): Map<string, string> {
  const stand = new Map([['HEAD', `${head} ${branch}`]])
  for (const { path, record } of changed) stand.set(path, record)
  for (const path of untracked) stand.set(path, '?')
  return stand
}

/** What is not as it was, or not there any more. */
function differing(before: Status, after: Status): string[] {
  const [old, now] = [standOf(before), standOf(after)]
  return [...new Set([...old.keys(), ...now.keys()])].filter(path => old.get(path) !== now.get(path))
}

const concerns = (gate: GatePolicy, changed: string[]): boolean => {
  if (gate.paths === undefined || gate.paths.length === 0) return true
  const matches = picomatch(gate.paths, { dot: true })
  return changed.some(path => matches(path))
}

const programOf = (line: string): string =>
  /^\s*(?:[A-Za-z_]\w*=\S*\s+)*([^\s;&|<>()]+)/.exec(line)?.[1] ?? line.trim()

/** Whether the line's first program is a path, or is found on PATH: then 127 came from what it ran. */
async function isThere(site: Site, line: string): Promise<boolean> {
  const program = programOf(line).replace(/^['"]|['"]$/g, '')
  if (/[\\/]/.test(program)) return true
  const path = site.caller['PATH'] ?? site.caller['Path'] ?? ''
  const found = await Promise.all(
    [site.state.bin, ...path.split(delimiter)]
      .filter(dir => dir !== '')
      .map(dir =>
        access(join(dir, program), constants.X_OK).then(
          () => true,
          () => false,
        ),
      ),
  )
  return found.includes(true)
}
