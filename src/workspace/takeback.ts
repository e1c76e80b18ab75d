// Taking back what a failed creation made: in reverse order, only what it made.

import { type Holder, type TaskName } from '../core/event.ts'
import { deleteBranch } from '../git/branch.ts'
import { unregister } from '../git/unregister.ts'
import { emptyTrash, leftSentence, moveAside, trashFor } from './aside.ts'
import { forgetLedger } from './copies.ts'
import { endAll, lookAround } from './holders.ts'
import { removeTemps } from './place.ts'
import { releasePorts } from './ports.ts'
import { removeHome } from './release.ts'
import { reasonOf, type Site } from './site.ts'

export type TakeBack = Site & {
  task: TaskName
  path: string
  branch: string
  home: string
  since: number
}

type Left = { step: string; reason: string; holders: Holder[] }

/**
 * The worktree with its entry and what runs in it; the branch, if it stands where it was made; home, ports, ledger.
 * No agent has worked there, so nothing in it is work. What could not be taken back, or undefined.
 */
export async function takeBack(
  input: TakeBack,
  made: { base: string; tookUp: number | undefined },
): Promise<Left | undefined> {
  const { task, path, branch, since, home } = input
  try {
    const where = { task, path, since, runs: [] }
    const first = lookAround(input, where)
    const ended = await endAll(input, {
      ...where,
      first,
      limitMs: killMs,
      signal: new AbortController().signal,
    })
    if (ended.left.length > 0)
      return { step: 'kill', reason: 'processes of its setup cannot be ended', holders: ended.left }
    const trash = trashFor(input, { path }, `${input.stateId}/${input.project}/${task}/${since}`)
    const moved = await moveAside(path, trash, asideMs)
    if (moved.is === 'failed') return { step: 'aside', reason: moved.reason, holders: ended.last.named }
    const out = await unregister(input.repo, { path, trash: trash.entry, lock: input.lock })
    if (out.is === 'failed' || out.is === 'refused')
      return { step: 'unregister', reason: out.reason, holders: [] }
    if (made.tookUp === undefined) await deleteBranch(input.repo, { branch, commit: made.base })
    const gone = await emptyTrash(trash, deleteMs)
    if (gone.is === 'left') return { step: 'delete', reason: leftSentence(gone), holders: [] }
    await forgetLedger(input, task)
    await releasePorts(input, task)
    await removeTemps(input, task)
    await removeHome(input, home)
    return undefined
  } catch (error) {
    return { step: 'rollback', reason: reasonOf(error), holders: [] }
  }
}

const killMs = 30_000
const asideMs = 5_000
const deleteMs = 120_000
