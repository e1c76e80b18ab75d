// Effect `verify`: whether exactly one commit of a task passes its gates, and whose fault it is if it does not.

import { type ChangeCount, type Fact, type TaskName } from '../core/event.ts'
import { type RedTarget } from '../core/outcome.ts'
import { changesSince, headOf } from '../git/changes.ts'
import { inDirectory } from '../git/git.ts'
import { readStatus, type Status } from '../git/status.ts'
import { redBefore } from './blame.ts'
import { type Gate, type GateVerdict, runGates } from './gates.ts'
import { type Place } from './place.ts'
import { type Site, type Voice } from './site.ts'

export type VerifyInput = Site & {
  place: Place
  task: TaskName
  commit: string
  gates: Gate[]
  portsTaken: number[]
  /** Berth committed what the agent left (reasonCode `uncommitted-work`). */
  uncommitted: boolean
  /** Paths that Berth did not commit by itself: they may stand uncommitted. */
  withheld: string[]
}

/**
 * Runs the gates in the task's workspace on exactly `commit`. Speaks `gate.started` and `gate.exited`; returns
 * `task.ready`, `task.red` or `task.withdrawn` (HEAD or the worktree is no longer that commit; docs/decisions/0019).
 * A gate that is red without the task's work, too, is not its fault (0050). Cancelled: returns no fact, and may be
 * asked again.
 */
export async function verify(input: VerifyInput, voice: Voice): Promise<Fact[]> {
  const { project, task, commit, place } = input
  const of = { project, task }
  const unknown = (reason: string): Fact[] => [
    { kind: 'task.red', ...of, commit, gate: '', reason, unknown: true },
  ]
  const at = inDirectory(input.repo, place.path)
  const status = await readStatus(at)
  if (status.is === 'unknown') return unknown(status.reason)
  const moved = movedFrom(input, status)
  if (moved !== undefined) return [{ kind: 'task.withdrawn', ...of, commit, reason: moved }]
  const changes = await changesSince(at, place.base, { target: `refs/heads/${place.target}`, status })
  if (changes.is === 'unknown') return unknown(changes.reason)
  const changed = changes.paths.flatMap(({ path, from = path }) => [path, from])
  const verdict = await judge(input, { ground: changes.since, changed, status }, voice)
  if (verdict.is === 'cancelled') return []
  if (verdict.is === 'red') {
    const { gate, reason } = verdict
    return [{ kind: 'task.red', ...of, commit, gate, reason, ...(verdict.unknown ? { unknown: true } : {}) }]
  }
  const head = await headOf(at)
  if (head.is !== 'head') return unknown(head.is === 'unborn' ? 'its branch has no commit' : head.reason)
  if (head.commit !== commit)
    return [
      { kind: 'task.withdrawn', ...of, commit, reason: `HEAD moved to ${head.commit} while its gates ran` },
    ]
  const { files, insertions, deletions, commits } = changes
  const count: ChangeCount = { files, insertions, deletions, commits }
  const { uncommitted } = input
  const { gates, red } = verdict
  const before = red === undefined ? {} : { red }
  return [{ kind: 'task.ready', ...of, commit, gates, changes: count, uncommitted, ...before }]
}

type Judged = Exclude<GateVerdict, { is: 'green' }> | { is: 'green'; gates: string[]; red?: RedTarget }

/** `red`: the first gate that is red on `ground` as well. The gates after it are run nevertheless. */
async function judge(
  input: VerifyInput,
  { ground, changed, status }: { ground: string; changed: string[]; status: Status },
  voice: Voice,
): Promise<Judged> {
  const { target, secrets, pass } = input.place
  const passed: string[] = []
  let first: { red?: RedTarget } = {}
  let known: { status?: Status } = { status }
  for (let gates = input.gates; ;) {
    const verdict = await runGates({ ...input, gates, where: 'workspace', changed, ...known }, voice)
    known = {}
    if (verdict.is === 'cancelled') return verdict
    if (verdict.is === 'green') return { is: 'green', gates: [...passed, ...verdict.gates], ...first }
    passed.push(...verdict.passed)
    const at = gates.findIndex(({ name }) => name === verdict.gate)
    const gate = gates[at]
    if (verdict.unknown || gate === undefined) return verdict
    const red = await redBefore({ ...input, target, secrets, pass }, { commit: ground, gate }, voice)
    if (red === 'cancelled') return { is: 'cancelled' }
    if (red === null) return verdict
    first = { red, ...first }
    gates = gates.slice(at + 1)
  }
}

/** Why the worktree is not what was collected, if it is not. */
function movedFrom(
  { commit, withheld }: VerifyInput,
  { head, changed, untracked }: Status,
): string | undefined {
  if (head !== commit) return `HEAD is at ${head ?? 'nothing'}, not at ${commit}`
  const allowed = new Set(withheld)
  const dirty = [...changed.map(({ path }) => path), ...untracked].filter(path => !allowed.has(path))
  return dirty.length === 0 ? undefined : `${dirty.length} uncommitted: ${dirty.slice(0, 5).join(', ')}`
}
