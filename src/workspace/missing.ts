// A worktree of ours whose directory went by another hand: whether it is gone for good, and forgetting it in git.

import { lstat, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { type Loss, type TaskName } from '../core/event.ts'
import { gitCall, shellWord } from '../core/shellword.ts'
import { list } from '../core/words.ts'
import { gitDirOf } from '../git/gitdir.ts'
import { entryDirOf, placeOfEntry, resolved } from '../git/list.ts'
import { unregister } from '../git/unregister.ts'
import { emptyTrash, rootOf, trashFor } from './aside.ts'
import { commitsOfReflog, keepCommits, lossesOfEntry, type OnFact } from './keep.ts'
import { type Marker, readMarker, type Site } from './site.ts'

const emptyMs = 60_000

/** It is there, gone for good as far as can be told, or perhaps only away. */
export type Whereabouts =
  | { is: 'there' }
  /** Its directory is there, but git in it would not work on this worktree: on another repository, or on none. */
  | { is: 'cut'; reason: string }
  | { is: 'gone' }
  | { is: 'away'; reason: string; hint: string }

/** Looks for the directory of a workspace. Where its managed root is not there either, nothing is gone. */
export async function placeOfWorktree(site: Site, path: string): Promise<Whereabouts> {
  const missing = (place: string): Promise<boolean> =>
    lstat(place).then(
      () => false,
      (error: { code?: string }) => error.code === 'ENOENT' || error.code === 'ENOTDIR',
    )
  if (!(await missing(path))) return linkOf(site, path)
  const root = rootOf(site, path)
  if (!(await missing(root))) return { is: 'gone' }
  return {
    is: 'away',
    reason: `'${root}' is not there: is a volume not mounted?`,
    hint: `ls -la ${shellWord(root)}`,
  }
}

async function linkOf({ repo }: Site, path: string): Promise<Whereabouts> {
  const entryDir = await entryDirOf(repo, path)
  if (entryDir === undefined) return { is: 'there' }
  const named = await gitDirOf(path).catch(() => undefined)
  if (named !== undefined && (await resolved(named)) === (await resolved(entryDir))) return { is: 'there' }
  const how = named === undefined ? 'is gone' : `leads to '${named}'`
  const kept = 'what it committed is kept by git: remove the task, and run it again under its name'
  return { is: 'cut', reason: `the '.git' file of its worktree '${path}' ${how}; ${kept}` }
}

export type Forgotten = { is: 'forgotten' } | { is: 'refused'; reason: string; hint: string }

/**
 * Takes git's entry of a worktree out whose directory is gone: only ours, as its marker says, only if it was not
 * moved, is not locked, and holds nothing staged. Commits that only it names are kept first (docs/decisions/0008).
 */
export async function forgetMissing(
  site: Site,
  { path, entryDir, marker }: { path: string; entryDir: string; marker: Marker },
  onFact: OnFact,
): Promise<Forgotten> {
  const { task, madeAt } = marker
  const refused = (reason: string, hint: string): Forgotten => ({ is: 'refused', reason, hint })
  const place = await placeOfWorktree(site, path)
  if (place.is === 'away') return refused(place.reason, place.hint)
  if (place.is !== 'gone') return refused(`'${path}' is there`, `ls -la ${shellWord(path)}`)
  const moved = await whereMoved(site, { task, path, entryDir })
  if (moved !== undefined) return refused(moved.reason, moved.hint)
  const [losses, reflog] = await Promise.all([lossesOfEntry(site, entryDir), commitsOfReflog(site, entryDir)])
  if (reflog.is === 'unknown')
    return refused(`its reflog cannot be read: ${reflog.reason}`, `berth show ${task}`)
  const isCommits = ({ kind }: Loss): boolean => kind === 'commits'
  // Commits are kept; what is staged, and what cannot be found out, is not given up here.
  const named = losses.filter(loss => !isCommits(loss)).flatMap(({ examples }) => examples)
  if (named.length > 0)
    return refused(
      `the directory '${path}' is gone, and git's entry of it holds staged work: ${list(named)}`,
      `berth rm ${task} --discard`,
    )
  const head = losses.filter(isCommits).flatMap(({ examples }) => examples)
  const commits = [...new Set([...reflog.commits, ...head])]
  const unkept = await keepCommits(site, { task, commits, why: 'its directory was gone' }, onFact)
  if (unkept !== undefined) return refused(`its commits could not be kept: ${unkept}`, `berth show ${task}`)
  const trash = trashFor(site, { path }, `${site.stateId}/${site.project}/${task}/${madeAt}`)
  const out = await unregister(site.repo, { path, trash: trash.entry, lock: site.lock })
  if (out.is === 'failed' || out.is === 'refused')
    return refused(out.reason, gitCall(site.repo.root, 'worktree', 'list'))
  await emptyTrash(trash, emptyMs)
  return { is: 'forgotten' }
}

/**
 * Where the worktree of a task went that is not at its path: moved by hand below the managed root, its entry
 * (`entryDir`) left behind, or by git, whose entry bears our mark and names another place.
 */
export async function whereMoved(
  site: Site,
  { task, path, entryDir }: { task: TaskName; path: string; entryDir: string | undefined },
): Promise<{ reason: string; hint: string } | undefined> {
  const byHand = entryDir === undefined ? undefined : await movedTo(rootOf(site, path), entryDir)
  const said = (place: string): string => `the worktree of '${task}' was moved to '${place}'`
  if (byHand !== undefined)
    return { reason: said(byHand), hint: `mv ${shellWord(byHand)} ${shellWord(path)}` }
  const byGit = entryDir === undefined ? await movedByGit(site, task, path) : undefined
  if (byGit === undefined) return undefined
  return { reason: said(byGit), hint: gitCall(site.repo.root, 'worktree', 'move', byGit, path) }
}

/** The directory below the managed root whose `.git` file names this entry. */
async function movedTo(root: string, entryDir: string): Promise<string | undefined> {
  for (const name of await readdir(root).catch(() => [])) {
    const path = join(root, name)
    if ((await gitDirOf(path).catch(() => undefined)) === entryDir) return path
  }
  return undefined
}

async function movedByGit(site: Site, task: TaskName, path: string): Promise<string | undefined> {
  const entries = join(site.repo.commonDir, 'worktrees')
  for (const name of await readdir(entries).catch(() => [])) {
    const dir = join(entries, name)
    const found = await readMarker(dir)
    if (found.is !== 'marker') continue
    const { stateId, project, task: its, path: made } = found.marker
    if (stateId !== site.stateId || project !== site.project || its !== task || made !== path) continue
    const place = await placeOfEntry(dir)
    if (place !== undefined && (await lstat(place).catch(() => undefined)) !== undefined) return place
  }
  return undefined
}
