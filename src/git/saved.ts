// Saved work: a snapshot commit under refs/berth/saved and an archive beside it, read back before anything goes.

import { copyFile, mkdir, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { type Loss } from '../core/event.ts'
import { commitsAtRisk } from './atrisk.ts'
import { type ArchiveItem, writeArchive } from './archive.ts'
import { type Identity } from './commit.ts'
import { type Git, git, type GitOptions, inRepository, line, ok } from './git.ts'
import { itemsToArchive } from './keep.ts'
import { splitNul } from './path.ts'
import { readBack } from './readback.ts'
import { commitTree, identityEnvironment, swapRef, treeOf } from './snapshot.ts'
import { type Survey } from './survey.ts'
import { withTempFolder } from './temp.ts'

export const savedPrefix = 'refs/berth/saved/'

export type SaveRequest = {
  /** Full name: `refs/berth/saved/<task>/<time>`. Must not exist. */
  ref: string
  /** Of `surveyWork`, taken when nothing of ours writes any more. */
  survey: Survey
  /** Where ignored files, nested repositories and submodules go, as a tar file (0600). Must not exist. */
  archiveFile: string
  identity: Identity
  message: string
  /** Larger archives are refused before anything is written. */
  maxBytes?: number
}

export type SaveOutcome =
  | {
      is: 'saved'
      commit: string
      ref: string
      archive: string | null
      losses: Loss[]
      /** Sockets and the like: nothing can hold them. */
      skipped: string[]
    }
  | { is: 'nothing' }
  | { is: 'too-large'; bytes: number }
  /** Nothing is left behind: neither ref nor archive. */
  | { is: 'failed'; step: string; reason: string }

/** Writes, reads back and compares (law 2). The branch, the index and the files of the worktree stay untouched. */
export async function saveWork(worktree: Git, request: SaveRequest): Promise<SaveOutcome> {
  const { survey, archiveFile, ref } = request
  const unknown = survey.losses.find(loss => loss.kind === 'unknown')
  if (unknown)
    return { is: 'failed', step: 'survey', reason: unknown.examples[0] ?? 'something could not be found out' }
  if (survey.losses.length === 0 && survey.quiet.length === 0) return { is: 'nothing' }
  if (request.maxBytes !== undefined && survey.archiveBytes > request.maxBytes) {
    return { is: 'too-large', bytes: survey.archiveBytes }
  }
  const made: Made = { step: 'snapshot' }
  try {
    const { commit, odd } = await snapshot(worktree, request)
    made.step = 'archive'
    const items = await itemsToArchive(worktree, { survey, odd })
    const skipped = await archive(archiveFile, items, made)
    made.step = 'ref'
    if (!(await swapRef(inRepository(worktree), { ref, from: null, to: commit, message: 'berth: saved' }))) {
      throw new Error(`'${ref}' cannot be made: it is there already`)
    }
    made.ref = commit
    made.step = 'verify'
    await verifyHeld(worktree, request)
    return { is: 'saved', commit, ref, archive: made.archive ?? null, losses: survey.losses, skipped }
  } catch (error) {
    await takeBack(worktree, request, made)
    return { is: 'failed', step: made.step, reason: error instanceof Error ? error.message : String(error) }
  }
}

export type SavedEntry = {
  ref: string
  commit: string
  task: string
  time: string
  committedAt: number
  subject: string
}

/** Every saved ref, oldest first; `committedAt` in ms. Throws BerthError if git cannot say. */
export async function listSaved(repo: Git): Promise<SavedEntry[]> {
  const format = '--format=%(refname)%00%(objectname)%00%(committerdate:unix)%00%(subject)'
  const out = await ok(repo, ['for-each-ref', '--sort=committerdate', format, savedPrefix])
  const rows = out.toString('utf8').split('\n').filter(Boolean)
  return rows.map(row => {
    const [ref = '', commit = '', date = '0', subject = ''] = row.split('\0')
    const name = ref.slice(savedPrefix.length)
    const cut = name.lastIndexOf('/')
    return {
      ref,
      commit,
      task: name.slice(0, cut),
      time: name.slice(cut + 1),
      committedAt: Number(date) * 1000,
      subject,
    }
  })
}

/** Paths that differ from the commit that the work stood on. Throws BerthError if git cannot say. */
export async function filesOfSaved(repo: Git, commit: string): Promise<string[]> {
  const shown = ['--name-only', '--no-renames', '--no-ext-diff', '--root', '-m', '--first-parent']
  return splitNul(await ok(repo, ['log', '-1', '-z', '--format=', ...shown, commit]))
}

/** Deletes a saved ref by compare-and-swap; false if it is not at `commit`. */
export async function removeSaved(
  repo: Git,
  { ref, commit }: { ref: string; commit: string },
): Promise<boolean> {
  if (!ref.startsWith(savedPrefix)) return false
  return (await git(repo, ['update-ref', '-d', ref, commit], { lockMs: 10_000 })).code === 0
}

type Made = { step: string; archive?: string; ref?: string }

/** Objects reach the disk before anybody deletes what they were made of. */
const durable = ['core.fsync=committed,reference', 'core.fsyncMethod=batch']
/** Git takes more parents, but nothing shows them well. */
const parentLimit = 50

/** The commit, and the files whose bytes git would not give back exactly. */
async function snapshot(worktree: Git, request: SaveRequest): Promise<{ commit: string; odd: string[] }> {
  const { survey } = request
  const { found, gitDir } = survey
  const paths = [...new Set([...found.changed, ...found.untracked, ...found.hidden])]
  // Its directory may be gone: then only commits are saved, and git is asked by the entry.
  const at = paths.length > 0 ? worktree : inRepository(worktree)
  const options: GitOptions = {
    config: [...durable, ...found.config, 'core.sparseCheckout=false'],
    ...(at === worktree ? {} : { env: { GIT_DIR: gitDir } }),
  }
  const head = survey.head ?? (await headOfEntry(at, options))
  const env = identityEnvironment(request.identity, request.identity)
  return withTempFolder(async folder => {
    const tree = await treeOf(at, { head, paths, folder, options })
    const staged = await stagedCommit(worktree, { request, head, tree, folder, env })
    const tips = await tipsOf(inRepository(worktree), [...found.commits, ...survey.quiet])
    const others = [...(staged ? [staged] : []), ...tips.filter(tip => tip !== head)]
    const parents = [...(head === null ? [] : [head]), ...(await bundled(at, others, { tree, env }))]
    const commit = await commitTree(at, { tree, parents, message: request.message, env })
    const odd = await readBack(worktree, { commit, paths })
    return { commit, odd }
  })
}

async function headOfEntry(at: Git, options: GitOptions): Promise<string | null> {
  const result = await git(at, ['rev-parse', '--verify', '--quiet', 'HEAD^{commit}'], options)
  return result.code === 0 ? result.out.toString('utf8').trimEnd() : null
}

type Staging = {
  request: SaveRequest
  head: string | null
  tree: string
  folder: string
  env: { [name: string]: string }
}

/** What was staged, where it differs from HEAD and from the files. An index amid a conflict has no tree. */
async function stagedCommit(
  worktree: Git,
  { request, head, tree, folder, env }: Staging,
): Promise<string | undefined> {
  const { found, gitDir } = request.survey
  if (found.staged.length === 0) return undefined
  const index = join(folder, 'staged')
  await copyFile(join(gitDir, 'index'), index)
  const written = await git(worktree, ['write-tree'], { index, config: durable })
  if (written.code !== 0) return undefined
  const staged = written.out.toString('utf8').trimEnd()
  if (staged === tree) return undefined
  const parents = head === null ? [] : [head]
  return commitTree(worktree, { tree: staged, parents, message: 'berth: what was staged\n', env })
}

/** Of many commits those that no other of them has as a parent. */
async function tipsOf(at: Git, commits: readonly string[]): Promise<string[]> {
  if (commits.length === 0) return []
  const out = await ok(at, ['rev-list', '--no-walk=unsorted', '--parents', '--stdin'], {
    input: `${commits.join('\n')}\n`,
  })
  const parents = new Set<string>()
  for (const row of out.toString('utf8').split('\n'))
    for (const parent of row.split(' ').slice(1)) parents.add(parent)
  return [...new Set(commits)].filter(commit => !parents.has(commit))
}

/** Few enough to be parents of one commit: more are held by commits between. */
async function bundled(
  at: Git,
  commits: string[],
  { tree, env }: { tree: string; env: { [name: string]: string } },
): Promise<string[]> {
  if (commits.length <= parentLimit) return commits
  const bundles: string[] = []
  for (let from = 0; from < commits.length; from += parentLimit) {
    const parents = commits.slice(from, from + parentLimit)
    bundles.push(await commitTree(at, { tree, parents, message: 'berth: commits that were saved\n', env }))
  }
  return bundled(at, bundles, { tree, env })
}

async function archive(file: string, items: readonly ArchiveItem[], made: Made): Promise<string[]> {
  if (items.length === 0) return []
  await mkdir(dirname(file), { recursive: true, mode: 0o700 })
  made.archive = file
  const { skipped } = await writeArchive(file, items).catch((error: Error & { code?: string }) => {
    if (error.code === 'EEXIST') delete made.archive
    throw error
  })
  return skipped
}

/** The ref is there, and nothing is at risk any more. */
async function verifyHeld(worktree: Git, { survey, ref }: SaveRequest): Promise<void> {
  await line(inRepository(worktree), ['rev-parse', '--verify', '--end-of-options', `${ref}^{commit}`])
  const left = await commitsAtRisk(worktree, survey.gitDir)
  if (left.is === 'unknown') throw new Error(left.reason)
  const first = [...left.commits, ...left.quiet][0]
  if (first !== undefined) throw new Error(`the commit '${first}' is still held by nothing`)
}

async function takeBack(worktree: Git, request: SaveRequest, made: Made): Promise<void> {
  if (made.ref !== undefined)
    await removeSaved(inRepository(worktree), { ref: request.ref, commit: made.ref })
  if (made.archive !== undefined) await rm(made.archive, { force: true }).catch(() => undefined)
}
