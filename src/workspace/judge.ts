// Step 1 of a removal: whether it may begin, and, for one who only asks, how it would end. Nothing is changed.

import { lstat } from 'node:fs/promises'
import { type BranchFate, type Loss } from '../core/event.ts'
import { shellWord } from '../core/shellword.ts'
import { listWorktrees } from '../git/list.ts'
import { recordedTrash, type Trash, trashFor } from './aside.ts'
import { fateOfBranch } from './branch.ts'
import { type Occupied } from './holders.ts'
import { commitsOfReflog, lossesOfEntry } from './keep.ts'
import { whereMoved } from './missing.ts'
import {
  type Found,
  findOnDisk,
  judgeFound,
  pointsHere,
  refusalByGit,
  refusalByHolders,
  refusalByLoss,
  refusalByUse,
  type Refusal,
  rmCommand,
} from './refuse.ts'
import { beginWork, type TeardownInput, type Work } from './removal.ts'
import { type Voice } from './site.ts'
import { branchRequest, glance, lookAhead, lostEntry, type Stock } from './view.ts'

export type Foresight =
  | { is: 'refused'; refusal: Refusal }
  /** `quiet`: commits that only its reflog names, which are saved without asking. */
  | { is: 'goes'; branch: BranchFate | undefined; quiet: number }

/** How `teardown` would end, as far as that can be told beforehand. Nothing is changed. */
export async function foresee(input: TeardownInput): Promise<Foresight> {
  const work = beginWork(input, silence)
  const judged = await judge(work)
  if (judged.is === 'refused') return judged
  const branch = await fateOfBranch(input, branchRequest(work))
  const quiet = judged.is === 'there' ? judged.stock.inventory?.survey.quiet : judged.quiet
  return { is: 'goes', branch, quiet: input.mode.discard ? 0 : (quiet ?? []).length }
}

const silence: Voice = { signal: new AbortController().signal, onFact: async () => undefined }

export type Judged =
  | { is: 'refused'; refusal: Refusal }
  | { is: 'there'; found: Found; trash: Trash; occupied: Occupied; stock: Stock }
  | { is: 'absent'; trash: Trash; quiet: string[] }

/** Step 1 of a removal: whose it is, whether the path is sane, who uses it, what would be lost. */
export async function judge(work: Work): Promise<Judged> {
  const { input } = work
  // Git lists while the files are read and the processes are looked at: a removal is mostly waiting for these.
  const listing = listWorktrees(input.repo)
  const disk = await findOnDisk(input, input)
  const early = lookAhead(work, disk)
  const list = await listing
  const looked = await judgeFound(input, input, { disk, list })
  if (looked.is === 'refused') return looked
  const { found } = looked
  const used = await refusalByUse(input, input, found)
  if (used !== undefined) return { is: 'refused', refusal: used }
  const key = `${input.stateId}/${input.project}/${input.task}/${found.madeAt}`
  const trash = input.trash === undefined ? trashFor(input, input.workspace, key) : recordedTrash(input.trash)
  if (list.is === 'list' && found.directory === 'there') work.known = list.entries
  if (found.directory === 'absent') return judgeAbsent(work, trash, found)
  if (found.entryDir === undefined && (await pointsHere(input, input.workspace.path)) === undefined)
    return { is: 'refused', refusal: notOurs(input) }
  const { occupied, ...view } = early ?? glance(work, disk, found.madeAt)
  const stock = await view.stock
  const refusal =
    refusalByHolders(input, occupied) ??
    (await refusalByGit(input, occupied, found.entryDir)) ??
    refusalByLoss(input, stock.losses)
  return refusal === undefined ? { is: 'there', found, trash, occupied, stock } : { is: 'refused', refusal }
}

/** The directory is not there: moved aside by an earlier attempt, or gone by another hand. Its entry may hold work. */
async function judgeAbsent({ input }: Work, trash: Trash, { entryDir }: Found): Promise<Judged> {
  const no = (refusal: Refusal): Judged => ({ is: 'refused', refusal })
  const moved = await whereMoved(input, { task: input.task, path: input.workspace.path, entryDir })
  if (moved !== undefined) return no({ code: 'refused', ...moved, losses: [], holders: [] })
  if (entryDir === undefined || input.mode.discard || (await isThere(trash.dir)))
    return { is: 'absent', trash, quiet: [] }
  const unknown = (reason: string): Loss => ({ ...lostEntry, examples: [reason] })
  if (!(await isThere(trash.root)))
    return no({ ...notThere(input), losses: [unknown(notThere(input).reason)] })
  const reflog = await commitsOfReflog(input, entryDir)
  const losses = await lossesOfEntry(input, entryDir)
  if (reflog.is === 'unknown') losses.push(unknown(reflog.reason))
  const refusal = refusalByLoss({ ...input, mode: { ...input.mode, save: false } }, losses)
  if (refusal !== undefined) return no({ ...refusal, hint: rmCommand(input, 'discard') })
  return { is: 'absent', trash, quiet: reflog.is === 'commits' ? reflog.commits : [] }
}

const notOurs = ({ workspace }: TeardownInput): Refusal => ({
  code: 'not-ours',
  reason: `'${workspace.path}' is no worktree of this repository any more`,
  hint: `ls -la ${shellWord(workspace.path)}`,
  losses: [],
  holders: [],
})

const notThere = (input: TeardownInput): Refusal => ({
  code: 'loss',
  reason: `'${input.workspace.path}' is not there, and neither is its managed root: is a volume not mounted?`,
  hint: rmCommand(input, 'discard'),
  losses: [],
  holders: [],
})

export const isThere = async (path: string): Promise<boolean> =>
  (await lstat(path).catch(() => undefined)) !== undefined
