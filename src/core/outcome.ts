// How a run, a gate or a landing can end: the unions that callers branch on.

/** Summed over a run. Dollars as the engine says them; zero where it says none. */
export type Usage = { usd: number; inputTokens: number; outputTokens: number }

export const noUsage: Usage = { usd: 0, inputTokens: 0, outputTokens: 0 }

/** What an engine's adapter concludes from the stream, the exit and stderr; git has not been asked yet. */
export type RunEnd =
  | { is: 'ended'; text: string; /** Tools that were denied. */ denied: string[] }
  | { is: 'failed'; reason: string; evidence: string; transient: boolean; cause?: FailureCause }
  | { is: 'limited'; until: number | null; evidence: string }
  | { is: 'signed-out'; evidence: string }
  | { is: 'cut-off'; reason: string }

/**
 * Who said that it failed: the program by its exit code (reasonCode `exit`), or its service by an error
 * (`engine-error`; one that is not transient, such as a refused request, will not go away by itself).
 */
export type FailureCause = 'exit' | 'engine-error'

/** What became of a run, after its tree was ended and its worktree was looked at. */
export type Outcome =
  | {
      is: 'done'
      /** HEAD after Berth committed what was left. */
      commit: string
      changes: { files: number; insertions: number; deletions: number; commits: number }
      /** Berth committed the agent's uncommitted work (reasonCode `uncommitted-work`). */
      uncommitted: boolean
      /** Paths that Berth must not commit by itself (docs/decisions/0020): an item `decide`. */
      withheld: {
        path: string
        why: 'large' | 'secret' | 'ledger' | 'operation' | 'nested'
        /** The agent committed it: a link to a commit that only its worktree holds. */
        committed?: true
      }[]
    }
  | {
      is: 'no-work'
      denied: string[]
      escaped: string[]
      /** HEAD, where commits were made that add up to nothing; else it stands where it began. */
      commit?: string
    }
  /** It left HEAD elsewhere than on the task's branch. Nothing was committed and no branch moved. */
  | ({ is: 'astray' } & Astray)
  | {
      is: 'failed'
      reason: string
      evidence: string
      transient: boolean
      escaped: string[]
      cause?: FailureCause
      /** HEAD, where it made commits. */
      commit?: string
    }
  | { is: 'limited'; until: number | null; evidence: string }
  | { is: 'signed-out'; evidence: string }
  | { is: 'stopped'; why: 'stopped' | 'timeout' | 'budget' | 'interrupted' | 'removal'; commit?: string }
  | { is: 'unknown'; step: string; reason: string }

/** HEAD of a worktree and the branch that it should be on. */
export type Astray = {
  /** HEAD. */
  commit: string
  /** The branch that it is on instead; null: it is detached. */
  on: string | null
  /** Commits of HEAD that the task's branch lacks, and the other way round. A branch that is gone lacks them all. */
  ahead: number
  behind: number
  /** Something is not committed. */
  dirty: boolean
  /** An operation in progress, such as `rebase`. */
  operation?: string
  /** Why it could not be put back, although a person, or nothing at all, stood against it. */
  reason?: string
}

/** A gate that fails on a commit that holds nothing of the task, and how it failed there. `tip`: the commit. */
export type RedTarget = { gate: string; reason: string; tail: string[]; tip: string }

/** Why a landing did not happen. Nothing moved in any of these. */
export type Landing =
  /** `onto`: what it was merged with, by the name that a person would type. */
  | { is: 'conflict'; paths: string[]; tip: string; onto?: string }
  | { is: 'gate'; gate: string; reason: string; tail: string[]; tip: string }
  /** The target is red by itself: nobody is blamed (case 60). */
  | ({ is: 'target-red' } & RedTarget)
  | { is: 'target-moved'; tip: string }
  | { is: 'target-busy'; paths: string[]; reason: string }
  | { is: 'target-rewritten'; was: string; tip: string; left: string[] }
  | { is: 'protected'; paths: string[] }
  | { is: 'branch-moved'; expected: string; found: string }
  | { is: 'failed'; step: string; reason: string }
