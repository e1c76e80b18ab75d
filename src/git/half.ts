// A worktree whose making was cut off: recognised by what is not there, and cleared only when it holds nothing.

import { lstat, readdir, readFile, readlink, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { deleteBranch, tipOf } from './branch.ts'
import { isThere } from './checkout.ts'
import { dropEntry } from './entry.ts'
import { type Git, git, type GitOptions, inDirectory, ok, reasonOf } from './git.ts'
import { entryDirOf } from './list.ts'
import { type Repository } from './open.ts'
import { bytesOf, fsPath, pathOf, splitNul } from './path.ts'
import { withTempFolder } from './temp.ts'
import { type RepositoryLock } from './worktree.ts'

export type HalfMade =
  | { is: 'absent' }
  | { is: 'complete'; head: string; branch: string | null; entryDir: string }
  /** Cut off. `unique`: files that are not (a beginning of) what the commit holds; `commits` beyond the base. */
  | { is: 'half'; entryDir: string | null; unique: string[]; commits: number; reason: string }
  /** Made whole, and its directory is gone. */
  | { is: 'missing'; entryDir: string }
  /** Something else is there: not ours to touch. */
  | { is: 'other'; reason: string }
  | { is: 'unknown'; reason: string }

export type HalfRequest = { path: string; branch: string; base: string }

/** What an earlier, cut-off creation left at this path (case 19). Changes nothing. */
export async function inspectHalfMade(repo: Repository, request: HalfRequest): Promise<HalfMade> {
  const [place, entryDir] = await Promise.all([
    lstat(request.path).catch(() => undefined),
    entryDirOf(repo, request.path),
  ])
  if (!place && !entryDir) return { is: 'absent' }
  if (place && !place.isDirectory()) return { is: 'other', reason: `'${request.path}' is not a directory` }
  const names = place ? await readdir(request.path) : []
  if (!entryDir) {
    if (names.length > 0) return { is: 'other', reason: `'${request.path}' is no worktree that git knows` }
    return { is: 'half', entryDir: null, unique: [], commits: 0, reason: 'only its folder was made' }
  }
  const head = (await readFile(join(entryDir, 'HEAD'), 'utf8').catch(() => '')).trimEnd()
  const initializing =
    (await readFile(join(entryDir, 'locked'), 'utf8').catch(() => '')).trimEnd() === 'initializing'
  const indexed = await isThere(join(entryDir, 'index'))
  if (indexed && !initializing && head !== '') return completeOf(repo, { ...request, entryDir })
  const reason = initializing
    ? 'its making was cut off: git has it as initializing'
    : 'its making was cut off: it has no index'
  const nothing = names.every(name => name === '.git')
  if (nothing) return halfOf(repo, { request, entryDir, unique: [], reason })
  const unique = await uniqueFiles(repo, request)
  return Array.isArray(unique) ? halfOf(repo, { request, entryDir, unique, reason }) : unique
}

export type ClearOutcome =
  | { is: 'cleared' }
  | { is: 'refused'; reason: string; unique: string[] }
  | { is: 'failed'; step: string; reason: string }

/**
 * Clears a half-made worktree that holds nothing of its own: directory, entry, and the branch if it stands at `base`.
 * The caller has made sure that no process works there. Refuses when `inspectHalfMade` finds anything unique.
 */
export async function clearHalfMade(
  repo: Repository,
  request: HalfRequest & { lock: RepositoryLock },
): Promise<ClearOutcome> {
  const found = await inspectHalfMade(repo, request)
  if (found.is === 'absent') return { is: 'cleared' }
  if (found.is !== 'half') {
    return { is: 'refused', reason: 'reason' in found ? found.reason : 'it is complete', unique: [] }
  }
  if (found.unique.length > 0) {
    return { is: 'refused', reason: `'${request.path}' holds files of its own`, unique: found.unique }
  }
  await rm(request.path, { recursive: true, force: true, maxRetries: 3 }).catch(() => undefined)
  if (await lstat(request.path).catch(() => undefined)) {
    return { is: 'failed', step: 'delete', reason: `'${request.path}' cannot be deleted` }
  }
  if (found.entryDir && !(await request.lock(repo.commonDir, () => dropEntry(repo, request.path)))) {
    return { is: 'failed', step: 'unregister', reason: `git still has '${found.entryDir}'` }
  }
  if (found.commits === 0) await deleteBranch(repo, { branch: request.branch, commit: request.base })
  return { is: 'cleared' }
}

async function completeOf(
  repo: Repository,
  { path, branch, entryDir }: HalfRequest & { entryDir: string },
): Promise<HalfMade> {
  if (!(await isThere(path))) return { is: 'missing', entryDir }
  const at = inDirectory(repo, path)
  const env = { GIT_DIR: entryDir, GIT_WORK_TREE: path }
  const head = await git(at, ['rev-parse', '--verify', 'HEAD'], { env })
  if (head.code !== 0) return { is: 'unknown', reason: reasonOf(head) }
  const symbolic = await git(at, ['symbolic-ref', '--quiet', '--short', 'HEAD'], { env })
  const found = symbolic.code === 0 ? symbolic.out.toString('utf8').trimEnd() : null
  if (found !== branch) return { is: 'other', reason: `'${path}' is on '${found ?? 'a detached HEAD'}'` }
  return { is: 'complete', head: head.out.toString('utf8').trimEnd(), branch: found, entryDir }
}

type Half = { request: HalfRequest; entryDir: string; unique: string[]; reason: string }

async function halfOf(repo: Repository, { request, entryDir, unique, reason }: Half): Promise<HalfMade> {
  const tip = await tipOf(repo, `refs/heads/${request.branch}`)
  if (tip.is === 'unknown') return tip
  if (tip.commit === undefined) return { is: 'half', entryDir, unique, commits: 0, reason }
  const count = await git(repo, ['rev-list', '--count', `${request.base}..${tip.commit}`])
  if (count.code !== 0) return { is: 'unknown', reason: reasonOf(count) }
  return { is: 'half', entryDir, unique, commits: Number(count.out.toString('utf8')), reason }
}

/** Files that the commit does not hold, or not so. A file that was half written when git was killed is not one. */
async function uniqueFiles(repo: Repository, request: HalfRequest): Promise<string[] | HalfMade> {
  const tip = await tipOf(repo, `refs/heads/${request.branch}`)
  if (tip.is === 'unknown') return tip
  const commit = tip.commit ?? request.base
  return withTempFolder(async folder => {
    const at = inDirectory(repo, request.path)
    const env = { GIT_DIR: repo.commonDir, GIT_WORK_TREE: request.path }
    const options: GitOptions = { env, index: join(folder, 'index') }
    const read = await git(at, ['read-tree', commit], options)
    if (read.code !== 0) return { is: 'unknown', reason: reasonOf(read) }
    const [differing, others] = await Promise.all([
      git(at, ['diff-files', '--name-only', '-z', '--diff-filter=MTUA', '--no-ext-diff'], options),
      git(at, ['ls-files', '--others', '-z'], options),
    ])
    const bad = [differing, others].find(result => result.code !== 0)
    if (bad) return { is: 'unknown', reason: reasonOf(bad) }
    const unique = splitNul(others.out)
    for (const path of splitNul(differing.out)) {
      if (!(await isBeginning(at, { options, commit, path, root: request.path }))) unique.push(path)
    }
    return unique
  })
}

type Beginning = { options: GitOptions; commit: string; path: string; root: string }

async function isBeginning(at: Git, { options, commit, path, root }: Beginning): Promise<boolean> {
  const file = Buffer.concat([Buffer.from(`${root}/`), bytesOf(path)])
  const stats = await lstat(fsPath(pathOf(file))).catch(() => undefined)
  if (!stats || stats.isDirectory()) return stats === undefined
  const have = stats.isSymbolicLink() ? Buffer.from(await readlink(file)) : await readFile(file)
  const input = Buffer.concat([Buffer.from(`${commit}:`), bytesOf(path), Buffer.from('\0')])
  const out = await ok(at, ['cat-file', '--batch', '-z'], { ...options, input })
  const body = out.subarray(out.indexOf(10) + 1)
  return body.subarray(0, have.length).equals(have)
}
