// All that a task owns on disk, from its claim to its removal: facts folded.

import { type Event, type Holder, type Loss, type TeardownMode, type TeardownStep } from './event.ts'
import { type Moment, momentOf } from './run.ts'

type Origin = { base: string; baseRule: string; target?: string }

type Place = {
  path: string
  branch: string
  home: string
  since: Moment
  /** Where its work began, if it is being made again. */
  origin?: Origin
}

export type Workspace =
  /** `loop` counts the loops of this state directory: one of an earlier loop was cut off. */
  | (Place & { phase: 'claimed'; loop: number; setup?: { command: string; index: number } })
  | (Place & {
      phase: 'ready'
      base: string
      baseRule: string
      target?: string
      tookUp: number
      ports: number[]
      notices: string[]
    })
  /** Taken back, but for a failed setup, which keeps it. `retry`: a person asked for it once more. */
  | (Place & { phase: 'failed'; step: string; reason: string; hint?: string; tail: string[]; retry: boolean })
  /** What was made of it could not be taken back. */
  | (Place & { phase: 'stuck'; step: string; reason: string; holders: Holder[]; retry: boolean })
  /** Base and target are for the branch, which may have been kept. */
  | (Place & { phase: 'removed'; base?: string; target?: string })

export type Removal =
  | { phase: 'asked'; mode: TeardownMode; since: Moment; step?: TeardownStep }
  | {
      phase: 'refused'
      mode: TeardownMode
      since: Moment
      code: string
      reason: string
      hint?: string
      losses: Loss[]
      holders: Holder[]
    }
  | { phase: 'stuck'; mode: TeardownMode; since: Moment; step: string; reason: string; holders: Holder[] }
  | { phase: 'done'; mode: TeardownMode; since: Moment; named: Holder[] }

/** A plain `berth rm`: nothing is lost, nothing alive is ended. */
export const plainRemoval: TeardownMode = {
  save: false,
  discard: false,
  branch: false,
  stop: false,
  unlock: false,
  by: 'person',
}

/** The clean-up after a landing (docs/decisions/0007): saves by itself, and the integrated branch goes too. */
export const landingRemoval: TeardownMode = {
  save: true,
  discard: false,
  branch: true,
  stop: false,
  unlock: false,
  by: 'landing',
}

/** Steps after which a removal is only finished, never taken back. */
const pastReturn = new Set(['unregister', 'delete', 'branch', 'release'])

/** Whether the next start of Berth goes on with it by itself. */
export const goesOnAtStart = (removal: Removal | undefined): boolean =>
  removal?.phase === 'stuck' && pastReturn.has(removal.step)

export function applyWorkspace(
  workspace: Workspace | undefined,
  event: Event,
  loop: number,
): Workspace | undefined {
  const since = momentOf(event)
  switch (event.kind) {
    case 'workspace.claimed': {
      const { path, branch, home } = event
      const origin = workspace?.origin === undefined ? {} : { origin: workspace.origin }
      return { phase: 'claimed', path, branch, home, since, loop, ...origin }
    }
    case 'workspace.missing':
      return workspace?.phase === 'ready' ? toMakeAgain(workspace, event.reason, since) : workspace
    case 'workspace.ready': {
      const { path, branch, home, base, baseRule, notices } = event
      const target = event.target === undefined ? {} : { target: event.target }
      return {
        phase: 'ready',
        path,
        branch,
        home,
        since,
        base,
        baseRule,
        notices,
        tookUp: event.tookUp ?? 0,
        ports: event.ports ?? [],
        ...target,
      }
    }
    case 'setup.started':
      if (workspace?.phase !== 'claimed') return workspace
      return { ...workspace, setup: { command: event.command, index: event.index } }
    case 'workspace.failed': {
      if (workspace?.phase !== 'claimed') return workspace
      const { step, reason, tail = [] } = event
      return {
        ...placeOf(workspace),
        phase: 'failed',
        since,
        step,
        reason,
        tail,
        retry: false,
        ...(event.hint === undefined ? {} : { hint: event.hint }),
      }
    }
    case 'workspace.stuck': {
      if (workspace?.phase !== 'claimed') return workspace
      const { step, reason, holders } = event
      return { ...placeOf(workspace), phase: 'stuck', since, step, reason, holders, retry: false }
    }
    case 'workspace.removed':
      return workspace === undefined
        ? undefined
        : { ...placeOf(workspace), ...groundOf(workspace), phase: 'removed', since }
    default:
      return workspace
  }
}

function toMakeAgain(was: Workspace & { phase: 'ready' }, reason: string, since: Moment): Workspace {
  const { base, baseRule, target } = was
  const origin = { base, baseRule, ...(target === undefined ? {} : { target }) }
  return { ...placeOf(was), phase: 'failed', since, step: 'missing', reason, tail: [], retry: true, origin }
}

export function applyRemoval(removal: Removal | undefined, event: Event): Removal | undefined {
  const since = momentOf(event)
  if (event.kind === 'teardown.asked') return { phase: 'asked', mode: event.mode, since }
  if (event.kind === 'workspace.removed')
    return { phase: 'done', mode: removal?.mode ?? plainRemoval, since, named: event.named }
  // What stood against an earlier wish was so then: the clean-up after the landing looks for itself.
  if (event.kind === 'landing.landed' && removal?.phase === 'refused') return undefined
  if (removal?.phase !== 'asked') return removal
  const { mode } = removal
  switch (event.kind) {
    case 'teardown.stepped':
      return { ...removal, step: event.step }
    case 'teardown.refused': {
      const { code, reason, losses, holders } = event
      return {
        phase: 'refused',
        mode,
        since,
        code,
        reason,
        losses,
        holders,
        ...(event.hint === undefined ? {} : { hint: event.hint }),
      }
    }
    case 'workspace.stuck':
      return { phase: 'stuck', mode, since, step: event.step, reason: event.reason, holders: event.holders }
    default:
      return removal
  }
}

/** The workspace once a person asked for it again: what failed or was held is to be made once more. */
export function madeAgain(workspace: Workspace | undefined): Workspace | undefined {
  if (workspace?.phase === 'failed' || workspace?.phase === 'stuck') return { ...workspace, retry: true }
  return workspace
}

/** The workspace whose making was put off: what an earlier making left there is still to be removed one day. */
export function putOff(workspace: Workspace | undefined, reason: string): Workspace | undefined {
  if (workspace?.phase !== 'claimed') return workspace
  return { ...placeOf(workspace), phase: 'failed', step: 'held', reason, tail: [], retry: true }
}

/** Where its branch began, and what it is for. */
export function groundOf(workspace: Workspace): { base?: string; target?: string } {
  const ground = workspace.phase === 'ready' || workspace.phase === 'removed' ? workspace : workspace.origin
  const { base, target } = ground ?? {}
  return { ...(base === undefined ? {} : { base }), ...(target === undefined ? {} : { target }) }
}

const placeOf = ({ path, branch, home, since, origin }: Workspace): Place => ({
  path,
  branch,
  home,
  since,
  ...(origin === undefined ? {} : { origin }),
})
