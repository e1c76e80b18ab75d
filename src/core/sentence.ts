// What happened, in one plain sentence per fact; longer text (output, messages) apart from it.

import { type Fact, type Holder } from './event.ts'
import { type Landing, type Outcome, type RunEnd } from './outcome.ts'
import {
  approvals,
  baseRules,
  branchRules,
  count,
  endWhys,
  failedWhile,
  gatePlaces,
  landedRules,
  list,
  noted,
  reasonText,
  redBefore,
  removalDone,
  stashWords,
  tookUpWords,
} from './words.ts'

type Kinds = { [K in Fact['kind']]: Extract<Fact, { kind: K }> }
type Table = { [K in keyof Kinds]: (fact: Kinds[K]) => string }

const table: Table = {
  'loop.started': ({ version, admission }) =>
    `Berth ${version} started${admission === 'closed' ? ', starting nothing new' : ''}`,
  'loop.stopped': ({ reason }) => `Berth stopped: ${reason}`,
  'admission.opened': ({ by }) => `admission opened by ${by}`,
  'admission.closed': ({ by }) => `admission closed by ${by}`,
  'fleet.paused': ({ by }) => `the fleet was paused by ${by}`,
  'fleet.resumed': ({ by }) => `the fleet was resumed by ${by}`,
  'limits.set': ({ limits }) => `limits set: ${limits.jobs} at once, ${limits.maxAlive} alive`,
  'host.slept': ({ ms }) => `the host slept for ${duration(ms)}`,
  'host.restarted': () => 'the host was restarted',
  'store.damaged': ({ what, missing }) => `the store was damaged (${what}); missing: ${missing}`,
  'log.trimmed': ({ from, to, count }) => `${count} facts of ${from} to ${to} were trimmed`,
  'project.seen': ({ root }) => `repository ${root}`,
  'project.configured': ({ source }) => `configured from ${source}`,
  'project.refused': ({ reason }) => `its configuration was refused: ${reason}`,
  'consent.given': ({ by }) => `its commands were approved by ${by}`,
  'task.submitted': ({ spec }) => `submitted: ${spec.title}`,
  'task.stopped': ({ by }) => `stopped by ${by}`,
  'task.retried': ({ by }) => `another attempt was asked for by ${by}`,
  'task.resumed': ({ by }) => `resumed by ${by}`,
  'task.dropped': ({ by }) => `dropped by ${by}`,
  'task.land-asked': ({ by }) => `landing was asked for by ${by}`,
  'task.approved': ({ commit, what, by }) => `${by} approved ${approvals[what]}, at ${short(commit)}`,
  'task.held': ({ detail }) => `held: ${detail}`,
  'task.released': ({ reason }) => `held no longer (${reasonText(reason)})`,
  'task.noted': ({ text }) => `note: ${text}`,
  'workspace.claimed': ({ path }) => `workspace is being made at ${path}`,
  'workspace.missing': ({ reason }) => `workspace is to be made again: ${reason}`,
  'workspace.ready': ({ branch, base, baseRule, tookUp, notices }) =>
    [
      `workspace ready on ${branch} from ${short(base)}: ${baseRules[baseRule] ?? baseRule}`,
      tookUp === undefined ? '' : `the branch was there, ${tookUpWords(tookUp)}`,
      ...notices,
    ]
      .filter(Boolean)
      .join('; '),
  'workspace.failed': failure => `workspace could not be made: ${failedWhile(failure)}`,
  'workspace.stuck': failure => `workspace is stuck: ${failedWhile(failure)}`,
  'setup.started': ({ command }) => `setup '${command}' started`,
  'setup.exited': ({ command, ms, ...end }) => `setup '${command}' ${exit(end)} after ${duration(ms)}`,
  'run.claimed': ({ engine, attempt, account }) =>
    `attempt ${attempt} with ${engine}${account ? ` as ${account}` : ''}`,
  'run.started': ({ pid }) => `agent started (pid ${pid})`,
  'run.session': ({ session }) => `session ${session}`,
  'run.reported': ({ activity, note, from }) => `${from} reports ${activity}${note && `: ${note}`}`,
  'run.limited': ({ text, until }) =>
    noted(`usage limit${until === null ? '' : ` until ${iso(until)}`}`, text),
  'run.signed-out': ({ text }) => noted('signed out', text),
  'run.ending': ({ why }) => `agent is being ended: ${endWhys[why]}`,
  'run.exited': fact => `agent ${exit(fact)}: ${runEnd(fact.end)}`,
  'run.lost': ({ reason }) => `agent lost: ${reasonText(reason)}`,
  'run.collected': ({ outcome }) => outcomeOf(outcome),
  'usage.counted': ({ usage }) =>
    `usage: $${usage.usd.toFixed(4)}, ${usage.inputTokens} tokens in, ${usage.outputTokens} out`,
  'question.asked': ({ question }) => `asks: ${question.text}`,
  'question.answered': ({ answer, by }) =>
    answer === null ? `question declined by ${by}` : `answered by ${by}: ${answer}`,
  'question.expired': () => 'question expired unanswered',
  'account.signed-out': ({ engine, account, evidence }) =>
    noted(`${of(engine, account)} is signed out`, evidence),
  'account.signed-in': ({ engine, account, by }) => `${of(engine, account)} is signed in, says ${by}`,
  'gate.started': ({ gate, where, commit }) =>
    `gate '${gate}' started on ${short(commit)}, ${gatePlaces[where]}`,
  'gate.exited': ({ gate, ms, reason, ...end }) =>
    end.code === 0 && reason === undefined
      ? `gate '${gate}' passed after ${duration(ms)}`
      : `gate '${gate}' failed after ${duration(ms)}: ${reason ?? exit(end)}`,
  'task.ready': ({ commit, gates, red }) =>
    [
      `ready at ${short(commit)}`,
      gates.length > 0 ? `passed: ${gates.join(', ')}` : '',
      red ? redBefore(red) : '',
    ]
      .filter(Boolean)
      .join('; '),
  'task.red': ({ gate, reason }) => `gate '${gate}' failed: ${reason}`,
  'task.withdrawn': ({ commit, reason }) => `${short(commit)} is withdrawn: ${reason}`,
  'landing.claimed': ({ commit, target }) => `landing ${short(commit)} on ${target || 'the target'}`,
  'landing.tested': ({ merge, tip }) => `merge ${short(merge)} with ${short(tip)} passed`,
  'landing.landed': ({ merge, target, rule }) =>
    `landed on ${target} as ${short(merge)} (${landedRules[rule] ?? rule})`,
  'landing.failed': ({ failure }) => landingOf(failure),
  'teardown.asked': ({ mode }) => `removal asked by ${mode.by}`,
  'teardown.refused': ({ reason }) => `removal refused: ${reason}`,
  'teardown.stepped': ({ step, detail, leaves }) =>
    [removalDone[step], detail ?? '', leaves ? stashWords(leaves.stashes) : ''].filter(Boolean).join('; '),
  'work.saved': ({ id, ref, why }) => `work saved as ${id} in ${ref}: ${why}`,
  'saved.removed': ({ id, by }) => `saved work ${id} removed by ${by}`,
  'work.restored': ({ id, to }) => `saved work ${id} restored to ${to}`,
  'workspace.aside': ({ trash }) => `workspace moved aside to ${trash}`,
  'branch.deleted': ({ branch, commit, rule }) =>
    `branch ${branch} deleted at ${short(commit)}: ${branchRules[rule] ?? rule}`,
  'branch.kept': ({ branch, reason }) => `branch ${branch} kept: ${reason}`,
  'workspace.removed': ({ named }) =>
    `workspace removed${named.length > 0 ? `; still there: ${list(named.map(holder))}` : ''}`,
  'attention.raised': ({ reason }) => `needs a person: ${reason}`,
  'attention.cleared': ({ item }) => `${item} is cleared`,
  'attention.answered': ({ item, answer, by }) => `${by} answered ${item}: ${answer}`,
  'tool.called': ({ tool, paths, command, ok }) =>
    [tool, command, list(paths), ok === false ? 'failed' : ''].filter(Boolean).join(' '),
  'message.said': ({ role, text }) => `${role}: ${text}`,
  'engine.retried': ({ text }) => `engine tries again: ${text}`,
  'file.changed': ({ path, change, from }) => `${change} ${from === undefined ? '' : `${from} → `}${path}`,
  'commit.made': ({ commit, subject, by }) => `commit ${short(commit)} by ${by}: ${subject}`,
  'output.dropped': ({ bytes }) => `${bytes} bytes of output were dropped`,
  'output.marked': ({ offset }) => `output read to ${offset}`,
  'trespass.seen': ({ where, paths }) => `wrote outside its worktree (${where}): ${list(paths)}`,
  'notice.given': ({ text }) => text,
}

/** Every kind of fact. */
export const factKinds: readonly string[] = Object.keys(table)

/** One sentence, as it is: it may hold control characters and line ends that an agent put there. */
export const sentenceOf = (fact: Fact): string => (table[fact.kind] as (fact: Fact) => string)(fact)

/** Lines of output that belong to a fact. */
export function linesOf(fact: Fact): readonly string[] {
  switch (fact.kind) {
    case 'gate.exited':
    case 'setup.exited':
      return fact.tail
    case 'workspace.failed':
      return fact.tail ?? []
    case 'landing.failed':
      return 'tail' in fact.failure ? fact.failure.tail : []
    default:
      return []
  }
}

const short = (commit: string): string => commit.slice(0, 10)
const holder = ({ pid, command }: Holder): string => `${pid} ${command}`
const iso = (wall: number): string => new Date(wall).toISOString()
const of = (engine: string, account: string): string => (account === '' ? engine : `${engine} as ${account}`)

/** `90ms`, `4.2s`, `3m 5s`, `2h 10m`. */
export function duration(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)}ms`
  if (ms < 60_000) return `${(ms / 1_000).toFixed(1)}s`
  const minutes = Math.floor(ms / 60_000)
  if (minutes < 60) return `${minutes}m ${Math.floor((ms % 60_000) / 1_000)}s`
  return `${Math.floor(minutes / 60)}h ${minutes % 60}m`
}

function exit({
  code,
  signal,
  timedOut,
}: {
  code: number | null
  signal: string | null
  timedOut?: boolean
}): string {
  if (timedOut === true) return 'ran out of time'
  if (signal !== null) return `was ended by ${signal}`
  if (code === 0) return 'ended'
  return code === null ? 'ended, its exit code unknown' : `exited with ${code}`
}

function runEnd(end: RunEnd): string {
  switch (end.is) {
    case 'ended':
      return end.denied.length > 0 ? `done; denied: ${end.denied.join(', ')}` : 'done'
    case 'failed': {
      const reason = reasonText(end.reason)
      return end.evidence === '' || reason.includes(end.evidence) ? reason : `${reason} (${end.evidence})`
    }
    case 'limited':
      return noted('usage limit', end.evidence)
    case 'signed-out':
      return noted('signed out', end.evidence)
    case 'cut-off':
      return `cut off: ${end.reason}`
  }
}

function outcomeOf(outcome: Outcome): string {
  switch (outcome.is) {
    case 'done': {
      const { files, insertions, deletions } = outcome.changes
      const by = outcome.uncommitted ? ', committed by Berth' : ''
      return `its work is at ${short(outcome.commit)}: ${count(files, 'file')}, +${insertions} -${deletions}${by}`
    }
    case 'no-work':
      return outcome.commit === undefined
        ? 'it ended without any change'
        : `it ended without any change: its commits up to ${short(outcome.commit)} add up to nothing`
    case 'astray':
      return `it left HEAD at ${short(outcome.commit)}, ${outcome.on === null ? 'detached' : `on '${outcome.on}'`}`
    case 'failed':
      return `it failed: ${reasonText(outcome.reason)}`
    case 'limited':
      return noted('it was cut off by a usage limit', outcome.evidence)
    case 'signed-out':
      return noted('it was signed out', outcome.evidence)
    case 'stopped':
      return `it was ended: ${endWhys[outcome.why]}`
    case 'unknown':
      return `what it left could not be found out: ${failedWhile(outcome)}`
  }
}

function landingOf(failure: Landing): string {
  switch (failure.is) {
    case 'conflict':
      return `conflict with the target in ${list(failure.paths)}`
    case 'gate':
      return `gate '${failure.gate}' failed on the merge: ${failure.reason}`
    case 'target-red':
      return `gate '${failure.gate}' fails on the target itself: ${failure.reason}`
    case 'target-moved':
      return failure.tip === '' ? 'the target is gone' : `the target moved meanwhile to ${short(failure.tip)}`
    case 'target-busy':
      return `the checkout of the target is in the way: ${failure.reason}`
    case 'target-rewritten':
      return failure.tip === ''
        ? `the target is gone; it was at ${short(failure.was)}`
        : `the target was rewritten from ${short(failure.was)} to ${short(failure.tip)}`
    case 'protected':
      return `it changes protected paths: ${list(failure.paths)}`
    case 'branch-moved':
      return failure.found === ''
        ? `its branch is gone; it was at ${short(failure.expected)}`
        : `its branch was moved from ${short(failure.expected)} to ${short(failure.found)}`
    case 'failed':
      return `landing could not be done: ${failedWhile(failure)}`
  }
}
