// What the end of a run means, and whether the task deserves another attempt, when, or a person.

import { type ProjectPolicy } from './config.ts'
import { type EndWhy } from './effect.ts'
import { type ReasonCode, reasonCodes } from './api.ts'
import { type Astray, type Outcome } from './outcome.ts'
import { type Run, hostRestarted, neverStarted } from './run.ts'
import { gitCall, shellWord } from './shellword.ts'
import { type Setback, type Task, isApproved, keepsChanging, latestRun } from './task.ts'
import { type Evidence, count, failedWhile, list, noted } from './words.ts'
import { type Workspace } from './workspace.ts'

/** How a collected run counts, all that is known of it taken together. */
export type Verdict =
  | (Outcome & { is: 'done' })
  | (Outcome & { is: 'no-work' })
  | (Outcome & { is: 'astray' })
  | { is: 'limited'; until: number | null; evidence: string }
  | { is: 'signed-out'; evidence: string }
  | { is: 'failed'; code: ReasonCode; reason: string; evidence: string; final: boolean; escaped: string[] }
  | { is: 'stopped'; why: EndWhy }
  /** Nobody's fault: the host restarted, or it never started. */
  | { is: 'excused'; code: ReasonCode }
  | { is: 'unknown'; step: string; reason: string }

/** It goes no further by itself. */
export type Failing = {
  is: 'failed'
  code: ReasonCode
  sentence: string
  evidence: Evidence[]
  paths?: string[]
  /** What a person would merge by hand. */
  onto?: string
}

/** What comes after the latest run of a task whose gates have not judged it yet, or found it red. */
export type Next =
  | { is: 'verify'; commit: string }
  /** `at`: awake ms. */
  | { is: 'again'; code: ReasonCode; at: number; sentence: string }
  | Failing
  | { is: 'decide'; sentence: string; evidence: Evidence[]; commit: string }

/** Of a run that was collected. */
export function verdictOf(run: Run, task: Task): Verdict {
  const { state } = run
  if (state.phase !== 'collected') throw new Error(`run '${run.id}' is not collected`)
  const { outcome, ended } = state
  if (outcome.is === 'unknown') return outcome
  if (state.taken === true && (outcome.is === 'done' || outcome.is === 'astray')) return outcome
  if (ended.how === 'lost' && state.why === undefined) return lost(ended.reason)
  if (run.signedOut?.from === 'agent') return { is: 'signed-out', evidence: run.signedOut.text }
  if (run.limited?.from === 'agent')
    return { is: 'limited', until: run.limited.until, evidence: run.limited.text }
  switch (outcome.is) {
    case 'failed':
      return failed(outcome)
    case 'no-work':
      return worked(run, task) ? accepted(standOf(run, outcome)) : outcome
    case 'stopped':
      return ended.how === 'lost' && ended.reason === neverStarted
        ? { is: 'excused', code: 'stopped' }
        : outcome
    default:
      return outcome
  }
}

/** What follows on the latest run. `undefined` for a task without a run that was collected. */
export function nextOf(task: Task, policy: ProjectPolicy): Next | undefined {
  const run = latestRun(task)
  if (run === undefined || run.state.phase !== 'collected') return undefined
  const since = run.state.since.awake
  if (task.again)
    return { is: 'again', code: 'backoff', at: 0, sentence: 'a person asked for another attempt' }
  if (task.verification?.is === 'red') return afterRed(task, run, policy, task.verification)
  return afterVerdict(task, run, policy, since)
}

/** Awake ms before another attempt after `tries` in vain: doubling, bounded, spread by a hash of the run's id. */
export function pauseMs(
  policy: Pick<ProjectPolicy, 'backoffMs' | 'backoffMaxMs'>,
  tries: number,
  seed: string,
): number {
  const whole = Math.min(policy.backoffMaxMs, policy.backoffMs * 2 ** Math.min(30, Math.max(0, tries - 1)))
  return Math.round(whole * (0.75 + hash(seed) / 2))
}

/** Attempts that count against the task's budget: those since a person last asked for it anew. */
export function triesOf(task: Task): number {
  return task.runs.filter(run => counts(run, task)).length
}

function counts(run: Run, task: Task): boolean {
  if (task.retried !== undefined && run.claimed.seq < task.retried.seq) return false
  if (run.state.phase !== 'collected') return false
  switch (verdictOf(run, task).is) {
    case 'limited':
    case 'signed-out':
    case 'stopped':
    case 'excused':
      return stoppedByTime(run)
    default:
      return true
  }
}

const stoppedByTime = (run: Run): boolean => run.state.phase === 'collected' && run.state.why === 'timeout'

function afterRed(
  task: Task,
  run: Run,
  policy: ProjectPolicy,
  red: Task['verification'] & { is: 'red' },
): Next {
  const sentence = gateFailed(red)
  const evidence = gateEvidence(task, red)
  if (red.unknown)
    return { is: 'failed', code: 'unknown', sentence: `gates could not be run: ${red.reason}`, evidence }
  const tries = triesOf(task)
  if (tries >= policy.attempts)
    return { is: 'failed', code: 'gate', sentence: `${sentence}, ${afterAll(run)}`, evidence }
  return { is: 'again', code: 'gate', at: red.since.awake + pauseMs(policy, tries, run.id), sentence }
}

const gateFailed = ({ gate, reason, where }: { gate: string; reason: string; where?: string }): string =>
  `gate '${gate}' failed${where === 'integration' ? ' on the merge with the target' : ''}: ${reason}`

// As `ls` and `show` count them: the budget of attempts may have begun anew in between.
const afterAll = ({ attempt }: Run): string => `after ${count(attempt, 'attempt')}`

/** Of a gate that failed: its name, the end of its output, and the command that shows all of it. */
export function gateEvidence(
  task: Task,
  { gate, tail }: { gate: string; tail: readonly string[] },
): Evidence[] {
  const kept = task.gates.findLast(result => result.gate === gate)?.output
  return [
    { kind: 'gate', text: gate },
    ...tail.slice(-20).map(text => ({ kind: 'output', text })),
    ...(kept === undefined ? [] : [{ kind: 'hint', text: `less ${shellWord(kept)}` }]),
  ]
}

function afterVerdict(task: Task, run: Run, policy: ProjectPolicy, since: number): Next {
  const verdict = verdictOf(run, task)
  const tries = triesOf(task)
  switch (verdict.is) {
    case 'done':
      return afterDone(task, verdict)
    case 'no-work':
      return afterNothing(task, run, verdict)
    case 'astray':
      return afterAstray(task, verdict)
    case 'limited':
      return {
        is: 'again',
        code: 'quota',
        at: since + pauseMs(policy, inARow(task, 'limited'), run.id),
        sentence: noted(`'${run.engine}' reached a usage limit`, verdict.evidence),
      }
    case 'signed-out':
      return {
        is: 'again',
        code: 'signed-out',
        at: since,
        sentence: noted(`'${run.engine}' is signed out`, verdict.evidence),
      }
    case 'excused':
      return { is: 'again', code: verdict.code, at: since, sentence: reasonCodes[verdict.code] }
    case 'unknown':
      return {
        is: 'failed',
        code: 'unknown',
        sentence: failedWhile(verdict),
        evidence: [{ kind: 'step', text: failedWhile(verdict) }],
      }
    case 'stopped':
      if (verdict.why === 'budget')
        return { is: 'failed', code: 'budget', sentence: 'it is over its budget', evidence: [] }
      if (verdict.why !== 'timeout')
        return { is: 'again', code: 'backoff', at: since, sentence: 'it was stopped' }
      return againOrFailed(
        policy,
        { task, run, since, tries },
        {
          code: 'timeout',
          reason: 'it ran out of time',
          evidence: '',
          final: false,
        },
      )
    case 'failed':
      return againOrFailed(policy, { task, run, since, tries }, verdict)
  }
}

function againOrFailed(
  policy: ProjectPolicy,
  { task, run, since, tries }: { task: Task; run: Run; since: number; tries: number },
  why: { code: ReasonCode; reason: string; evidence: string; final: boolean; escaped?: string[] },
): Next {
  if (why.final || tries >= policy.attempts) {
    const before = setbackBefore(task)
    const output = why.evidence === '' ? [] : [{ kind: 'output', text: why.evidence }]
    return {
      is: 'failed',
      code: why.code,
      sentence: `${why.reason}${why.final ? '' : `, ${afterAll(run)}`}${before.sentence}`,
      evidence: [...output, ...before.evidence],
      ...(why.escaped?.length ? { paths: why.escaped } : {}),
    }
  }
  return { is: 'again', code: why.code, at: since + pauseMs(policy, tries, run.id), sentence: why.reason }
}

// What is still wrong with the work that earlier attempts made.
function setbackBefore(task: Task): { sentence: string; evidence: Evidence[] } {
  const { unmended } = task
  if (unmended === undefined) return { sentence: '', evidence: [] }
  const { sentence, evidence } = setbackOf(task, unmended)
  return { sentence: `; before that ${sentence}`, evidence }
}

function afterDone(task: Task, done: Outcome & { is: 'done' }): Next {
  if (keepsChanging(task))
    return {
      is: 'decide',
      sentence: 'its work keeps changing after its agent ended',
      evidence: [],
      commit: done.commit,
    }
  if (done.withheld.length === 0 || isApproved(task, done.commit, 'withheld'))
    return { is: 'verify', commit: done.commit }
  const evidence = done.withheld.map(({ path, why }) => ({ kind: why, text: path }))
  return {
    is: 'decide',
    sentence: withheldSentence(done),
    evidence,
    commit: done.commit,
  }
}

function withheldSentence({ withheld }: Outcome & { is: 'done' }): string {
  const links = withheld.filter(({ committed }) => committed).map(({ path }) => `'${path}'`)
  const operations = withheld.filter(({ why }) => why === 'operation').map(({ path }) => path)
  const left = withheld.length - links.length - operations.length
  return [
    ...operations.map(operation => `a ${operation} in its worktree is not finished`),
    ...(left > 0 ? [`${count(left, 'file')} of it ${left === 1 ? 'is' : 'are'} not committed`] : []),
    ...(links.length > 0
      ? [`it committed only a link to the repository in ${links.join(', ')}, which no clone could follow`]
      : []),
  ].join('; ')
}

function afterNothing(task: Task, run: Run, verdict: Outcome & { is: 'no-work' }): Next {
  const commit = standOf(run, verdict)
  if (isApproved(task, commit, 'no-work')) return { is: 'verify', commit }
  const denied = verdict.denied.map(text => ({ kind: 'denied', text }))
  const escaped = verdict.escaped.map(text => ({ kind: 'path', text }))
  const evidence = [
    ...denied,
    ...escaped,
    ...(run.activity.note === '' ? [] : [{ kind: 'note', text: run.activity.note }]),
  ]
  const paths = verdict.escaped.length > 0 ? { paths: verdict.escaped } : {}
  if (verdict.denied.length > 0)
    return {
      is: 'failed',
      code: 'denied',
      sentence: `its agent ended without any change; denied: ${verdict.denied.join(', ')}`,
      evidence,
      ...paths,
    }
  if (task.unmended !== undefined) return { ...afterUnmended(task, task.unmended), ...paths }
  const nothing = 'its agent ended without any change'
  const stray = verdict.escaped.map(path => `'${path}'`).join(', ')
  const sentence =
    stray === '' ? nothing : `${nothing} in its worktree; meanwhile your checkout changed: ${stray}`
  return { is: 'failed', code: 'no-work', sentence, evidence, ...paths }
}

// What went wrong before is what a person must know; that the next attempt had no answer to it comes second.
function afterUnmended(task: Task, setback: Setback): Failing {
  const { sentence, evidence } = setbackOf(task, setback)
  const onto = setback.is === 'gate' || setback.onto === undefined ? {} : { onto: setback.onto }
  const told = `${sentence}, and the next attempt changed nothing`
  return { is: 'failed', code: setback.is, sentence: told, evidence, ...onto }
}

function setbackOf(task: Task, setback: Setback): { sentence: string; evidence: Evidence[] } {
  if (setback.is === 'gate') return { sentence: gateFailed(setback), evidence: gateEvidence(task, setback) }
  const evidence = setback.paths.map(text => ({ kind: 'path', text }))
  return { sentence: `it conflicts with the target in ${list(setback.paths)}`, evidence }
}

function afterAstray(task: Task, astray: Astray): Next {
  const { commit, on, ahead, behind, dirty, operation, reason } = astray
  const { path, branch } = task.workspace as Workspace
  const there = on === null ? `at the detached commit ${commit.slice(0, 10)}` : `on '${on}'`
  const apart = [
    ...(operation === undefined ? [] : [`a ${operation} is not finished`]),
    ...(ahead > 0 ? [`${count(ahead, 'commit')} only there`] : []),
    ...(behind > 0 ? [`${count(behind, 'commit')} only on '${branch}'`] : []),
    ...(dirty ? ['changes that are not committed'] : []),
    ...(reason === undefined ? [] : [reason]),
  ]
  const commands = [
    ...(operation === undefined ? [] : [gitCall(path, 'status')]),
    ...(behind > 0 ? [gitCall(path, 'switch', branch)] : []),
    ...(behind > 0 && ahead > 0 ? [gitCall(path, 'merge', on ?? commit)] : []),
  ]
  const sentence = `its agent left its worktree ${there}, not on its branch '${branch}'`
  return {
    is: 'decide',
    sentence: [sentence, ...apart].join('; '),
    evidence: [
      { kind: 'commit', text: commit },
      ...(on === null ? [] : [{ kind: 'branch', text: on }]),
      ...commands.map(text => ({ kind: 'command', text })),
    ],
    commit,
  }
}

/** Where HEAD is after a run without any change. */
const standOf = (run: Run, { commit }: { commit?: string }): string => commit ?? run.base ?? ''

// No change is good work if the task says so, or the agent.
const worked = (run: Run, task: Task): boolean =>
  run.base !== undefined &&
  (task.spec.changes === 'optional' || (run.activity.is === 'done' && run.activity.from === 'agent'))

const accepted = (commit: string): Verdict => ({
  is: 'done',
  commit,
  changes: { files: 0, insertions: 0, deletions: 0, commits: 0 },
  uncommitted: false,
  withheld: [],
})

function lost(reason: string): Verdict {
  if (reason === hostRestarted) return { is: 'excused', code: 'host-restarted' }
  if (reason === neverStarted) return { is: 'excused', code: 'starting' }
  return {
    is: 'failed',
    code: 'lost',
    reason: `its agent was lost: ${reason}`,
    evidence: reason,
    final: false,
    escaped: [],
  }
}

// Trying again mends neither a missing program nor a refused request or permission.
const finalCodes: ReadonlySet<ReasonCode> = new Set(['engine-missing', 'denied', 'engine-error'])

function failed(outcome: Outcome & { is: 'failed' }): Verdict {
  const { reason, evidence, escaped, transient, cause } = outcome
  const isCode = Object.hasOwn(reasonCodes, reason)
  const code = isCode ? (reason as ReasonCode) : (cause ?? (transient ? 'engine-error' : 'exit'))
  const sentence = isCode ? reasonCodes[code] : reason
  return {
    is: 'failed',
    code,
    reason: sentence,
    evidence,
    escaped,
    final: finalCodes.has(code) && !transient,
  }
}

function inARow(task: Task, is: Verdict['is']): number {
  const others = task.runs.findLastIndex(
    run => run.state.phase === 'collected' && verdictOf(run, task).is !== is,
  )
  return task.runs.length - 1 - others
}

/** FNV-1a, to a fraction of one: spreads what would otherwise happen at the same moment. */
function hash(text: string): number {
  let sum = 0x811c9dc5
  for (let i = 0; i < text.length; i += 1) sum = Math.imul(sum ^ text.charCodeAt(i), 0x01000193)
  return (sum >>> 0) / 2 ** 32
}
