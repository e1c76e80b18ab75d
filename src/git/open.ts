// Opening a repository: where its parts lie, who it is, and the preconditions with errors of their own.

import { createHash } from 'node:crypto'
import { readFileSync, readdirSync, statSync } from 'node:fs'
import { access, realpath, stat } from 'node:fs/promises'
import { homedir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { BerthError } from '../core/errors.ts'
import { gitCall, shellWord } from '../core/shellword.ts'
import { readSettings, type Settings } from './config.ts'
import { failure, type Git, type GitResult, git, gitEnvironment, reasonOf } from './git.ts'
import { listWorktrees } from './list.ts'
import { pathOf } from './path.ts'

export type Repository = Git & {
  /** First 16 hex digits of the SHA-256 of the common directory's real path: the project's id. */
  id: string
  /** The main worktree; of a bare repository its own directory. `dir` is the same. */
  root: string
  bare: boolean
  /** The git directory and the worktree of the place that was opened; `worktree` is null in a bare repository. */
  gitDir: string
  worktree: string | null
  version: string
  /** Handled, and named where it matters (docs/decisions/0034). */
  traits: { shallow: boolean; sparse: boolean; submodules: boolean; partial: boolean }
}

export type OpenOptions = {
  /** The caller's environment, as it is. */
  env: { [name: string]: string | undefined }
  hooksDir: string
}

/** `merge-tree --write-tree` is the newest thing that is needed. */
export const oldestGit = '2.38'

/**
 * Opens the repository that `dir` lies in. Errors: not-a-repository, no-commits, foreign-owner, bare-worktree,
 * git-too-old, each with a command as hint (docs/decisions/0034). Changes nothing.
 */
export async function openRepository(dir: string, options: OpenOptions): Promise<Repository> {
  const place = resolve(dir)
  const found = await stat(place).catch(() => undefined)
  if (!found?.isDirectory())
    throw new BerthError(
      'not-a-repository',
      `'${place}' is not a directory`,
      `ls ${shellWord(standing(place))}`,
    )
  const at: Git = {
    dir: place,
    commonDir: '',
    env: gitEnvironment(options.env),
    hooksDir: options.hooksDir,
  }
  const [version, dirs, worktree] = await Promise.all([
    gitVersion(at),
    askDirs(at),
    git(at, ['rev-parse', '--path-format=absolute', '--show-toplevel'], asked),
  ])
  const { isBare } = dirs
  const [commonDir, own] = await Promise.all([realpath(dirs.common), realpath(dirs.own)])
  const here: Git = { ...at, commonDir }
  if (isBare && own !== commonDir) throw bareWorktree(place, commonDir)
  const settings = await readSettings(here)
  if (settings.is('extensions.worktreeconfig') && settings.all.some(isSharedBare)) {
    throw bareWorktree(place, commonDir)
  }
  const root = await rootOf(here, { isBare, own, worktree })
  const repo: Git = { ...here, dir: root }
  await requireCommit(repo)
  return {
    ...repo,
    id: createHash('sha256').update(commonDir).digest('hex').slice(0, 16),
    root,
    bare: root === commonDir,
    gitDir: own,
    worktree: worktree.code === 0 ? pathFrom(worktree) : null,
    version,
    traits: await traitsOf(root, commonDir, settings),
  }
}

/** The nearest folder that is there. */
function standing(path: string): string {
  for (let folder = path; ; folder = dirname(folder))
    if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() || dirname(folder) === folder)
      return folder
}

const asked = { timeoutMs: 30_000 }

/** Where it lies, in one question; a line break in a path makes the answer ambiguous, and then each is asked alone. */
async function askDirs(at: Git): Promise<{ common: string; own: string; isBare: boolean }> {
  const questions = ['--is-bare-repository', '--absolute-git-dir', '--git-common-dir']
  const form = ['rev-parse', '--path-format=absolute']
  const all = await git(at, [...form, ...questions], asked)
  if (all.code !== 0) throw openFailure(at, all)
  const lines = pathFrom(all).split('\n')
  const [bare = '', own = '', common = ''] =
    lines.length === questions.length
      ? lines
      : await Promise.all(questions.map(async one => pathFrom(await git(at, [...form, one], asked))))
  return { common, own, isBare: bare === 'true' }
}

const pathFrom = (result: GitResult): string => pathOf(result.out.subarray(0, -1))

const isSharedBare = (setting: { scope: string; name: string; value: string }): boolean =>
  setting.scope === 'local' && setting.name === 'core.bare' && setting.value === 'true'

const versions = new Map<string, string>()

/** The version, asked once per PATH. Throws git-too-old. */
async function gitVersion(at: Git): Promise<string> {
  const key = at.env['PATH'] ?? ''
  const kept = versions.get(key)
  if (kept) return kept
  const result = await git({ ...at, dir: '.' }, ['version'], asked)
  if (result.code !== 0) throw failure(at, ['version'], result)
  const version = /(\d+)\.(\d+)(\.\d+)?/.exec(result.out.toString('utf8'))?.[0] ?? '0.0'
  if (!atLeast(version, oldestGit)) {
    const hint =
      'install a newer git (Ubuntu: sudo add-apt-repository ppa:git-core/ppa && sudo apt install git)'
    throw new BerthError('git-too-old', `git '${version}' is too old, '${oldestGit}' is needed`, hint)
  }
  versions.set(key, version)
  return version
}

/** Compares the first two numbers of versions. */
export function atLeast(version: string, wanted: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  const [wantedMajor = 0, wantedMinor = 0] = wanted.split('.').map(Number)
  return major > wantedMajor || (major === wantedMajor && minor >= wantedMinor)
}

function openFailure(at: Git, result: GitResult): BerthError {
  if (/dubious ownership|unsafe repository/.test(result.err)) {
    const owned = /repository (?:at )?'([^']+)'|repository \('([^']+)'/.exec(result.err)
    const path = owned?.[1] ?? owned?.[2] ?? at.dir
    return new BerthError(
      'foreign-owner',
      `'${path}' belongs to another user, and git does not trust it`,
      `git config --global --add safe.directory ${shellWord(path)}`,
    )
  }
  if (/not a git repository/.test(result.err)) {
    return new BerthError('not-a-repository', `'${at.dir}' is not in a git repository`, wayOut(at.dir))
  }
  return failure(at, ['rev-parse'], result)
}

/** Out of a folder that is in no repository: into the one below it; a new one only where it would hold none. */
function wayOut(dir: string): string {
  const below = readdirSync(dir, { withFileTypes: true }).flatMap(entry =>
    entry.isDirectory() ? (repositoryIn(join(dir, entry.name)) ?? []) : [],
  )
  const [only, ...others] = new Set(below)
  if (only !== undefined && others.length === 0) return `cd ${shellWord(only)}`
  const isBroad = dirname(dir) === dir || dir === homedir()
  return isBroad || only !== undefined
    ? `find ${shellWord(dir)} -maxdepth 3 -name .git -prune`
    : gitCall(dir, 'init')
}

/** The main worktree of the repository that is checked out in exactly this folder. */
function repositoryIn(folder: string): string | undefined {
  try {
    const entry = join(folder, '.git')
    if (statSync(entry).isDirectory()) return folder
    return /^gitdir: (.+)\/\.git\/worktrees\//.exec(readFileSync(entry, 'utf8'))?.[1]
  } catch {
    return undefined
  }
}

const bareWorktree = (place: string, commonDir: string): BerthError =>
  new BerthError(
    'bare-worktree',
    `the worktrees of '${commonDir}' believe that they are bare: 'core.bare' stands in the shared configuration ` +
      `although 'extensions.worktreeConfig' is set (seen from '${place}')`,
    `git config --file ${shellWord(join(commonDir, 'config.worktree'))} core.bare true && ` +
      `git config --file ${shellWord(join(commonDir, 'config'))} --unset core.bare`,
  )

/** The main worktree, or the common directory of a bare repository. */
async function rootOf(
  at: Git,
  { isBare, own, worktree }: { isBare: boolean; own: string; worktree: GitResult },
): Promise<string> {
  if (own === at.commonDir && isBare) return at.commonDir
  if (own === at.commonDir && worktree.code === 0) return pathFrom(worktree)
  const list = await listWorktrees(at)
  if (list.is === 'unknown')
    throw new BerthError('git-failed', `the worktrees of '${at.dir}' cannot be listed: ${list.reason}`)
  const main = list.entries[0]
  return !main || main.bare ? at.commonDir : main.path
}

async function requireCommit(at: Git): Promise<void> {
  const head = await git(at, ['rev-parse', '--verify', '--quiet', 'HEAD^{commit}'], asked)
  if (head.code === 0) return
  const refs = await git(at, ['for-each-ref', '--count=1', 'refs/heads', 'refs/remotes'], asked)
  if (refs.code !== 0)
    throw new BerthError('git-failed', `the refs of '${at.dir}' cannot be read: ${reasonOf(refs)}`)
  if (refs.out.length > 0) return
  throw new BerthError(
    'no-commits',
    `the repository '${at.dir}' has no commit yet`,
    gitCall(at.dir, 'commit', '--allow-empty', '-m', 'first commit'),
  )
}

async function traitsOf(root: string, commonDir: string, settings: Settings): Promise<Repository['traits']> {
  const there = (file: string): Promise<boolean> =>
    access(file).then(
      () => true,
      () => false,
    )
  return {
    shallow: await there(join(commonDir, 'shallow')),
    sparse: settings.is('core.sparsecheckout'),
    submodules: await there(join(root, '.gitmodules')),
    partial: settings.all.some(({ name }) => /^remote\..+\.(promisor|partialclonefilter)$/.test(name)),
  }
}
