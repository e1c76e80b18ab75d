// The stash: one for all worktrees of a repository, and so nothing that a removal may touch.

import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Git } from './git.ts'
import { fsPath } from './path.ts'

/** How many entries were made on a branch, by the messages that git gives them, or by somebody with this address. */
export async function stashesOf(
  { commonDir }: Git,
  { branch, email }: { branch: string; email: string },
): Promise<number> {
  const log = await readFile(fsPath(join(commonDir, 'logs', 'refs', 'stash')), 'utf8').catch(() => '')
  return log
    .split('\n')
    .filter(row =>
      [`\tWIP on ${branch}: `, `\tOn ${branch}: `, ` <${email}> `].some(part => row.includes(part)),
    ).length
}
