// What a task changed since it branched off, uncommitted and untracked files included; nothing of its own is touched.

import { copyFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type ShowView } from '../core/api.ts'
import { BerthError } from '../core/errors.ts'
import { type ChangedPath, changesSince, startOf } from '../git/changes.ts'
import { failure, git, type Git, inDirectory, line, ok } from '../git/git.ts'
import { type Repository } from '../git/open.ts'
import { findTarget } from '../git/target.ts'
import { withTempFolder } from '../git/temp.ts'

export type TaskDiff = { base: string; files: ChangedPath[]; patch: Uint8Array | undefined }

type Compared = Pick<
  ShowView,
  'task' | 'base' | 'branch' | 'commit' | 'worktree' | 'status' | 'target' | 'landedAs'
>

/** More than this is not shown: a person reads it with git. */
const patchBytesMax = 128 * 1024 * 1024

/**
 * The diff of a task against its merge base with the target. Without a worktree, that of its branch or last commit.
 * Throws `not-found` if there is nothing to compare yet, and what git fails with.
 */
export async function taskDiff(
  repo: Repository,
  task: Compared,
  { patch, colour }: { patch: boolean; colour: boolean },
): Promise<TaskDiff> {
  const { base: began } = task
  if (began === null) throw withoutBase(task)
  const worktree = task.worktree === null ? undefined : inDirectory(repo, task.worktree)
  const head = worktree ? 'HEAD' : await tipOf(repo, task)
  const base = await baseOf(repo, worktree ?? repo, { ...task, head, base: began })
  const options = colour ? ['--color=always'] : ['--color=never']
  if (worktree) {
    const changes = await changesSince(worktree, base)
    if (changes.is === 'unknown')
      throw new BerthError('git-failed', `'${task.worktree}' cannot be read: ${changes.reason}`)
    return {
      base,
      files: changes.paths,
      patch: patch ? await ofWorktree(worktree, base, options) : undefined,
    }
  }
  const files = await ofCommits(repo, base, head)
  return { base, files, patch: patch ? await shown(repo, [...options, base, head], {}) : undefined }
}

function withoutBase({ task, status }: Compared): BerthError {
  const gone = status === 'landed' || status === 'dropped'
  return gone
    ? new BerthError(
        'not-found',
        `'${task}' is ${status}, and never had a workspace`,
        `berth log --task ${task}`,
      )
    : new BerthError('not-found', `'${task}' has no workspace yet`, `berth show ${task}`)
}

/** What has landed is that commit, whatever its branch became since. */
async function tipOf(repo: Repository, { task, branch, commit, landedAs }: Compared): Promise<string> {
  const ofBranch = branch === null || landedAs !== null ? undefined : `refs/heads/${branch}`
  for (const name of [ofBranch, commit]) {
    if (!name) continue
    const found = await git(repo, ['rev-parse', '--verify', '--quiet', `${name}^{commit}`])
    if (found.code === 0) return found.out.toString('utf8').trim()
  }
  throw new BerthError(
    'not-found',
    `neither worktree nor branch of '${task}' is there any more`,
    'berth saved',
  )
}

/** With the target merged into it, the younger merge base; once landed (it would be HEAD itself), where it began. */
async function baseOf(
  repo: Repository,
  at: Git,
  { head, base, target, landedAs }: Pick<Compared, 'target' | 'landedAs'> & { head: string; base: string },
): Promise<string> {
  const before = landedAs === null ? await refOf(repo, target) : `${landedAs}^1`
  if (before === undefined) return base
  const commit = await line(at, ['rev-parse', '--verify', `${head}^{commit}`])
  return startOf(at, base, { head: commit, target: before })
}

async function refOf(repo: Repository, known: string | null): Promise<string | undefined> {
  const target = await findTarget(repo, { target: known })
  return target.is === 'missing' ? undefined : `refs/heads/${target.branch}`
}

const flags = ['--no-ext-diff', '--no-textconv', '-M', '--submodule=short']

async function shown(
  at: Git,
  args: string[],
  options: { index?: string; objects?: string },
): Promise<Uint8Array> {
  const result = await git(at, ['diff', ...flags, ...args], { ...options, maxBytes: patchBytesMax })
  if (result.code !== 0 && !result.truncated) throw failure(at, ['diff'], result)
  return result.out
}

/** Through a copy of the index and an object folder of its own: the agent's index and the store stay as they are. */
async function ofWorktree(worktree: Git, base: string, options: string[]): Promise<Uint8Array> {
  return withTempFolder(async folder => {
    const index = join(folder, 'index')
    const own = await line(worktree, ['rev-parse', '--path-format=absolute', '--git-path', 'index'])
    await copyFile(own, index).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOENT') throw error
    })
    const apart = { index, objects: folder }
    await ok(worktree, ['add', '--all', '--ignore-errors'], apart)
    return shown(worktree, ['--cached', ...options, base], apart)
  })
}

const letters: { [letter: string]: ChangedPath['change'] } = {
  A: 'added',
  M: 'modified',
  D: 'deleted',
  R: 'renamed',
  T: 'type',
  C: 'added',
}

/** Paths and counts between two commits. */
async function ofCommits(repo: Git, base: string, head: string): Promise<ChangedPath[]> {
  const out = await ok(repo, ['diff', ...flags, '--raw', '--numstat', '-z', base, head])
  const fields = out.toString('utf8').split('\0')
  const files: ChangedPath[] = []
  const counts = new Map<string, { insertions: number | null; deletions: number | null }>()
  while (fields.length > 1) {
    const field = fields.shift()!
    if (field.startsWith(':')) {
      const letter = field.split(' ')[4]![0]!
      const from = letter === 'R' || letter === 'C' ? fields.shift() : undefined
      const path = fields.shift()!
      files.push({
        path,
        change: letters[letter] ?? 'modified',
        insertions: null,
        deletions: null,
        ...(from && { from }),
      })
      continue
    }
    const [insertions, deletions, name] = field.split('\t')
    const path = name === '' ? (fields.shift(), fields.shift()!) : name!
    counts.set(path, { insertions: countOf(insertions!), deletions: countOf(deletions!) })
  }
  return files.map(file => ({ ...file, ...counts.get(file.path) }))
}

const countOf = (text: string): number | null => (text === '-' ? null : Number(text))
