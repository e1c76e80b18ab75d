// Removing a workspace: ten steps, each recorded and verified, each safe to do twice (docs/what-it-deletes.md).

import { type Fact, type Holder, type Leaves, type TeardownStep } from '../core/event.ts'
import { lossesText } from '../core/loss.ts'
import { entryAt, listWorktrees } from '../git/list.ts'
import { stashesOf } from '../git/stash.ts'
import { unregister } from '../git/unregister.ts'
import { platform } from '../platform/platform.ts'
import { connect } from '../process/link.ts'
import { emptyAside, emptyTrash, leftSentence, moveAside, type Trash } from './aside.ts'
import { fateOfBranch, lossesOfBranch, removeBranch } from './branch.ts'
import { identityOf } from './environment.ts'
import { endAll, lookAround, type Occupied, treeOf } from './holders.ts'
import { isThere, judge, type Judged } from './judge.ts'
import { keepCommits, saveInventory } from './keep.ts'
import { type Found, refusalByHolders, refusalByLoss, rmCommand } from './refuse.ts'
import { release } from './release.ts'
import {
  beginWork,
  refused,
  said,
  say,
  settle,
  speak,
  stuck,
  type TeardownInput,
  type Work,
} from './removal.ts'
import { holdersFrom, reasonOf, type Voice } from './site.ts'
import { branchRequest, type Stock, takeStock } from './view.ts'

export type { TeardownInput }

const defaults = { killMs: 30_000, asideMs: 10_000, deleteMs: 300_000 }

/**
 * Goes on from wherever an earlier attempt stopped: what is already gone counts as done. Speaks
 * `teardown.stepped`, `work.saved`, `workspace.aside`, `branch.deleted` or `branch.kept`; returns
 * `teardown.refused` (nothing is lost), `workspace.stuck` (the entry stays) or `workspace.removed` (verified).
 * A caller that waits for no deletion may answer once `teardown.stepped {step: 'unregister'}` was spoken.
 */
export async function teardown(input: TeardownInput, voice: Voice): Promise<Fact[]> {
  const work = beginWork(input, voice)
  try {
    const end = input.gone ? await branchAlone(work) : ((await takeAway(work)) ?? (await finish(work)))
    await settle(work)
    return [end]
  } catch (error) {
    await settle(work).catch(() => undefined)
    return [stuck(work, work.step ?? 'refuse', reasonOf(error), [])]
  }
}

/** Steps 1 to 7: until git does not know it any more. The fact that ends it early, or undefined. */
async function takeAway(work: Work): Promise<Fact | undefined> {
  work.step = 'refuse'
  const judged = await judge(work)
  switch (judged.is) {
    case 'refused':
      return refused(work, judged.refusal)
    case 'absent':
      work.trash = judged.trash
      return withoutDirectory(work, judged)
    case 'there':
      work.trash = judged.trash
      return withDirectory(work, judged)
  }
}

async function withDirectory(
  work: Work,
  { found, trash, occupied, stock }: Judged & { is: 'there' },
): Promise<Fact | undefined> {
  const { input } = work
  work.named = occupied.named
  say(work, 'refuse')
  const quiet = occupied.ours.length === 0 && !input.runs.some(({ live }) => live)
  const last = quiet ? nothingToEnd(work) : await endProcesses(work, found, occupied)
  if (last !== undefined) return last
  work.step = 'save'
  const kept = await keep(work, quiet ? stock : await takeStock(work, found.entryDir))
  if (kept !== undefined) return kept
  work.step = 'aside'
  await settle(work)
  const moved = await moveAside(input.workspace.path, trash, input.asideMs ?? defaults.asideMs)
  if (moved.is === 'failed') {
    const now = lookAround(input, { ...input, path: input.workspace.path, since: found.madeAt })
    return stuck(work, 'aside', moved.reason, [...now.blocking, ...now.named])
  }
  return takeOut(work, trash)
}

function nothingToEnd(work: Work): undefined {
  say(work, 'cancel')
  say(work, 'quit')
  say(work, 'kill', 'nothing of ours was alive')
}

async function endProcesses(work: Work, found: Found, first: Occupied): Promise<Fact | undefined> {
  const { input, voice } = work
  say(work, 'cancel')
  work.step = 'quit'
  await settle(work)
  for (const { run, dir } of input.runs.filter(({ live }) => live)) {
    const link = await connect(dir, { stateId: input.stateId, run, timeoutMs: 2_000 }).catch(() => undefined)
    await link?.stop({ graceMs: input.policy.graceMs, force: false }).catch(() => undefined)
    link?.close()
  }
  say(work, 'quit')
  work.step = 'kill'
  const where = { ...input, path: input.workspace.path, since: found.madeAt }
  const limitMs = input.killMs ?? defaults.killMs
  const done = await endAll(input, { ...where, first, limitMs, signal: voice.signal })
  if (done.left.length > 0) return stuck(work, 'kill', 'processes of this task cannot be ended', done.left)
  const last = lookAround(input, where)
  work.named = last.named
  const refusal = refusalByHolders(input, last)
  if (refusal !== undefined) return refused(work, refusal)
  say(work, 'kill', `ended ${done.ended} processes`)
  return undefined
}

/** Step 5: nothing of ours writes any more. What would be lost is saved, given up, or refuses. */
async function keep(work: Work, { losses, inventory }: Stock): Promise<Fact | undefined> {
  const { input, voice } = work
  const refusal = refusalByLoss(input, losses)
  if (refusal !== undefined) return refused(work, refusal)
  if (input.mode.discard)
    return said(work, 'save', losses.length === 0 ? 'nothing to save' : `given up: ${lossesText(losses)}`)
  if (inventory === undefined && losses.length > 0)
    return refused(work, {
      code: 'loss',
      reason: `what stands in '${input.workspace.path}' cannot be saved: ${lossesText(losses)}`,
      hint: rmCommand(input, 'discard'),
      losses,
      holders: [],
    })
  if (inventory === undefined) return said(work, 'save', 'nothing to save')
  if (losses.length === 0 && inventory.survey.quiet.length === 0) return said(work, 'save', 'nothing to save')
  await settle(work)
  const limit = input.mode.by === 'landing' ? { maxBytes: input.policy.savedBytes } : {}
  const why = input.mode.by === 'landing' ? 'removed after landing' : 'removed'
  const saved = await saveInventory(input, { ...input, inventory, why, ...limit }, voice.onFact)
  if (saved.is === 'failed' && saved.code === 'loss')
    return refused(work, {
      code: 'loss',
      reason: saved.reason,
      losses,
      holders: [],
      hint: rmCommand(input, 'save'),
    })
  if (saved.is === 'failed') return stuck(work, 'save', saved.reason, [])
  return said(work, 'save', saved.is === 'saved' ? 'saved and read back' : 'nothing to save')
}

async function withoutDirectory(
  work: Work,
  { trash, quiet }: Judged & { is: 'absent' },
): Promise<Fact | undefined> {
  const { input, voice } = work
  const why = await keepCommits(input, { task: input.task, commits: quiet, why: 'removed' }, voice.onFact)
  if (why !== undefined) return stuck(work, 'save', `commits of its reflog could not be kept: ${why}`, [])
  const ended = await platform.endTree(treeOf(input, input.task, input.runs), {
    graceMs: input.policy.graceMs,
    limitMs: input.killMs ?? defaults.killMs,
    signal: voice.signal,
  })
  if (ended.left.length > 0)
    return stuck(work, 'kill', 'processes of this task cannot be ended', holdersFrom(ended.left, 'ours'))
  return takeOut(work, trash)
}

/** Step 7, after the directory has left its place. */
async function takeOut(work: Work, trash: Trash): Promise<Fact | undefined> {
  const { input, voice } = work
  const { project, task } = input
  if ((await isThere(trash.dir)) && input.trash === undefined)
    speak(work, { kind: 'workspace.aside', project, task, trash: trash.dir })
  say(work, 'aside')
  await settle(work)
  work.step = 'unregister'
  const leaves = await leavesOf(work)
  const { path } = input.workspace
  const unlock = input.mode.unlock || work.halfMade === true
  const known = work.known === undefined ? {} : { known: work.known }
  const request = { path, trash: trash.entry, lock: input.lock, unlock, ...known }
  let out = await unregister(input.repo, request)
  if (out.is === 'failed' && out.step === 'room') {
    // What lies aside was saved, or given up: on a full disk it makes the room that the copy needs.
    await emptyAside(trash, input.deleteMs ?? defaults.deleteMs, voice.signal)
    out = await unregister(input.repo, request)
  }
  if (out.is === 'failed' || out.is === 'refused') return stuck(work, 'unregister', out.reason, [])
  speak(work, { kind: 'teardown.stepped', project, task, step: 'unregister', leaves })
  await settle(work)
  return undefined
}

async function leavesOf({ input, named, ...work }: Work): Promise<Leaves> {
  const { branch } = input.workspace
  const [fate, stashes] = await Promise.all([
    fateOfBranch(input, branchRequest({ input, named, ...work })),
    stashesOf(input.repo, { branch, email: identityOf(input.task).email }),
  ])
  return { named, stashes, ...(fate === undefined ? {} : { branch: fate }) }
}

/** Steps 8 to 10, and the proof. */
async function finish(work: Work): Promise<Fact> {
  const { input, voice } = work
  const { project, task, workspace } = input
  work.step = 'delete'
  if (work.trash !== undefined) {
    const gone = await emptyTrash(work.trash, input.deleteMs ?? defaults.deleteMs, voice.signal)
    if (gone.is === 'left') return stuck(work, 'delete', leftSentence(gone), holdersOf(work.trash.dir))
  }
  say(work, 'delete')
  work.step = 'branch'
  const branch = await removeBranch(input, branchRequest(work))
  if (branch !== undefined) speak(work, branch)
  say(work, 'branch')
  work.step = 'release'
  const released = await release(input, { task, workspace, runs: input.runs, secrets: input.secrets ?? [] })
  if (released.reason !== undefined) return stuck(work, 'release', released.reason, released.holders)
  say(work, 'release')
  const why = await whyNotGone(work)
  if (why !== undefined) return stuck(work, why.step, why.reason, why.holders)
  return { kind: 'workspace.removed', project, task, named: work.named }
}

/** It was removed before, and its branch was kept then. It goes now, if nothing is lost with it or that is asked. */
async function branchAlone(work: Work): Promise<Fact> {
  const { input, voice } = work
  const { project, task, mode } = input
  const request = branchRequest(work)
  work.step = 'branch'
  const losses = await lossesOfBranch(input, request)
  const refusal = refusalByLoss(input, losses, `of branch '${input.workspace.branch}'`)
  if (refusal !== undefined) return refused(work, refusal)
  if (mode.save && losses.length > 0) {
    const commits = losses.flatMap(({ examples }) => examples)
    const why = await keepCommits(input, { task, commits, why: 'branch removed' }, voice.onFact)
    if (why !== undefined) return stuck(work, 'save', `its commits could not be saved: ${why}`, [])
  }
  await settle(work)
  const branch = await removeBranch(input, request)
  if (branch !== undefined) speak(work, branch)
  return { kind: 'workspace.removed', project, task, named: [] }
}

/** "Removed" is said only when all of this holds (law 7). */
async function whyNotGone({
  input,
}: Work): Promise<{ step: TeardownStep; reason: string; holders: Holder[] } | undefined> {
  const { path } = input.workspace
  if (await isThere(path))
    return { step: 'aside', reason: `'${path}' is there again, and is not what was removed`, holders: [] }
  const list = await listWorktrees(input.repo)
  if (list.is === 'unknown') return { step: 'unregister', reason: list.reason, holders: [] }
  if ((await entryAt(list.entries, path)) !== undefined)
    return { step: 'unregister', reason: `git still lists '${path}'`, holders: [] }
  const alive = platform.processesOf(treeOf(input, input.task, input.runs))
  if (alive.length > 0)
    return { step: 'kill', reason: 'processes of this task are alive', holders: holdersFrom(alive, 'ours') }
  return undefined
}

const holdersOf = (path: string): Holder[] => {
  const { ours, tied } = platform.holdersOf(path, {})
  return [...holdersFrom(ours, 'ours'), ...holdersFrom(tied, 'person')]
}
