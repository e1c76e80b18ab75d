// What stands in a workspace that is to go: its processes first, then its files.

import { type Loss } from '../core/event.ts'
import { inspectHalfMade } from '../git/half.ts'
import { type BranchRequest, fateOfBranch } from './branch.ts'
import { lookAround, type Occupied } from './holders.ts'
import { type Inventory, takeInventory } from './keep.ts'
import { isMarked, type OnDisk } from './refuse.ts'
import { type Work } from './removal.ts'
import { type WorkspaceRecord } from './site.ts'

/** What stands in the workspace; without an inventory it cannot be saved, only given up. */
export type Stock = { losses: Loss[]; inventory?: Inventory }

/** One look at processes and, after it, at files: what is not alive now writes nothing while files are looked at. */
export type View = { occupied: Occupied; stock: Promise<Stock> }

/** Looked at before git has listed, where the mark says that it is ours. */
export function lookAhead(work: Work, disk: OnDisk): View | undefined {
  const { input } = work
  if (disk.marker.is !== 'marker' || !isMarked(input, input, disk)) return undefined
  const { base, target, madeAt } = disk.marker.marker
  Object.assign(work, { base, target, halfMade: disk.locked === 'initializing' })
  if (disk.directory.is !== 'there') return undefined
  return glance(work, disk, madeAt)
}

export function glance(work: Work, disk: Pick<OnDisk, 'entryDir'>, madeAt: number): View {
  const { input } = work
  const occupied = lookAround(input, { ...input, path: input.workspace.path, since: madeAt })
  const stock = takeStock(work, disk.entryDir)
  stock.catch(() => undefined)
  void fateOfBranch(input, branchRequest(work)).catch(() => undefined)
  return { occupied, stock }
}

export const lostEntry: Loss = { kind: 'unknown', count: 1, examples: ["git's own entry of it is gone"] }

export async function takeStock(work: Work, entryDir: string | undefined): Promise<Stock> {
  const { input } = work
  if (entryDir === undefined) return { losses: [lostEntry] }
  const { path, branch } = input.workspace
  if (input.workspace.base === undefined || work.halfMade === true) {
    const half = await inspectHalfMade(input.repo, { path, branch, base: work.base ?? 'HEAD' })
    if (half.is === 'half') return { losses: lossOfHalf(half.unique) }
  }
  const inventory = await takeInventory(input, {
    ...whereTo(work),
    task: input.task,
    branch: input.mode.branch && !input.mode.discard,
    asked: work.asked,
  })
  return { losses: inventory.losses, inventory }
}

/** Base and target by the records, else by the marker. */
export function whereTo({ input, base, target }: Work): { workspace: WorkspaceRecord; target: string } {
  const from = input.workspace.base ?? base
  const workspace = from === undefined ? input.workspace : { ...input.workspace, base: from }
  return { workspace, target: (input.target === '' ? target : input.target) ?? '' }
}

/** What is asked about its branch. */
export const branchRequest = (work: Work): BranchRequest => ({
  ...work.input,
  ...whereTo(work),
  asked: work.asked,
  ...(work.known === undefined ? {} : { worktrees: work.known }),
})

/** Files beyond the beginning of what the commit holds; the deletions that git sees are none (case 19). */
const lossOfHalf = (unique: string[]): Loss[] =>
  unique.length === 0 ? [] : [{ kind: 'untracked', count: unique.length, examples: unique.slice(0, 20) }]
