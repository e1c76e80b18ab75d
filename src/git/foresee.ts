// Whether commits would merge onto a tip, one after the other, tried beside the repository: nothing of it is written.

import { BerthError } from '../core/errors.ts'
import { type Git, git, reasonOf } from './git.ts'
import { mergeTrees } from './merge-trees.ts'
import { commitTree, identityEnvironment } from './snapshot.ts'
import { withTempFolder } from './temp.ts'

export type Foreseen =
  | { is: 'merges' }
  /** The tip contains it. */
  | { is: 'already' }
  /** `after`: with the tip alone it would merge; it conflicts with one that comes before it. */
  | { is: 'conflict'; paths: string[]; after: boolean }
  | { is: 'unknown'; reason: string }

/** One answer for each commit, in order. What conflicts is left out of what the later ones are merged with. */
export function foreseeMerges(repo: Git, tip: string, commits: readonly string[]): Promise<Foreseen[]> {
  return withTempFolder(async objects => {
    const answers: Foreseen[] = []
    let at = tip
    for (const commit of commits) {
      const step = await stepOf(repo, at, commit, objects)
      if (step.is === 'merges') at = step.commit
      const { is } = step
      if (is === 'merges') answers.push({ is })
      else if (is !== 'conflict') answers.push(step)
      else {
        const alone = at === tip ? undefined : await mergeTrees(repo, tip, commit, { objects })
        answers.push({ ...step, after: alone?.is === 'merged' })
      }
    }
    return answers
  })
}

type Step = Exclude<Foreseen, { is: 'merges' }> | { is: 'merges'; commit: string }

async function stepOf(repo: Git, tip: string, commit: string, objects: string): Promise<Step> {
  const contained = await git(repo, ['merge-base', '--is-ancestor', commit, tip], { objects })
  if (contained.code === 0) return { is: 'already' }
  if (contained.code !== 1) return { is: 'unknown', reason: reasonOf(contained) }
  const merged = await mergeTrees(repo, tip, commit, { objects })
  if (merged.is === 'conflict') return { ...merged, after: false }
  if (merged.is === 'failed') return { is: 'unknown', reason: merged.reason }
  try {
    const request = { tree: merged.tree, parents: [tip, commit], message: 'foreseen', env: nobody, objects }
    return { is: 'merges', commit: await commitTree(repo, request) }
  } catch (error) {
    if (!(error instanceof BerthError)) throw error
    return { is: 'unknown', reason: error.message }
  }
}

const berth = { name: 'Berth', email: 'berth@localhost' }
const nobody = identityEnvironment(berth, berth)
