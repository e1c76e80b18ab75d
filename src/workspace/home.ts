// The home of a task: its directories, its git settings, and which tool homes outside it are shared.

import { chmod, lstat, mkdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { BerthError } from '../core/errors.ts'
import { failure, git, type Git } from '../git/git.ts'
import { atomicWrite } from '../store/files.ts'
import { type Environment, type Identity } from './environment.ts'
import { type Person } from './site.ts'

export type GitSetting = {
  key: string
  /** Null: the bare key, which git reads as true. */ value: string | null
}

/** The person's effective global git settings, without identity, credentials, signing and hooks. */
export type PersonGit = {
  /** For the home's `.gitconfig`. */
  all: GitSetting[]
  /** Those that must hold even for a program that turns the global file off: as GIT_CONFIG_COUNT pairs. */
  passed: { key: string; value: string }[]
}

/** Reads what tasks need of the person's own set-up. Once per call: it asks git and the disk. */
export async function readPerson(at: Git, caller: Environment): Promise<Person> {
  const home = caller['HOME'] ?? caller['USERPROFILE'] ?? ''
  const [settings, toolHomes] = await Promise.all([readPersonGit(at, caller), findToolHomes(caller, home)])
  return { git: settings, toolHomes }
}

/** Makes the home (0700) and its `.gitconfig`; an existing home keeps everything else. */
export async function makeHome(input: { home: string; identity: Identity; git: PersonGit }): Promise<void> {
  const { home, identity } = input
  await mkdir(home, { recursive: true, mode: 0o700 })
  const made = await lstat(home)
  if (!made.isDirectory()) throw new BerthError('path-refused', `'${home}' is not a directory of Berth's own`)
  await chmod(home, 0o700)
  for (const inner of innerDirectories) await mkdir(join(home, ...inner), { recursive: true })
  const settings: GitSetting[] = [
    ...input.git.all,
    { key: 'user.name', value: identity.name },
    { key: 'user.email', value: identity.email },
    { key: 'commit.gpgsign', value: 'false' },
    { key: 'tag.gpgsign', value: 'false' },
  ]
  atomicWrite(join(home, '.gitconfig'), gitConfigText(settings), 0o600)
}

/**
 * Asks git for the person's global settings, with the person's own HOME and includes resolved. What they mean
 * relative to that HOME (`~/…`, the default excludes file) is spelled out, since the task's home is another.
 * Throws BerthError when git cannot tell: an unreadable configuration is not an empty one.
 */
export async function readPersonGit(at: Git, caller: Environment): Promise<PersonGit> {
  const args = ['config', '--global', '--includes', '--list', '-z']
  const listed = await git(at, args)
  // A caller without a HOME (a service, a bare container) has no global settings either.
  const absent = /unable to read config file .*: No such file|^fatal: \$HOME not set/m
  const none = listed.code !== 0 && absent.test(listed.err)
  if (listed.code !== 0 && !none) throw failure(at, args, listed)
  const personHome = caller['HOME'] ?? caller['USERPROFILE'] ?? ''
  const told = parseSettings(listed.out.toString('utf8'))
    .filter(({ key, value }) => isShared(key, value))
    .map(({ key, value }) => ({ key, value: value === null ? null : fromHome(value, personHome) }))
  const all = [...told, ...(await defaultFiles(told, caller, personHome))]
  const passed = all.flatMap(({ key, value }) => (isPassed(key) ? [{ key, value: value ?? 'true' }] : []))
  return { all, passed }
}

/**
 * Tool homes and caches that exist, variable to place: what stands in the caller's variable, else the tool's
 * own default below the person's home (docs/decisions/0012). Nothing is made.
 */
export async function findToolHomes(
  caller: Environment,
  personHome: string,
): Promise<{ [name: string]: string }> {
  const cache = caller['XDG_CACHE_HOME'] || join(personHome, '.cache')
  const data = caller['XDG_DATA_HOME'] || join(personHome, '.local', 'share')
  const defaults: { [name: string]: string | undefined } = {
    ...Object.fromEntries(Object.entries(belowHome).map(([name, place]) => [name, join(personHome, place)])),
    ...Object.fromEntries(Object.entries(belowCache).map(([name, place]) => [name, join(cache, place)])),
    MISE_DATA_DIR: join(data, 'mise'),
    SSH_AUTH_SOCK: undefined,
  }
  const found = await Promise.all(
    Object.entries(defaults).map(async ([name, fallback]) => {
      const told = caller[name]
      const place = told !== undefined && told !== '' ? told : fallback
      if (place === undefined || (personHome === '' && place === fallback)) return []
      return (await stat(place).catch(() => undefined)) === undefined ? [] : [[name, place] as const]
    }),
  )
  return Object.fromEntries(found.flat())
}

/** A configuration file with these settings, each in a section of its own: git reads the last one of a key. */
export function gitConfigText(settings: GitSetting[]): string {
  const lines = settings.map(({ key, value }) => {
    const first = key.indexOf('.')
    const last = key.lastIndexOf('.')
    const section = key.slice(0, first)
    const sub = first === last ? '' : ` "${key.slice(first + 1, last).replace(/[\\"]/g, '\\$&')}"`
    const name = key.slice(last + 1)
    return `[${section}${sub}]\n\t${value === null ? name : `${name} = ${quoted(value)}`}\n`
  })
  return `# Made by Berth from the person's global settings; a new workspace makes it anew.\n${lines.join('')}`
}

const innerDirectories = [
  ['.config'],
  ['.local', 'share'],
  ['.local', 'state'],
  ['.cache'],
  ['AppData', 'Roaming'],
  ['AppData', 'Local'],
]

const belowHome: { [name: string]: string } = {
  CARGO_HOME: '.cargo',
  RUSTUP_HOME: '.rustup',
  GOPATH: 'go',
  NVM_DIR: '.nvm',
  PYENV_ROOT: '.pyenv',
  RBENV_ROOT: '.rbenv',
  VOLTA_HOME: '.volta',
  ASDF_DATA_DIR: '.asdf',
  SDKMAN_DIR: '.sdkman',
  GRADLE_USER_HOME: '.gradle',
  DOCKER_CONFIG: '.docker',
  NPM_CONFIG_USERCONFIG: '.npmrc',
  npm_config_cache: '.npm',
}

const belowCache: { [name: string]: string } = {
  PIP_CACHE_DIR: 'pip',
  UV_CACHE_DIR: 'uv',
  GOCACHE: 'go-build',
  YARN_CACHE_FOLDER: 'yarn',
  COREPACK_HOME: join('node', 'corepack'),
  PLAYWRIGHT_BROWSERS_PATH: 'ms-playwright',
}

/** `git config -z`: key, newline, value, NUL; a key without a value has no newline. */
function parseSettings(text: string): GitSetting[] {
  return text
    .split('\0')
    .filter(entry => entry !== '')
    .map(entry => {
      const at = entry.indexOf('\n')
      return at < 0 ? { key: entry, value: null } : { key: entry.slice(0, at), value: entry.slice(at + 1) }
    })
}

/** Identity, credentials, signing, hooks, and what includes have already been resolved into. */
const withheld = new RegExp(
  '^(user|author|committer|credential|gpg|include|includeif|sendemail|imap|maintenance)\\.' +
    '|^(commit|tag|push)\\.gpgsign$|^(log|merge)\\..*signature' +
    '|^core\\.(hookspath|askpass|fsmonitor|editor|pager)$|^init\\.templatedir$|^sequence\\.editor$' +
    '|^http\\.(.*\\.)?(extraheader|cookiefile|savecookies|sslkey|sslcert|sslcertpasswordprotected|proxyauthmethod)$' +
    '|^hook\\.|^trace2\\.|^safe\\.barerepository$',
  'i',
)

/** `https://name:token@host`, in a key (`url.<base>.insteadof`) or in a value. */
const withPassword = /:\/\/[^/\s]*@/

const isShared = (key: string, value: string | null): boolean =>
  !withheld.test(key) && !withPassword.test(key) && !withPassword.test(value ?? '')

const isPassed = (key: string): boolean =>
  /^filter\./i.test(key) ||
  /^core\.(excludesfile|attributesfile|autocrlf)$/i.test(key) ||
  /^safe\.directory$/i.test(key)

const fromHome = (value: string, personHome: string): string =>
  value.startsWith('~/') && personHome !== '' ? join(personHome, value.slice(2)) : value

/** Where no setting names them, git reads these two below the person's own configuration directory. */
async function defaultFiles(
  told: GitSetting[],
  caller: Environment,
  personHome: string,
): Promise<GitSetting[]> {
  const config = caller['XDG_CONFIG_HOME'] || (personHome === '' ? '' : join(personHome, '.config'))
  if (config === '') return []
  const files = [
    { key: 'core.excludesfile', value: join(config, 'git', 'ignore') },
    { key: 'core.attributesfile', value: join(config, 'git', 'attributes') },
  ]
  const missing = files.filter(({ key }) => !told.some(each => each.key.toLowerCase() === key))
  const there = await Promise.all(missing.map(({ value }) => stat(value).catch(() => undefined)))
  return missing.filter((_, i) => there[i]?.isFile())
}

const quoted = (value: string): string =>
  `"${value.replace(/\\/g, '\\\\').replace(/"/g, '\\"').replace(/\n/g, '\\n').replace(/\t/g, '\\t')}"`
