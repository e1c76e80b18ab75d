// A repository that was moved: its tasks are recorded under the place where it was, and its worktrees point there.

import { existsSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { BerthError } from '../core/errors.ts'
import { type Fleet } from '../core/fleet.ts'
import { shellWord } from '../core/shellword.ts'
import { type Repository } from '../git/open.ts'
import { readMarker } from '../workspace/site.ts'

/** Throws `not-found` with the way back, if the marks in its worktrees' entries name a project that is gone. */
export async function refuseMoved(
  { id, root, commonDir }: Pick<Repository, 'id' | 'root' | 'commonDir'>,
  { projects, live, tasks }: Fleet,
): Promise<void> {
  if (projects.has(id)) return
  const entries = join(commonDir, 'worktrees')
  for (const name of await readdir(entries).catch(() => [])) {
    const found = await readMarker(join(entries, name))
    const was = found.is === 'marker' ? projects.get(found.marker.project) : undefined
    if (was === undefined || existsSync(was.root)) continue
    // Nothing of it is under way: it is a repository like any other here.
    if (![...live].some(key => tasks.get(key)?.project === was.id)) continue
    throw new BerthError(
      'not-found',
      `'${root}' was '${was.root}' when Berth last saw it, and its tasks and worktrees point there`,
      `mv ${shellWord(root)} ${shellWord(was.root)}`,
    )
  }
}
