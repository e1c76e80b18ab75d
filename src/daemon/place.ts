// The repository that a reading verb means, opened without a loop and without making anything.

import { openRepository, type Repository } from '../git/open.ts'
import { platform } from '../platform/platform.ts'
import { stateDirOf, statePaths } from '../store/paths.ts'

/** Throws what a repository can be refused for (docs/decisions/0034). */
export function repositoryAt(dir: string, env: { [name: string]: string | undefined }): Promise<Repository> {
  return openRepository(dir, { env, hooksDir: statePaths(stateDirOf(env, platform)).emptyHooks })
}
