// What would be lost if a worktree went: everything that law 2 names, and "unknown" where it cannot be told.

import { lstat } from 'node:fs/promises'
import { type Loss } from '../core/event.ts'
import { commitsAtRisk } from './atrisk.ts'
import { missingFilters, readSettings, withoutFilters } from './config.ts'
import { type Git } from './git.ts'
import { gitDirOf, operationIn } from './gitdir.ts'
import { type IgnoredFound, isKnown, type KnownFile, knownMap, sortIgnored } from './ignored.ts'
import { entryDirOf } from './list.ts'
import { shownPath } from './path.ts'
import { readStatus, type Status, type StatusEntry } from './status.ts'
import { bytesOfRepository, lookIntoSubmodule } from './submodule.ts'
import { hiddenEdits, readTracked, type Tracked } from './tracked.ts'

export type SurveyOptions = {
  /** Names or relative paths of folders that can be built again, where git ignores them. */
  rebuildable: readonly string[]
  known: readonly KnownFile[]
  signal?: AbortSignal
}

export type Survey = {
  /** Any of these refuses removal. Empty: nothing would be lost. */
  losses: Loss[]
  /** Commits found only in HEAD's reflog or `refs/worktree/*`: saved without asking, refuse nothing. */
  quiet: string[]
  /** Bytes that `saveWork` would put into the archive. */
  archiveBytes: number
  head: string | null
  branch: string | null
  gitDir: string
  /** Everything in full, for `saveWork`. */
  found: Found
}

export type Found = {
  /** Tracked paths that differ from HEAD, in the index or on disk. */
  changed: string[]
  staged: string[]
  untracked: string[]
  /** Edits under skip-worktree or assume-unchanged. */
  hidden: string[]
  /** Files and links; rebuildable and known ones are left out. */
  ignored: string[]
  /** Folders of repositories of their own. */
  nested: string[]
  submodules: string[]
  /** Commits that no ref would hold. */
  commits: string[]
  operation: string | null
  /** Settings under which git could read the worktree: a filter program is missing. */
  config: string[]
}

/**
 * Looks for all that would be lost (law 2). Never throws for what git or the disk does: that is a loss of kind
 * `unknown`. A worktree whose directory is not there can only lose commits.
 */
export async function surveyWork(worktree: Git, options: SurveyOptions): Promise<Survey> {
  const result: Survey = {
    losses: [],
    quiet: [],
    archiveBytes: 0,
    head: null,
    branch: null,
    gitDir: '',
    found: nothingFound(),
  }
  try {
    const there = await lstat(worktree.dir).catch((error: Error & { code?: string }) => {
      if (error.code === 'ENOENT') return undefined
      throw error
    })
    if (there) await lookAtAll(worktree, options, result)
    else await lookAtEntry(worktree, options, result)
  } catch (error) {
    addUnknown(result, error instanceof Error ? error.message : String(error))
  }
  return result
}

const exampleLimit = 20

const nothingFound = (): Found => ({
  changed: [],
  staged: [],
  untracked: [],
  hidden: [],
  ignored: [],
  nested: [],
  submodules: [],
  commits: [],
  operation: null,
  config: [],
})

async function lookAtAll(worktree: Git, options: SurveyOptions, result: Survey): Promise<void> {
  result.gitDir = await gitDirOf(worktree.dir)
  const [status, tracked, operation, risk] = await Promise.all([
    statusOf(worktree, options, result),
    readTracked(worktree, options.signal),
    operationIn(result.gitDir),
    commitsAtRisk(worktree, result.gitDir, options.signal),
  ])
  const { found } = result
  found.operation = operation
  if (operation !== null) result.losses.push({ kind: 'operation', count: 1, examples: [operation] })
  if (risk.is === 'unknown') addUnknown(result, risk.reason)
  else addCommits(result, risk)
  if (status.is === 'unknown') return addUnknown(result, status.reason)
  if (tracked.is === 'unknown') return addUnknown(result, tracked.reason)
  result.head = status.head
  result.branch = status.branch
  addChanged(result, status.changed)
  found.hidden = await hiddenEdits(worktree, tracked.flagged)
  addLoss(result, 'hidden', found.hidden)
  await addUnknownToGit(worktree, { options, result, status, tracked })
  await addSubmodules(worktree, { options, result, tracked })
}

/** The directory is gone: its entry may still hold commits that nothing else does. */
async function lookAtEntry(worktree: Git, options: SurveyOptions, result: Survey): Promise<void> {
  const entryDir = await entryDirOf(worktree, worktree.dir)
  if (entryDir === undefined) return
  result.gitDir = entryDir
  const risk = await commitsAtRisk(worktree, entryDir, options.signal)
  if (risk.is === 'unknown') return addUnknown(result, risk.reason)
  addCommits(result, risk)
}

/** With a filter program missing git cannot compare; then it compares the files as they are (case 12). */
async function statusOf(
  worktree: Git,
  options: SurveyOptions,
  result: Survey,
): Promise<Status | { is: 'unknown'; reason: string }> {
  const first = await readStatus(worktree, { ignored: true, signal: options.signal })
  if (first.is === 'status') return first
  const missing = await missingFilters(await readSettings(worktree), worktree.env['PATH'] ?? '')
  if (missing.length === 0) return first
  result.found.config = withoutFilters(missing.map(({ filter }) => filter))
  return readStatus(worktree, { ignored: true, signal: options.signal, config: result.found.config })
}

function addCommits(result: Survey, risk: { commits: string[]; quiet: string[] }): void {
  result.found.commits = risk.commits
  result.quiet = risk.quiet
  addLoss(result, 'commits', risk.commits)
}

function addChanged(result: Survey, changed: readonly StatusEntry[]): void {
  // A submodule that is only dirty inside is looked into by itself.
  const own = changed.filter(
    entry => entry.index !== '.' || entry.submodule === 'N...' || entry.submodule[1] === 'C',
  )
  const staged = own.filter(entry => entry.index !== '.').map(entry => entry.path)
  const unstaged = own.filter(entry => entry.disk !== '.').map(entry => entry.path)
  result.found.changed = own.map(entry => entry.path)
  result.found.staged = staged
  addLoss(result, 'staged', staged)
  addLoss(result, 'unstaged', unstaged)
}

type Looking = { options: SurveyOptions; result: Survey; status: Status; tracked: Tracked }

async function addUnknownToGit(worktree: Git, { options, result, status, tracked }: Looking): Promise<void> {
  const { found } = result
  const known = knownMap(options.known)
  const root = worktree.dir
  for (const path of status.untracked) {
    if (path.endsWith('/')) found.nested.push(path.slice(0, -1))
    else if (!(await isKnown(root, path, known))) found.untracked.push(path)
  }
  addLoss(result, 'untracked', found.untracked)
  const ignored: IgnoredFound = await sortIgnored(status.ignored, {
    root,
    rebuildable: options.rebuildable,
    known,
    tracked,
    untracked: status.untracked,
  })
  found.ignored = ignored.files
  result.archiveBytes += ignored.bytes
  if (ignored.files.length > 0) {
    const examples = ignored.named.slice(0, exampleLimit).map(shownPath)
    result.losses.push({ kind: 'ignored', count: ignored.files.length, examples })
  }
  found.nested.push(...ignored.nested)
  addLoss(result, 'nested', found.nested)
  for (const path of found.nested) result.archiveBytes += await bytesOfRepository(root, path)
}

async function addSubmodules(
  worktree: Git,
  { options, result, tracked }: { options: SurveyOptions; result: Survey; tracked: Tracked },
): Promise<void> {
  for (const path of tracked.links) {
    const look = await lookIntoSubmodule(worktree, path, options.rebuildable)
    if (look.is === 'unknown') addUnknown(result, `submodule '${shownPath(path)}': ${look.reason}`)
    if (look.is !== 'loss') continue
    result.found.submodules.push(path)
    result.archiveBytes += await bytesOfRepository(worktree.dir, path)
  }
  addLoss(result, 'submodule', result.found.submodules)
}

function addLoss(result: Survey, kind: Loss['kind'], paths: readonly string[]): void {
  if (paths.length === 0) return
  result.losses.push({ kind, count: paths.length, examples: paths.slice(0, exampleLimit).map(shownPath) })
}

function addUnknown(result: Survey, reason: string): void {
  result.losses.push({ kind: 'unknown', count: 1, examples: [reason] })
}
