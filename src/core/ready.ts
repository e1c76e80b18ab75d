// Where a task with verified work is: on its way to the target, or what keeps it from there.

import { type ReasonCode } from './api.ts'
import { type Fleet, policyOf } from './fleet.ts'
import { type LandingState } from './landing.ts'
import { type Landing, type RedTarget } from './outcome.ts'
import { type Failing, gateEvidence, pauseMs } from './recover.ts'
import { type Moment } from './run.ts'
import { type Task, type Verification, isApproved } from './task.ts'
import { type Evidence, failedWhile, list, redBefore } from './words.ts'

/** Why a ready task that is wanted on the target is not going there. */
export type Block = { code: ReasonCode; sentence: string; evidence: Evidence[] }

export type Ready = {
  is: 'ready'
  verification: Verification & { is: 'ready' }
  /** Somebody wants it on the target. */
  wanted: boolean
  block?: Block
  /** It is not tried before, awake ms. */
  at: number
}

export function readyStage(
  fleet: Fleet,
  task: Task,
  verification: Verification & { is: 'ready' },
): Ready | Failing {
  const { landing, spec } = task
  const wanted = spec.land === 'auto' || task.landAsked !== undefined
  const ready: Ready = { is: 'ready', verification, wanted, at: 0 }
  if (landing?.phase === 'failed')
    return unlandable(fleet, task, landing) ?? again(fleet, task, landing, ready)
  const { red } = verification
  if (red !== undefined) {
    const stays = !wanted && isRed(fleet, task, { ...red, since: verification.since })
    return stays ? { ...ready, block: redBlock(task, red, redBefore(red)) } : ready
  }
  const unseen = verification.uncommitted && verification.gates.length === 0
  if (!unseen || isApproved(task, verification.commit, 'uncommitted-work')) return ready
  const sentence = 'Berth committed what the agent left, and no gate has seen it'
  return { ...ready, block: { code: 'uncommitted-work', sentence, evidence: commits([verification.commit]) } }
}

/** Whether a person is asked about what blocks it: where it is to land, or a red target kept it from being judged. */
export const asksPerson = ({ wanted, block }: Ready): boolean => wanted || block?.code === 'target-red'

type FailedLanding = LandingState & { phase: 'failed' }

const triesOf = (fleet: Fleet, task: Task): number => policyOf(fleet, task)?.landingTries ?? 1

function unlandable(fleet: Fleet, task: Task, { failure, tries }: FailedLanding): Failing | undefined {
  switch (failure.is) {
    case 'conflict': {
      const sentence = `it conflicts with the target in ${list(failure.paths)}`
      return {
        is: 'failed',
        code: 'conflict',
        sentence,
        evidence: pathsOf(failure.paths),
        paths: failure.paths,
        ...(failure.onto === undefined ? {} : { onto: failure.onto }),
      }
    }
    case 'gate': {
      const sentence = `gate '${failure.gate}' failed on the merge with the target: ${failure.reason}`
      return { is: 'failed', code: 'gate', sentence, evidence: gateEvidence(task, failure) }
    }
    case 'failed':
      if (tries < triesOf(fleet, task)) return undefined
      return { is: 'failed', code: 'unknown', sentence: failedWhile(failure), evidence: [] }
    default:
      return undefined
  }
}

function again(fleet: Fleet, task: Task, landing: FailedLanding, ready: Ready): Ready {
  const { failure } = landing
  const block = blockOf(task, failure, landing.tries)
  switch (failure.is) {
    case 'target-moved':
      return landing.tries < triesOf(fleet, task) ? ready : { ...ready, block }
    case 'target-red':
      return isRed(fleet, task, { ...failure, since: landing.since }) ? { ...ready, block } : ready
    case 'protected':
      return isApproved(task, landing.commit, 'protected') ? ready : { ...ready, block }
    case 'failed': {
      const policy = policyOf(fleet, task)
      const pause = policy === undefined ? 0 : pauseMs(policy, landing.tries, landing.commit)
      return { ...ready, at: landing.since.awake + pause }
    }
    default:
      return { ...ready, block }
  }
}

/** Where its work lands. */
export function targetOf(fleet: Fleet, task: Task): string {
  const { workspace } = task
  const known = workspace?.phase === 'ready' ? workspace.target : undefined
  return known ?? policyOf(fleet, task)?.target ?? ''
}

/** Whether nothing was seen of the target since that is not red there, as far as is known. */
function isRed(fleet: Fleet, task: Task, { tip, since }: { tip: string; since: Moment }): boolean {
  const now = fleet.projects.get(task.project)?.tip
  return (
    now === undefined || now.target !== targetOf(fleet, task) || now.commit === tip || now.seq < since.seq
  )
}

const redBlock = (task: Task, red: RedTarget, sentence: string): Block => ({
  code: 'target-red',
  sentence,
  evidence: [...commits([red.tip]), ...gateEvidence(task, red)],
})

function blockOf(task: Task, failure: Landing, tries: number): Block {
  switch (failure.is) {
    case 'target-red':
      return redBlock(task, failure, `gate '${failure.gate}' fails on the target itself: ${failure.reason}`)
    case 'target-moved': {
      const sentence = `the target moved during each of ${tries} tries`
      return { code: 'target', sentence, evidence: commits([failure.tip]) }
    }
    case 'target-busy': {
      const [first] = failure.paths
      const named = first === undefined || failure.reason.includes(first)
      const sentence = named ? failure.reason : `${failure.reason}: ${list(failure.paths)}`
      return { code: 'target-busy', sentence, evidence: pathsOf(failure.paths) }
    }
    case 'target-rewritten': {
      const was = failure.was.slice(0, 10)
      const sentence =
        failure.tip === ''
          ? `the target is gone; it was at ${was}`
          : `the target was rewritten: ${failure.tip.slice(0, 10)} does not contain ${was}`
      return { code: 'target', sentence, evidence: commits(failure.left) }
    }
    case 'protected': {
      const sentence = `it changes what the repository protects: ${list(failure.paths)}`
      return { code: 'protected', sentence, evidence: pathsOf(failure.paths) }
    }
    case 'branch-moved': {
      const was = failure.expected.slice(0, 10)
      const sentence =
        failure.found === ''
          ? `its branch is gone; it was verified at ${was}`
          : `its branch was moved: it is at ${failure.found.slice(0, 10)}, and was verified at ${was}`
      return { code: 'decide', sentence, evidence: commits([failure.found || failure.expected]) }
    }
    case 'conflict':
    case 'gate':
    case 'failed':
      return { code: 'unknown', sentence: failure.is, evidence: [] }
  }
}

const pathsOf = (paths: readonly string[]): Evidence[] => paths.map(text => ({ kind: 'path', text }))
const commits = (ids: readonly string[]): Evidence[] => ids.map(text => ({ kind: 'commit', text }))
