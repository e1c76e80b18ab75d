// Commits that no ref would hold once a worktree's entry is gone: of a detached HEAD, its reflog, its own refs.

import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { isThere } from './checkout.ts'
import { type Git, git, inDirectory, reasonOf } from './git.ts'
import { operationCommits } from './gitdir.ts'
import { refTip } from './refs.ts'

export type AtRisk =
  | {
      is: 'at-risk'
      /** Reachable from a detached HEAD only: a loss. */
      commits: string[]
      /** Found only in the reflog, in `refs/worktree/*` and the like, or in an operation's files: saved unasked. */
      quiet: string[]
    }
  | { is: 'unknown'; reason: string }

/** Works for an entry whose directory is not there as well. */
export async function commitsAtRisk(repo: Git, gitDir: string, signal?: AbortSignal): Promise<AtRisk> {
  const at = inDirectory(repo, repo.commonDir)
  const options = { env: { GIT_DIR: gitDir }, ...(signal ? { signal } : {}) }
  const headText = await readFile(join(gitDir, 'HEAD'), 'utf8').catch(() => undefined)
  if (headText === undefined) return { is: 'unknown', reason: `'${gitDir}/HEAD' cannot be read` }
  const detached = /^[0-9a-f]{40}/.test(headText)
  const commits = detached ? await unheld(at, ['HEAD'], options) : []
  if (!Array.isArray(commits)) return commits
  const found = await candidatesOf(at, gitDir, options)
  if (!Array.isArray(found)) return found
  // Where the branch stands is held by the branch; mostly nothing else was ever there, and nobody need be asked.
  const tip = await branchTip(repo, headText)
  const candidates = found.filter(oid => oid !== tip)
  const quiet = candidates.length === 0 ? [] : await unheld(at, candidates, options)
  if (!Array.isArray(quiet)) return quiet
  const loud = new Set(commits)
  return { is: 'at-risk', commits, quiet: quiet.filter(commit => !loud.has(commit)) }
}

/** The commit of the branch that is checked out, where git's own files say it. */
async function branchTip({ commonDir }: Git, headText: string): Promise<string | undefined> {
  const ref = /^ref: (refs\/heads\/\S+)\s*$/.exec(headText)?.[1]
  const tip = ref === undefined ? undefined : await refTip(commonDir, ref)
  return tip?.is === 'found' ? tip.value.trim() : undefined
}

type Options = { env: { GIT_DIR: string }; signal?: AbortSignal }

/** Those reachable from `from` that no ref which stays reaches. */
async function unheld(
  at: Git,
  from: string[],
  options: Options,
): Promise<string[] | { is: 'unknown'; reason: string }> {
  const own = ['worktree', 'bisect', 'rewritten'].map(name => `--exclude=refs/${name}/*`)
  const args = ['rev-list', '--ignore-missing', '--stdin', '--not', ...own, '--glob=refs/*']
  const result = await git(at, args, { ...options, input: `${from.join('\n')}\n` })
  if (result.code !== 0) return { is: 'unknown', reason: reasonOf(result) }
  return result.out.toString('utf8').split('\n').filter(Boolean)
}

async function candidatesOf(
  at: Git,
  gitDir: string,
  options: Options,
): Promise<string[] | { is: 'unknown'; reason: string }> {
  const found = new Set(await operationCommits(gitDir))
  const log = await readFile(join(gitDir, 'logs', 'HEAD'), 'latin1').catch(() => '')
  for (const match of log.matchAll(/^([0-9a-f]{40,64}) ([0-9a-f]{40,64}) /gm)) {
    for (const oid of [match[1], match[2]]) if (oid && !/^0+$/.test(oid)) found.add(oid)
  }
  const elsewhere = await isThere(join(gitDir, 'reftable'))
  if (elsewhere) {
    const entries = await git(at, ['rev-list', '--walk-reflogs', 'HEAD'], options)
    if (entries.code === 0) for (const oid of linesOf(entries.out)) found.add(oid)
  }
  const names = await readdir(join(gitDir, 'refs')).catch(() => [])
  if (elsewhere || names.some(name => ownRefs.includes(name))) {
    const patterns = ownRefs.map(name => `refs/${name}`)
    const refs = await git(at, ['for-each-ref', '--format=%(objectname)', ...patterns], options)
    if (refs.code !== 0) return { is: 'unknown', reason: reasonOf(refs) }
    for (const oid of linesOf(refs.out)) found.add(oid)
  }
  return [...found]
}

/** Refs that every worktree has for itself. */
const ownRefs = ['worktree', 'bisect', 'rewritten']

const linesOf = (out: Buffer): string[] => out.toString('utf8').split('\n').filter(Boolean)
