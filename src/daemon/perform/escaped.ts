// What changed in the person's checkout while a run was at work that left nothing in its own worktree (case 49).

import { lstatSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { changesSince } from '../../git/changes.ts'
import { inDirectory } from '../../git/git.ts'
import { type Run } from '../../core/run.ts'
import { type Site } from '../../workspace/site.ts'

const pathsMax = 20
/** File times are coarser than the clock of the facts. */
const slackMs = 50

/** By the time of the last change of what is not committed there; a person who worked meanwhile is named too. */
export async function escapedPaths({ site, run }: { site: Site; run: Run }): Promise<string[]> {
  const { repo } = site
  if (repo.bare || run.state.phase !== 'over') return []
  const changes = await changesSince(inDirectory(repo, repo.root), 'HEAD')
  if (changes.is === 'unknown') return []
  // From the claim: the program was at work before its start could be recorded.
  const [from, to] = [run.claimed.at - slackMs, run.state.ended.since.at + slackMs]
  return changes.paths
    .filter(({ path }) => {
      const at = changedAt(join(repo.root, path))
      return at !== undefined && at >= from && at <= to
    })
    .map(({ path }) => path)
    .slice(0, pathsMax)
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
