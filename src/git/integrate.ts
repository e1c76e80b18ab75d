// Integration: the merge built off to the side, and the target moved by compare-and-swap.

import { type Identity } from './commit.ts'
import { type Git } from './git.ts'
import { type Repository } from './open.ts'

export type MergeRequest = {
  /** The target's commit. */
  tip: string
  commit: string
  subject: string
  trailers: { [name: string]: string }
  author: Identity
  /** Undefined: the git identity of the person who runs Berth. */
  committer?: Identity
  signal?: AbortSignal
}

export type MergeOutcome =
  | { is: 'merged'; commit: string }
  | { is: 'conflict'; paths: string[] }
  /** The target contains it already. */
  | { is: 'already' }
  | { is: 'failed'; step: string; reason: string }

/**
 * Merges with a merge commit always, in an integration worktree of Berth's own, which then stands at the result.
 * What an earlier, cut-off merge left in that worktree is cleared first.
 */
export async function mergeInto(integration: Git, request: MergeRequest): Promise<MergeOutcome> {
  throw new Error(`not built: ${integration.dir} ${request.tip}`)
}

export type MoveRequest = { target: string; from: string; to: string; reason?: string; signal?: AbortSignal }

export type MoveOutcome =
  | { is: 'moved' }
  /** The checkout of the target has something in the way: nothing moved (docs/decisions/0021). */
  | { is: 'busy'; paths: string[]; reason: string }
  | { is: 'moved-meanwhile'; tip: string | null }
  | { is: 'failed'; step: string; reason: string }

/** Moves the local target branch from one commit to another, or says why not. */
export async function moveTarget(repo: Repository, request: MoveRequest): Promise<MoveOutcome> {
  throw new Error(`not built: ${repo.dir} ${request.target}`)
}
