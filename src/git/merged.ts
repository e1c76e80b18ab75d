// Merged, or not: no single test says it, so they are asked in order and the one that decided is returned.

import { type Git } from './git.ts'

export type MergedRule =
  | 'empty'
  | 'same'
  | 'ancestor'
  | 'no-change'
  | 'tree'
  | 'rebased'
  | 'squashed'
  | 'none'
  | 'unknown'

export type Merged = { is: boolean; rule: MergedRule; /** Commits that the target lacks. */ commits: number }

/**
 * Whether the content of `commit` is in `target` (docs/safety.md, "Merged, or not"). `base` is where the branch
 * began: a branch still there is `empty`, not merged. Unknown is not merged.
 */
export async function mergedness(
  at: Git,
  request: { commit: string; target: string; base?: string; signal?: AbortSignal },
): Promise<Merged> {
  throw new Error(`not built: ${at.dir} ${request.commit}`)
}
