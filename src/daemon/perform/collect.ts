// Effect `collect`: after a run its tree is ended, its worktree is looked at, and what it left is committed.

import { type Effect } from '../../core/effect.ts'
import { type Fact } from '../../core/event.ts'
import { type Outcome, type RunEnd } from '../../core/outcome.ts'
import { neverStarted, type Run } from '../../core/run.ts'
import { type Task } from '../../core/task.ts'
import { type ChangedPath, type Changes, changesBetween, changesSince } from '../../git/changes.ts'
import { commitLeft, type Withheld } from '../../git/commit.ts'
import { type Git, git, inDirectory } from '../../git/git.ts'
import { operationInProgress } from '../../git/gitdir.ts'
import { type Unnamed, unnamedLinks } from '../../git/links.ts'
import { platform } from '../../platform/platform.ts'
import { readLedger } from '../../workspace/copies.ts'
import { identityOf } from '../../workspace/environment.ts'
import { placeOfWorktree, type Whereabouts } from '../../workspace/missing.ts'
import { type Site, type Voice, workspaceMark } from '../../workspace/site.ts'
import { markerOf, type OfRun, type Shell } from '../shell.ts'
import { strayOutcome } from './astray.ts'
import { escapedPaths } from './escaped.ts'
import { runOf, secretsOf, siteOf } from './site.ts'
import { workFacts } from './work.ts'

const treeLimits = { graceMs: 2_000, limitMs: 20_000 }

export type Ground = {
  shell: Shell
  site: Site
  record: Task
  run: Run
  of: OfRun
  path: string
  /** Where the work of all attempts began. */
  begun: string
  /** The target, as a ref: what comes from it is nobody's work here. */
  target?: string | undefined
}
export type Counted = Changes & { is: 'changes' }

export async function performCollect(
  shell: Shell,
  effect: Effect & { do: 'collect' },
  voice: Voice,
): Promise<Fact[]> {
  const { record, at: _at, ...site } = await siteOf(shell, effect)
  const { project, task, run: id } = effect
  const of = { project, task, run: id }
  const run = runOf(record, id)
  if (!run || record.workspace?.phase !== 'ready' || run.state.phase !== 'over')
    return [collected(of, withoutWorkspace(run))]
  const { path, base: begun, target } = record.workspace
  const ground: Ground = { shell, site, record, run, of, path, begun, target }
  const left = await endTree(ground)
  if (left !== undefined) return [collected(of, { is: 'unknown', step: 'kill', reason: left })]
  const base = run.base ?? begun
  const worktree = inDirectory(site.repo, ground.path)
  const place = await placeOfWorktree(site, path)
  if (place.is !== 'there') return [collected(of, unseen(ground, place))]
  const changes = await changesSince(worktree, base, { signal: voice.signal, target })
  if (voice.signal.aborted) return []
  if (changes.is === 'unknown')
    return [collected(of, { is: 'unknown', step: 'changes', reason: changes.reason })]
  const outcome = await outcomeOf(ground, changes, base)
  const facts = await workFacts(ground, changes, base, outcome.is === 'done' ? outcome.commit : undefined)
  return [...facts, collected(of, outcome)]
}

/** All that the run started and that still lives; why not, if something cannot be ended. */
async function endTree({ shell, site, record, run, path }: Ground): Promise<string | undefined> {
  const pids =
    run.pid !== undefined && run.startedAt !== undefined ? [{ pid: run.pid, start: run.startedAt }] : []
  const marked = await platform.endTree({ marker: markerOf(shell, run.id), leaders: pids }, treeLimits)
  const holders = platform.holdersOf(path, {
    marker: workspaceMark(site, record.name),
    leaders: pids,
    ...(record.workspace ? { since: record.workspace.since.at } : {}),
    cwdOnly: true,
  })
  const tied = holders.ours.map(({ pid, start }) => ({ pid, start }))
  const more = tied.length > 0 ? await platform.endTree({ pids: tied }, treeLimits) : { left: [] }
  const left = [...marked.left, ...more.left]
  if (left.length === 0) return undefined
  return `cannot end ${left.map(({ pid, command }) => `${pid} '${command.slice(0, 80)}'`).join(', ')}`
}

type Elsewhere = Exclude<Whereabouts, { is: 'there' }>

/** There is no worktree any more to look at, or git would look at another. */
function unseen({ run, record, path }: Ground, place: Elsewhere): Outcome {
  if (run.state.phase === 'over' && run.state.why !== undefined) return { is: 'stopped', why: run.state.why }
  const told = wordsOf(path, place)
  return { is: 'failed', reason: told, evidence: `${record.name}: ${told}`, transient: false, escaped: [] }
}

function wordsOf(path: string, place: Elsewhere): string {
  switch (place.is) {
    case 'away':
    case 'cut':
      return place.reason
    case 'gone':
      return `its worktree '${path}' is gone; what it committed is on its branch, and a retry makes the worktree again`
  }
}

/** A run that never began, since its worktree was gone, ended as it was told to or is nobody's fault. */
function withoutWorkspace(run: Run | undefined): Outcome {
  const state = run?.state
  if (state?.phase !== 'over' || state.ended.how !== 'lost' || state.ended.reason !== neverStarted)
    return { is: 'unknown', step: 'collect', reason: 'its workspace is gone' }
  return state.why === undefined ? lostOutcome(state.ended.reason) : { is: 'stopped', why: state.why }
}

const lostOutcome = (reason: string): Outcome => ({
  is: 'failed',
  reason,
  evidence: reason,
  transient: true,
  escaped: [],
})

async function outcomeOf(ground: Ground, changes: Counted, base: string): Promise<Outcome> {
  const { run } = ground
  if (run.state.phase !== 'over') return { is: 'unknown', step: 'collect', reason: 'it is not over' }
  const { ended, taken, why } = run.state
  if (taken === true) {
    const work = await afterGood(ground, changes, base, [])
    if (work.is !== 'no-work') return work
  }
  if (why !== undefined) return { is: 'stopped', why, ...madeBy(changes) }
  if (ended.how === 'lost') return lostOutcome(ended.reason)
  const { end } = ended
  if (end.is === 'ended') return afterGood(ground, changes, base, end.denied)
  return afterBad(ground, changes, end)
}

async function afterBad(
  ground: Ground,
  changes: Counted,
  end: Exclude<RunEnd, { is: 'ended' }>,
): Promise<Outcome> {
  if (end.is === 'limited' || end.is === 'signed-out') return end
  const escaped = hasWork(changes) ? [] : await escapedPaths(ground)
  if (end.is === 'cut-off')
    return {
      is: 'failed',
      reason: end.reason,
      evidence: end.reason,
      transient: true,
      escaped,
      ...madeBy(changes),
    }
  const cause = end.cause === undefined ? {} : { cause: end.cause }
  return {
    is: 'failed',
    reason: end.reason,
    evidence: end.evidence,
    transient: end.transient,
    escaped,
    ...cause,
    ...madeBy(changes),
  }
}

const madeBy = ({ commits, head }: Counted): { commit?: string } => (commits > 0 ? { commit: head } : {})

async function afterGood(ground: Ground, changes: Counted, base: string, denied: string[]): Promise<Outcome> {
  const worktree = inDirectory(ground.site.repo, ground.path)
  const astray = await strayOutcome(ground, changes)
  if (astray !== undefined) return astray
  if (!hasWork(changes)) return afterNothing(ground, changes.head, base, denied)
  const left = changes.dirty
    ? await commitRest(ground, changes)
    : { commit: changes.head, files: 0, withheld: [] }
  const counted = left.files > 0 ? await changesSince(worktree, base, { target: ground.target }) : changes
  if (counted.is === 'unknown') return { is: 'unknown', step: 'changes', reason: counted.reason }
  const isWhole = base === ground.begun && left.withheld.length === 0
  const whole = await wholeChanges(ground, left.commit, isWhole ? counted : undefined)
  if (whole.is === 'unknown') return { is: 'unknown', step: 'changes', reason: whole.reason }
  // Commits that add up to nothing are no work, and neither is taking back all that there was. A merge always is.
  const isNothing = left.commit === base || counted.files === 0 || whole.paths.length === 0
  if (isNothing && left.withheld.length === 0 && !(await hasMerge(worktree, base, left.commit)))
    return afterNothing(ground, left.commit, base, denied)
  const links = await strayLinks(ground, left.commit, whole.paths)
  if (links.is === 'unknown') return { is: 'unknown', step: 'changes', reason: links.reason }
  return doneWith(counted, { ...left, links: links.paths })
}

function doneWith(
  { files, insertions, deletions, commits }: Counted,
  left: { commit: string; files: number; withheld: Withheld[]; links: string[] },
): Outcome {
  return {
    is: 'done',
    commit: left.commit,
    changes: { files, insertions, deletions, commits },
    uncommitted: left.files > 0,
    withheld: [...left.withheld, ...left.links.map(asWithheld)],
  }
}

async function afterNothing(ground: Ground, head: string, base: string, denied: string[]): Promise<Outcome> {
  const finished = await finishedBefore(ground)
  if (finished !== undefined) return finished
  const moved = head === base ? {} : { commit: head }
  return { is: 'no-work', denied, escaped: await escapedPaths(ground), ...moved }
}

async function hasMerge(worktree: Git, from: string, to: string): Promise<boolean> {
  const found = await git(worktree, ['rev-list', '--merges', '--max-count=1', `${from}..${to}`])
  return found.code !== 0 || found.out.length > 0
}

type Paths = { is: 'paths'; paths: ChangedPath[] }

/** What is committed since the workspace began. `known`: what differs, where that is exactly this. */
async function wholeChanges(
  ground: Ground,
  commit: string,
  known?: Counted,
): Promise<Paths | { is: 'unknown'; reason: string }> {
  if (known !== undefined) return { is: 'paths', paths: known.paths }
  return changesBetween(inDirectory(ground.site.repo, ground.path), ground.begun, commit)
}

/**
 * Links that the task's commits add or change and that their `.gitmodules` does not name, as `git add -A` makes of a
 * repository inside.
 */
function strayLinks(ground: Ground, commit: string, paths: ChangedPath[]): Promise<Unnamed> {
  const links = paths.filter(({ link }) => link).map(({ path }) => path)
  return unnamedLinks(inDirectory(ground.site.repo, ground.path), links, commit)
}

const asWithheld = (path: string): Withheld => ({ path, why: 'nested', committed: true })

/**
 * An attempt that had nothing to add to what the attempts before it committed, none of which came to a good end: the
 * work is whole, and was only cut off before that could be said. A person may take it in any case.
 */
async function finishedBefore(ground: Ground): Promise<Outcome | undefined> {
  const { record, run } = ground
  const earlier = record.runs.filter(({ id }) => id !== run.id)
  const isDone = ({ state }: Run): boolean => state.phase === 'collected' && state.outcome.is === 'done'
  const taken = run.state.phase === 'over' && run.state.taken === true
  if (earlier.length === 0 || (earlier.some(isDone) && !taken)) return undefined
  const { begun, target } = ground
  const whole = await changesSince(inDirectory(ground.site.repo, ground.path), begun, { target })
  if (whole.is === 'unknown' || whole.commits === 0 || whole.files === 0) return undefined
  const links = await strayLinks(ground, whole.head, whole.paths)
  if (links.is === 'unknown') return { is: 'unknown', step: 'changes', reason: links.reason }
  return doneWith(whole, { commit: whole.head, files: 0, withheld: [], links: links.paths })
}

const hasWork = (changes: Counted): boolean => changes.commits > 0 || changes.files > 0 || changes.dirty

/** What an agent that ended well left uncommitted (docs/decisions/0020). */
async function commitRest(
  { site, record, run, path }: Ground,
  changes: Counted,
): Promise<{ commit: string; files: number; withheld: Withheld[] }> {
  const worktree = inDirectory(site.repo, path)
  const operation = await operationInProgress(worktree)
  if (operation !== null)
    return { commit: changes.head, files: 0, withheld: [{ path: operation, why: 'operation' }] }
  const secrets = secretsOf(site, record).map(secret => Buffer.from(secret))
  return commitLeft(worktree, {
    identity: identityOf(record.name),
    message: `berth: uncommitted work of ${record.name}#${run.attempt}`,
    ledger: readLedger(site, record.name).map(({ path: known }) => known),
    isSecret: bytes =>
      secrets.some(secret => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).includes(secret)),
  })
}

const collected = (of: OfRun, outcome: Outcome): Fact => ({ kind: 'run.collected', ...of, outcome })
