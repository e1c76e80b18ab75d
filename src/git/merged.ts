// Merged, or not: no single test says it, so they are asked in order and the one that decided is returned.

import { type Git, git, type GitOptions, type GitResult, inRepository } from './git.ts'
import { mergeTrees } from './merge-trees.ts'
import { withTempFolder } from './temp.ts'

export type MergedRule =
  /** Nothing was committed since the branch began: not merged, nothing to lose. */
  | 'empty'
  | 'same'
  | 'ancestor'
  /** Its commits together change nothing against the merge base. */
  | 'no-change'
  /** Merging it would leave the target as it is. */
  | 'tree'
  /** Each of its changes is in the target as a commit of its own. */
  | 'rebased'
  /** All of its changes together are in the target as one commit. */
  | 'squashed'
  | 'none'
  | 'unknown'

export type Merged = {
  is: boolean
  rule: MergedRule
  /** Commits that the target lacks. */
  commits: number
}

export type MergedRequest = {
  commit: string
  target: string
  /** Where the branch began. Without it a branch on the target's own line counts as empty. */
  base?: string
  signal?: AbortSignal
}

/**
 * Whether the content of `commit` is in `target` (docs/safety.md, "Merged, or not"). Unknown is not merged. Adds no
 * object to the repository.
 */
export async function mergedness(repo: Git, request: MergedRequest): Promise<Merged> {
  const { commit, target, base } = request
  // It never left the place where it began, and that is where the target stands.
  if (base === commit && target === commit) return { is: false, rule: 'empty', commits: 0 }
  const at = inRepository(repo)
  return withTempFolder(async objects => {
    const options: GitOptions = {
      objects,
      timeoutMs: 60_000,
      ...(request.signal ? { signal: request.signal } : {}),
    }
    const ask = (...args: string[]): Promise<GitResult> => git(at, args, options)
    const counted = await ask('rev-list', '--count', `${target}..${commit}`)
    if (counted.code !== 0) return { is: false, rule: 'unknown', commits: 0 }
    const commits = Number(textOf(counted))
    if (commits === 0) return { ...(await contained(request, ask)), commits }
    return { ...(await byContent(at, { request, ask, options })), commits }
  })
}

type Ask = (...args: string[]) => Promise<GitResult>
type Answer = Pick<Merged, 'is' | 'rule'>

const textOf = (result: GitResult): string => result.out.toString('utf8').trimEnd()
const linesOf = (result: GitResult): string[] => textOf(result).split('\n').filter(Boolean)
const yes = (rule: MergedRule): Answer => ({ is: true, rule })
const no = (rule: MergedRule): Answer => ({ is: false, rule })

/** Every commit is in the target: landed there, or never begun. */
async function contained({ commit, target, base }: MergedRequest, ask: Ask): Promise<Answer> {
  if (base !== undefined && base === commit) return no('empty')
  const [one, other] = await Promise.all([
    ask('rev-parse', `${commit}^{commit}`),
    ask('rev-parse', `${target}^{commit}`),
  ])
  if (one.code !== 0 || other.code !== 0) return no('unknown')
  if (base !== undefined) {
    const begun = await ask('rev-list', '--count', `${base}..${commit}`)
    if (begun.code !== 0) return no('unknown')
    if (Number(textOf(begun)) === 0) return no('empty')
    return yes(textOf(one) === textOf(other) ? 'same' : 'ancestor')
  }
  // Where it began is not known: a branch on the target's first-parent line may never have had a commit.
  const mainLine = await ask('rev-list', '--first-parent', target)
  if (mainLine.code !== 0) return no('unknown')
  return linesOf(mainLine).includes(textOf(one)) ? no('empty') : yes('ancestor')
}

async function byContent(
  at: Git,
  { request, ask, options }: { request: MergedRequest; ask: Ask; options: GitOptions },
): Promise<Answer> {
  const { commit, target } = request
  const found = await ask('merge-base', target, commit)
  if (found.code !== 0) return no(found.code === 1 ? 'none' : 'unknown')
  const fork = textOf(found)
  const trees = await ask('rev-parse', `${fork}^{tree}`, `${commit}^{tree}`, `${target}^{tree}`)
  const [before, after, now] = linesOf(trees)
  if (trees.code !== 0 || !before || !after || !now) return no('unknown')
  if (before === after) return yes('no-change')
  const merged = await mergeTrees(at, target, commit, options)
  if (merged.is === 'failed') return no('unknown')
  if (merged.is === 'merged' && merged.tree === now) return yes('tree')
  const merges = await ask('rev-list', '--min-parents=2', '--count', `${fork}..${commit}`)
  if (merges.code !== 0) return no('unknown')
  // A merge commit may hold changes of its own, which no patch id of a single commit shows.
  if (Number(textOf(merges)) === 0) {
    const cherry = await ask('cherry', target, commit)
    if (cherry.code !== 0) return no('unknown')
    const rows = linesOf(cherry)
    if (rows.length > 0 && rows.every(row => row.startsWith('- '))) return yes('rebased')
  }
  return squashed({ target, fork, tree: after, ask })
}

/** The whole change as one throw-away commit, looked for among the target's. */
async function squashed({
  target,
  fork,
  tree,
  ask,
}: {
  target: string
  fork: string
  tree: string
  ask: Ask
}): Promise<Answer> {
  const identity = ['-c', 'user.name=berth', '-c', 'user.email=berth@berth.invalid']
  const made = await ask(...identity, 'commit-tree', tree, '-p', fork, '-m', 'berth: the whole change')
  if (made.code !== 0) return no('unknown')
  const cherry = await ask('cherry', target, textOf(made))
  if (cherry.code !== 0) return no('unknown')
  return textOf(cherry).startsWith('- ') ? yes('squashed') : no('none')
}
