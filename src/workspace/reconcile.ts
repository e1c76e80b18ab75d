// Comparing the records with git, the disk and live processes: every difference in one sentence.

import { type DifferenceView } from '../core/api.ts'
import { type Site, type WorkspaceRecord } from './site.ts'

/**
 * Every difference, each with one next command. With `fix`, what is provably ours is put right (`fixed`).
 * Without it nothing is written and no process is ended: reading verbs use it on every read.
 */
export async function reconcile(
  _site: Site,
  _records: (WorkspaceRecord & { removing: boolean; preparing: boolean; commit?: string })[],
  _options: { fix: boolean },
): Promise<DifferenceView[]> {
  throw new Error('not built')
}
