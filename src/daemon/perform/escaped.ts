// What changed in the person's checkout while a run was at work that left nothing in its own worktree (case 49).

import { lstatSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { changesSince, pathsCommittedBy } from '../../git/changes.ts'
import { type Git, inDirectory } from '../../git/git.ts'
import { type Run } from '../../core/run.ts'
import { type Task } from '../../core/task.ts'
import { identityOf } from '../../workspace/environment.ts'
import { type Site } from '../../workspace/site.ts'

type Ran = { site: Site; run: Run; record: Pick<Task, 'name'> }

const pathsMax = 20
/** File times are coarser than the clock of the facts. */
const slackMs = 50

/**
 * What is committed there under the identity of the task, then by the time of the last change what is not committed;
 * a person who worked meanwhile is named too.
 */
export async function escapedPaths({ site, run, record }: Ran): Promise<string[]> {
  const { repo } = site
  const { base, claimed, state } = run
  if (repo.bare || state.phase !== 'over') return []
  const checkout = inDirectory(repo, repo.root)
  const { email } = identityOf(record.name)
  // From the claim: the program was at work before its start could be recorded.
  const [from, to] = [claimed.at - slackMs, state.ended.since.at + slackMs]
  const [committed, loose] = await Promise.all([
    base === undefined ? [] : pathsCommittedBy(checkout, email, base, 'HEAD'),
    loosePaths(checkout, from, to),
  ])
  return [...new Set([...committed, ...loose])].slice(0, pathsMax)
}

async function loosePaths(checkout: Git, from: number, to: number): Promise<string[]> {
  const changes = await changesSince(checkout, 'HEAD')
  if (changes.is === 'unknown') return []
  return changes.paths
    .filter(({ path }) => {
      const at = changedAt(join(checkout.dir, path))
      return at !== undefined && at >= from && at <= to
    })
    .map(({ path }) => path)
}

/** Of a deleted file: of the folder that it lay in. */
function changedAt(path: string): number | undefined {
  for (const place of [path, dirname(path)]) {
    try {
      return lstatSync(place).ctimeMs
    } catch {
      // It is gone: the folder tells.
    }
  }
  return undefined
}
