// The only runner of git: its environment, its flags, its limits and what its failures mean.

import { BerthError } from '../core/errors.ts'
import { shellWord } from '../core/shellword.ts'
import { run } from '../platform/exec.ts'

export type Environment = { [name: string]: string }

/** Where a command runs. `env` is already scrubbed (`gitEnvironment`). */
export type Git = {
  /** The directory that `git -C` gets: a worktree, or the repository. */
  dir: string
  commonDir: string
  env: Environment
  /** An empty directory of Berth's own: no repository hook runs but by name (docs/decisions/0017). */
  hooksDir: string
}

export type GitOptions = {
  input?: string | Uint8Array
  timeoutMs?: number
  maxBytes?: number
  /** Another index file than the worktree's own. */
  index?: string
  /** Added to the environment: an identity, say. */
  env?: Environment
  /** Another object directory, with the repository's own as alternate: nothing is added to the repository. */
  objects?: string
  /** More `-c` settings, as `name=value`. */
  config?: readonly string[]
  /** Let the repository's own hooks run. Only for `git hook run`. */
  hooks?: boolean
  /** Pathspecs are names, not patterns. */
  literal?: boolean
  signal?: AbortSignal
  /** Waits at most this long for a lock that another program holds, trying again. */
  lockMs?: number
}

export type GitResult = {
  code: number | null
  /** What ended it, where it did not end by itself. */
  signal: string | null
  out: Buffer
  /** Standard error, in English. */
  err: string
  timedOut: boolean
  truncated: boolean
  missing: boolean
}

const second = 1_000
const defaultTimeoutMs = 120 * second
const defaultMaxBytes = 256_000_000
const lockStepMs = 50

/** Runs git and says how it ended. Never throws for what git does. */
export async function git(at: Git, args: readonly string[], options: GitOptions = {}): Promise<GitResult> {
  let left = options.lockMs ?? 0
  for (;;) {
    const result = await once(at, args, options)
    if (result.code === 0 || left <= 0 || options.signal?.aborted || !isLockFailure(result.err)) return result
    await pause(lockStepMs)
    left -= lockStepMs
  }
}

/** As `git`, but anything else than exit 0 is a BerthError (`git-failed`, `git-busy`, `timeout`). */
export async function ok(at: Git, args: readonly string[], options: GitOptions = {}): Promise<Buffer> {
  const result = await git(at, args, options)
  if (result.code !== 0 || result.truncated) throw failure(at, args, result)
  return result.out
}

/** As `ok`, for one line of text. */
export async function line(at: Git, args: readonly string[], options: GitOptions = {}): Promise<string> {
  return (await ok(at, args, options)).toString('utf8').replace(/\n$/, '')
}

/** The error of a failed command: git's own first line, and the lock file where one was in the way. */
export function failure(at: Git, args: readonly string[], result: GitResult): BerthError {
  if (result.missing) return new BerthError('git-too-old', "'git' is not installed, or not on the PATH")
  const what = `git ${args[0] ?? ''}`.trim()
  if (result.timedOut) return new BerthError('timeout', `'${what}' in '${at.dir}' did not end in time`)
  if (result.truncated) return new BerthError('git-failed', `'${what}' in '${at.dir}' printed too much`)
  const lock = lockFileOf(result.err)
  if (lock) {
    const message = `git is busy in '${at.dir}': '${lock}' is there, and can go if no program holds it`
    return new BerthError('git-busy', message, `ls -l ${shellWord(lock)}`)
  }
  return new BerthError('git-failed', `'${what}' in '${at.dir}' failed: ${reasonOf(result)}`)
}

/** Git's first line that says why, without its prefix. */
export function reasonOf(result: GitResult): string {
  if (result.missing) return "'git' is not installed"
  if (result.timedOut) return 'it did not end in time'
  const lines = result.err.split('\n').filter(text => text.trim() !== '' && !text.startsWith('hint:'))
  const chosen = lines.find(text => /^(fatal|error): /.test(text)) ?? lines[0]
  return (
    chosen?.replace(/^(fatal|error): /, '').trim() ??
    (result.signal === null ? `exit code ${result.code ?? 'none'}` : `it was ended by ${result.signal}`)
  )
}

/** The lock file that git named, if a lock was what stopped it. */
export function lockFileOf(err: string): string | undefined {
  const match =
    /Unable to create '([^\n]+\.lock)': File exists/.exec(err) ??
    /could not lock config file ([^\n]+?): File exists/.exec(err)
  if (!match?.[1]) return undefined
  return match[1].endsWith('.lock') ? match[1] : `${match[1]}.lock`
}

/** The same repository, seen from another of its worktrees. */
export const inDirectory = (at: Git, dir: string): Git => ({
  dir,
  commonDir: at.commonDir,
  env: at.env,
  hooksDir: at.hooksDir,
})

/** The repository itself. Named to git, not found by it: of a folder it finds it asks whether its owner is trusted. */
export const inRepository = (at: Git): Git => ({
  ...inDirectory(at, at.commonDir),
  env: { ...at.env, GIT_DIR: at.commonDir },
})

/**
 * The environment for git from a caller's: everything that redirects git or names an author is gone, its language is
 * English, nothing prompts (docs/safety.md, "Creation"). The caller's own configuration (HOME, GIT_CONFIG_GLOBAL,
 * proxies, certificates, ssh) is kept. An allow-list: a variable that git learns later is dropped.
 */
export function gitEnvironment(caller: { [name: string]: string | undefined }): Environment {
  const env: Environment = {}
  for (const [name, value] of Object.entries(caller)) {
    if (value === undefined || (name.toUpperCase().startsWith('GIT_') && !keptVariables.test(name))) continue
    if (localeVariables.has(name)) continue
    env[name] = value
  }
  return {
    ...env,
    LC_ALL: 'C',
    GIT_TERMINAL_PROMPT: '0',
    GIT_OPTIONAL_LOCKS: '0',
    GIT_EDITOR: ':',
    GIT_SEQUENCE_EDITOR: ':',
    GIT_MERGE_AUTOEDIT: 'no',
    GIT_PAGER: 'cat',
    GIT_ASKPASS: '',
    SSH_ASKPASS_REQUIRE: 'never',
  }
}

const localeVariables = new Set(['LANGUAGE', 'LC_ALL'])

const keptVariables = new RegExp(
  '^GIT_(CONFIG_(GLOBAL|SYSTEM|NOSYSTEM)|EXEC_PATH|TEMPLATE_DIR|SSL_.*|SSH|SSH_COMMAND|SSH_VARIANT' +
    '|PROXY_.*|PROXY_SSL_.*|HTTP_.*|CURL_.*|ALLOW_PROTOCOL|PROTOCOL|LFS_.*|CEILING_DIRECTORIES' +
    '|DISCOVERY_ACROSS_FILESYSTEM|TEST_ASSUME_DIFFERENT_OWNER)$',
  'i',
)

async function once(at: Git, args: readonly string[], options: GitOptions): Promise<GitResult> {
  const ended = await run('git', [...flags(at, options), ...args], {
    env: environment(at, options),
    timeoutMs: options.timeoutMs ?? defaultTimeoutMs,
    maxBytes: options.maxBytes ?? defaultMaxBytes,
    ...(options.input === undefined ? {} : { input: options.input }),
    ...(options.signal ? { signal: options.signal } : {}),
  })
  const { code, signal, out, timedOut, truncated, missing } = ended
  return { code, signal, out, err: ended.err.toString('utf8'), timedOut, truncated, missing }
}

function flags(at: Git, options: GitOptions): string[] {
  const settings = [
    'core.fsmonitor=false',
    ...(options.hooks ? [] : [`core.hooksPath=${at.hooksDir}`]),
    'gc.auto=0',
    'maintenance.auto=false',
    'commit.gpgsign=false',
    'color.ui=false',
    'submodule.recurse=false',
    'i18n.commitEncoding=UTF-8',
    // A temporary index must not leave its shared half in the repository.
    ...(options.index ? ['core.splitIndex=false'] : []),
    // A person may forbid bare repositories that were only found; this one was opened by a worktree or by name.
    ...(at.dir === at.commonDir ? ['safe.bareRepository=all'] : []),
    ...(options.config ?? []),
  ]
  const literal = options.literal ? ['--literal-pathspecs'] : []
  return [...settings.flatMap(setting => ['-c', setting]), '--no-pager', ...literal, '-C', at.dir]
}

function environment(at: Git, options: GitOptions): Environment {
  return {
    ...at.env,
    ...(options.index ? { GIT_INDEX_FILE: options.index } : {}),
    ...(options.objects
      ? { GIT_OBJECT_DIRECTORY: options.objects, GIT_ALTERNATE_OBJECT_DIRECTORIES: `${at.commonDir}/objects` }
      : {}),
    ...options.env,
  }
}

/** A lock of another program, or an entry that another program is just writing (case 08). */
const isLockFailure = (err: string): boolean =>
  lockFileOf(err) !== undefined || /failed to read [^\n]*commondir|bad object worktrees\//.test(err)

const pause = (ms: number): Promise<void> =>
  new Promise(resolve => {
    setTimeout(resolve, ms)
  })
