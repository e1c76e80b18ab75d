// The repositories that this loop serves: opened once, with what is asked of each only now and then.

import { join } from 'node:path'
import { BerthError } from '../core/errors.ts'
import { type ProjectId } from '../core/event.ts'
import { type Fleet } from '../core/fleet.ts'
import { gitEnvironment } from '../git/git.ts'
import { openRepository, type Repository } from '../git/open.ts'
import { type RepositoryLock } from '../git/worktree.ts'
import { privateDir } from '../store/files.ts'
import { takeLock } from '../store/lock.ts'
import { type StatePaths } from '../store/paths.ts'
import { type Environment } from '../workspace/environment.ts'

export type Repositories = {
  /** The repository that `dir` lies in. Throws BerthError (docs/decisions/0034). */
  at(dir: string, caller: Environment): Promise<Repository>
  /** Of a known project, with the caller's environment. */
  of(project: ProjectId, fleet: Fleet, caller: Environment): Promise<Repository>
}

/** A repository's lock is held for one git command at a time; longer than this, something hangs. */
const lockMs = 120_000

export function openRepositories(paths: StatePaths): Repositories {
  const hooksDir = privateDir(paths.emptyHooks)
  const known = new Map<ProjectId, Repository>()
  const at = async (dir: string, caller: Environment): Promise<Repository> => {
    const repo = await openRepository(dir, { hooksDir, env: caller })
    known.set(repo.id, repo)
    return repo
  }
  return {
    at,
    of: async (id, fleet, caller) => {
      const before = known.get(id)
      if (before) return { ...before, env: gitEnvironment(caller) }
      const project = fleet.projects.get(id)
      if (!project) throw new BerthError('not-found', `no repository '${id}' is known`)
      const repo = await at(project.root, caller)
      if (repo.id !== id)
        throw new BerthError('not-found', `'${project.root}' is another repository now`, 'berth reconcile')
      return repo
    },
  }
}

/** One at a time per repository, over processes and state directories (docs/decisions/0037). */
export const repositoryLock: RepositoryLock = async (commonDir, fn) => {
  const folder = join(commonDir, 'berth')
  const lock = await takeLock(join(privateDir(folder), 'lock.db'), { waitMs: lockMs })
  if (!lock) throw new BerthError('git-busy', `another Berth holds '${folder}'`, 'berth doctor')
  try {
    return await fn()
  } finally {
    lock.release()
  }
}
