// Listing, and removing, all that Berth ever made for one repository: the way to uninstall.

import { type RunRecord, type Site, type Voice, type WorkspaceRecord } from './site.ts'

export type PurgeAnswer = { would: string[]; removed: string[]; kept: { what: string; reason: string }[] }

/** Without `yes` it only lists. What would lose work is kept, and said. */
export async function purge(
  _site: Site,
  _records: (WorkspaceRecord & { runs: RunRecord[]; commit?: string; target: string })[],
  _options: { yes: boolean },
  _voice: Voice,
): Promise<PurgeAnswer> {
  throw new Error('not built')
}
