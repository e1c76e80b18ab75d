// Filling a new worktree: the files, what is said about them, and the repository's own post-checkout hook.

import { access, readFile } from 'node:fs/promises'
import { availableParallelism } from 'node:os'
import { join, resolve } from 'node:path'
import { type BerthError } from '../core/errors.ts'
import { filterError, filtersNamed, missingFilters, type Settings } from './config.ts'
import { type Git, type GitResult, git, inDirectory, ok } from './git.ts'
import { splitNul } from './path.ts'
import { type Repository } from './open.ts'

const checkoutMs = 30 * 60_000
const hookMs = 10 * 60_000
const hookTextLimit = 2_000
/** Below this many files parallel checkout costs more than it gives. */
const parallelFrom = 2_000

/**
 * How many processes of git write the files of a big tree. Worktrees are made side by side, so each gets its share of
 * the cores; with one or two cores a second process costs more than it gives (docs/performance.md).
 */
export const workersOf = (cores: number): number => Math.min(4, Math.max(1, Math.floor(cores / 2)))

/** Writes index and files of HEAD. Outside the repository lock: it touches nothing but this worktree. */
export async function fillWorktree(at: Git, signal: AbortSignal | undefined): Promise<GitResult> {
  return git(at, ['reset', '--hard', '--quiet', '--no-recurse-submodules'], {
    timeoutMs: checkoutMs,
    config: [
      `checkout.workers=${workersOf(availableParallelism())}`,
      `checkout.thresholdForParallelism=${parallelFrom}`,
    ],
    ...(signal ? { signal } : {}),
  })
}

/**
 * Runs the repository's own post-checkout hook as `git worktree add` would. Returns its text if it failed: that is a
 * warning, not a failure (case 10). Undefined where there is none or all went well.
 */
export async function runPostCheckout(
  at: Git,
  { settings, commit, signal }: { settings: Settings; commit: string; signal?: AbortSignal | undefined },
): Promise<string | undefined> {
  const file = join(hooksFolder(at, settings), 'post-checkout')
  if (!(await isThere(file))) return undefined
  const zero = '0'.repeat(commit.length)
  const result = await git(
    at,
    ['hook', 'run', '--ignore-missing', 'post-checkout', '--', zero, commit, '1'],
    {
      hooks: true,
      timeoutMs: hookMs,
      ...(signal ? { signal } : {}),
    },
  )
  if (result.code === 0) return undefined
  const text = (result.err + result.out.toString('utf8')).trim().slice(0, hookTextLimit)
  const ended = result.timedOut ? 'did not end in time' : `exited with ${result.code ?? 'no code'}`
  return `the repository's post-checkout hook ${ended}${text === '' ? '' : `: ${text}`}`
}

/** The error of a required filter that this commit needs and whose program is not installed (case 12). */
export async function filterProblem(
  repo: Repository,
  { settings, commit }: { settings: Settings; commit: string },
): Promise<BerthError | undefined> {
  const missing = await missingFilters(settings, repo.env['PATH'] ?? '')
  if (missing.length === 0) return undefined
  const used = new Set(filtersNamed(await attributesOf(repo, { settings, commit })))
  const needed = missing.find(({ filter }) => used.has(filter))
  return needed && filterError(needed)
}

/** What a person should know about the files of a new worktree. */
export async function noticesOf(path: string, settings: Settings): Promise<string[]> {
  const notices: string[] = []
  const attributes = await readFile(join(path, '.gitattributes'), 'utf8').catch(() => '')
  for (const filter of new Set(filtersNamed(attributes))) {
    if (settings.all.some(({ name }) => name.startsWith(`filter.${filter}.`))) continue
    notices.push(`files with 'filter=${filter}' are left as they are in git: no such filter is configured`)
  }
  if (await isThere(join(path, '.gitmodules'))) {
    notices.push("the submodules are not filled: setup can do it with 'git submodule update --init'")
  }
  return notices
}

export const isThere = (file: string): Promise<boolean> =>
  access(file).then(
    () => true,
    () => false,
  )

/** Where hooks lie: a relative `core.hooksPath` counts from the worktree, as git has it. */
function hooksFolder(at: Git, settings: Settings): string {
  const set = settings.get('core.hookspath')
  if (set === undefined || set === '') return join(at.commonDir, 'hooks')
  return set.startsWith('~/') ? join(at.env['HOME'] ?? '', set.slice(2)) : resolve(at.dir, set)
}

/** All attribute lines that count for a commit: in its tree, of the repository, of the person. */
async function attributesOf(
  repo: Repository,
  { settings, commit }: { settings: Settings; commit: string },
): Promise<string> {
  const at = inDirectory(repo, repo.root)
  const names = splitNul(await ok(at, ['ls-tree', '-r', '-z', '--name-only', '--full-tree', commit]))
  const inTree = names.filter(name => name === '.gitattributes' || name.endsWith('/.gitattributes'))
  const texts = await Promise.all(inTree.map(name => ok(at, ['cat-file', 'blob', `${commit}:${name}`])))
  const own = settings.get('core.attributesfile')?.replace(/^~(?=\/)/, repo.env['HOME'] ?? '')
  const fallback = join(
    repo.env['XDG_CONFIG_HOME'] ?? join(repo.env['HOME'] ?? '', '.config'),
    'git',
    'attributes',
  )
  const files = [join(repo.commonDir, 'info', 'attributes'), own ?? fallback]
  const local = await Promise.all(files.map(file => readFile(file, 'utf8').catch(() => '')))
  return [...texts.map(text => text.toString('utf8')), ...local].join('\n')
}
