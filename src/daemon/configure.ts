// Which configuration counts for a repository: the target's berth.toml, the user's own, BERTH_* and flags put
// over each other, with what a person has to consent to (docs/decisions/0016).

import { createHash } from 'node:crypto'
import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import { realpathSync } from 'node:fs'
import { TomlError, parse } from 'smol-toml'
import { BerthError, type ErrorCode } from '../core/errors.ts'
import { nearest } from '../core/nearest.ts'
import { type Base, type Layer, mergeSettings, type Merged } from '../core/policy.ts'
import { checkSettings, lineOf, type UserSettings } from '../core/settings.ts'
import { editAt, gitCall } from '../core/shellword.ts'
import { checkCopies, includedPatterns, type Source } from './copypatterns.ts'
import { git } from '../git/git.ts'
import { type Repository } from '../git/open.ts'
import { tipOf } from '../git/branch.ts'
import { findTarget, usualRemote } from '../git/target.ts'
import { platform } from '../platform/platform.ts'
import { readIfThere } from '../store/files.ts'

type Environment = { [name: string]: string | undefined }

/** Flags of the call, over everything else. */
export type Flags = { jobs?: number; land?: 'auto' | 'ask' | 'never'; engine?: string }

export type Configured = Merged & {
  /** Where the repository's was read: `berth.toml at main 1a2b3c4d5e`, `berth.toml of the checkout`, `none`. */
  source: string
  /** Of what needs consent; of nothing, the digest of nothing. */
  hash: string
  /** The user's configuration trusts this repository, or the caller's BERTH_TRUST is 1. */
  trusted: boolean
  /** The branch whose berth.toml counts. */
  target: string
  /** That the checkout's berth.toml says something else and does not count, with the command that shows it. */
  unread?: string
  /** Where a setting was given, by the keys and indexes that lead to it; undefined if in no file. */
  placeOf(path: (string | number)[]): SettingPlace | undefined
}

/** File and line for a person, and the command that leads there. */
export type SettingPlace = { where: string; hint: string }

/** A text that settings are read from. */
type Sourced = Layer & { source?: Source }

/** The error of a setting that is well-formed and cannot work, with its place where it has one. */
export const settingError = (
  code: ErrorCode,
  message: string,
  { place, hint }: { place: SettingPlace | undefined; hint: string },
): BerthError =>
  new BerthError(code, place === undefined ? message : `${place.where}: ${message}`, place?.hint ?? hint)

/**
 * Reads and merges the configuration. `root`: where worktrees go if nothing is said; absolute. Throws BerthError
 * `config` with file, line and the nearest valid key. Reads only.
 */
export async function configure(
  repo: Repository,
  { env, flags, root }: { env: Environment; flags?: Flags; root: string },
): Promise<Configured> {
  const user = readUser(env)
  const environment = environmentLayer(env)
  const above = [...(user ? [user.layer] : []), ...environment, ...flagLayers(flags ?? {})]
  const remote = await usualRemote(repo)
  const own = await readOwn(repo, above, remote)
  const layers: Sourced[] = [...(own.layer ? [own.layer] : []), ...above]
  for (const { settings, source } of layers)
    if (settings.copies && source) checkCopies(repo.root, settings.copies, source)
  const base: Base = {
    repository: repo.root,
    root,
    remote,
    jobs: platform.defaultJobs(),
    resolve: (folder, path) => resolve(folder, path),
    include: own.include,
  }
  const merged = mergeSettings(layers, base)
  const hash = createHash('sha256').update(merged.consent.join('\n')).digest('hex')
  const trusted = env['BERTH_TRUST'] === '1' || isTrusted(repo, user?.trust ?? [], env)
  const placeOf: Configured['placeOf'] = path => placeIn(layers, path)
  if (merged.policy.engines[merged.policy.defaultEngine] === undefined)
    throw unknownDefault(merged, placeOf(['engine']))
  return {
    ...merged,
    source: own.source,
    hash,
    trusted,
    target: own.target,
    placeOf,
    ...(own.unread && { unread: own.unread }),
  }
}

function placeIn(layers: Sourced[], path: (string | number)[]): SettingPlace | undefined {
  const has = ({ settings }: Sourced): boolean =>
    path.reduce((at: unknown, key) => (at as { [key: string]: unknown } | undefined)?.[key], settings) !==
    undefined
  const source = layers.findLast(has)?.source
  if (source === undefined) return undefined
  const line = lineOf(source.text, path)
  return { where: `'${source.shown}', line ${line}`, hint: source.way(line) }
}

/**
 * Whether consent to what the repository makes Berth run is there: nothing to consent to, or given to exactly this
 * `before`; given `now` (by `trust`, or by the user's configuration), and to be recorded; or missing.
 */
export function consentTo(
  { consent, hash, trusted }: Configured,
  { trust, before }: { trust: boolean; before: readonly string[] },
): 'before' | 'now' | 'missing' {
  if (consent.length === 0 || before.includes(hash)) return 'before'
  return trust || trusted ? 'now' : 'missing'
}

/** The error of a call that needs consent first; who puts the question knows the hint. */
export function consentNeeded({ consent, source }: Configured): BerthError {
  const message = `'${source}' makes Berth run or copy what nobody has agreed to: ${consent.join('; ')}`
  return new BerthError('consent-needed', message, 'berth config', { lines: consent, source })
}

type Own = { source: string; target: string; layer?: Sourced; include: string[]; unread?: string }

/** A berth.toml may name another target: that one's berth.toml counts then. Not more often than this. */
const hopsMax = 3

async function readOwn(repo: Repository, above: Layer[], usual: string): Promise<Own> {
  const checkout = checkoutOf(repo)
  const told = last(above, 'target')
  const remote = last(above, 'remote') ?? checkout.hint('remote') ?? usual
  let wanted = told ?? checkout.hint('target') ?? null
  for (let hop = 0; ; hop++) {
    const target = await findTarget(repo, { target: wanted, remote })
    if (target.is === 'missing') throw new BerthError('config', target.what, target.hint)
    const found = await ofCommit(repo, target.branch)
    const next = found?.layer?.settings.target
    if (told !== undefined || next === undefined || next === target.branch)
      return {
        ...(found ? { ...found, ...checkout.beside(target.branch, found) } : checkout.own()),
        target: target.branch,
      }
    if (hop === hopsMax) {
      const message = `the targets that berth.toml names lead in a circle, at '${next}'`
      throw new BerthError('config', message, 'berth config')
    }
    wanted = next
  }
}

const last = (layers: Layer[], key: 'target' | 'remote'): string | undefined =>
  layers.findLast(layer => layer.settings[key] !== undefined)?.settings[key]

const fileName = 'berth.toml'
const includeName = '.worktreeinclude'

/**
 * The person's checkout: what counts while the target has no berth.toml. Until then only its target and remote are
 * asked of it, and a mistake in it is nobody's business.
 */
function checkoutOf(repo: Repository): {
  hint: (key: 'target' | 'remote') => string | undefined
  own: () => Own
  /** Beside that of the target, which counts. */
  beside: (branch: string, counts: Own) => Pick<Own, 'unread'>
} {
  const folder = repo.worktree ?? (repo.bare ? undefined : repo.root)
  const read = (name: string) =>
    folder === undefined ? undefined : readIfThere(join(folder, name))?.toString('utf8')
  const text = read(fileName)
  const include = (): Source | undefined => {
    const lines = read(includeName)
    return lines === undefined ? undefined : fileSource(join(folder ?? '', includeName), lines)
  }
  return {
    hint: key => {
      const value = lenient(text)[key]
      return typeof value === 'string' ? value : undefined
    },
    own: () => {
      const source = text === undefined ? 'none' : `${fileName} of the checkout`
      return {
        ...ownOf(source, text === undefined ? undefined : fileSource(join(folder ?? '', fileName), text)),
        include: includedPatterns(repo.root, include()),
      }
    },
    beside: (branch, { layer }) => {
      const lines = (one: string | undefined) => one?.replaceAll('\r\n', '\n')
      if (text === undefined || folder === undefined || lines(text) === lines(layer?.source?.text)) return {}
      const way = gitCall(folder, 'diff', branch, '--', fileName)
      return {
        unread: `${fileName} in your checkout differs from that of '${branch}', which counts (${way})`,
      }
    },
  }
}

function lenient(text: string | undefined): { [key: string]: unknown } {
  try {
    return parse(text ?? '')
  } catch {
    return {}
  }
}

/** Undefined: the commit has no berth.toml. */
async function ofCommit(repo: Repository, branch: string): Promise<Own | undefined> {
  const tip = await tipOf(repo, `refs/heads/${branch}`)
  if (tip.is === 'unknown') throw new BerthError('git-failed', `git cannot read '${branch}': ${tip.reason}`)
  const commit = tip.commit ?? (await remoteTip(repo, branch))
  if (commit === undefined) return undefined
  const read = async (name: string): Promise<Source | undefined> => {
    const text = await blob(repo, commit, name)
    const way = gitCall(repo.root, 'show', `${commit.slice(0, 10)}:${name}`)
    return text === undefined ? undefined : { shown: `${branch}:${name}`, text, way: () => way }
  }
  const own = await read(fileName)
  if (own === undefined) return undefined
  const source = `${fileName} at ${branch} ${commit.slice(0, 10)}`
  return { ...ownOf(source, own), include: includedPatterns(repo.root, await read(includeName)) }
}

async function remoteTip(repo: Repository, branch: string): Promise<string | undefined> {
  const tip = await git(repo, ['for-each-ref', '--format=%(objectname)', `refs/remotes/*/${branch}`])
  return tip.out.toString('utf8').split('\n')[0]?.trim() || undefined
}

/** What commits hold never changes: asked once while it is asked for again and again. */
const blobs = new Map<string, Promise<string | undefined>>()
const blobsMax = 100

function blob(repo: Repository, commit: string, path: string): Promise<string | undefined> {
  const key = JSON.stringify([repo.commonDir, commit, path])
  const kept = blobs.get(key) ?? readBlob(repo, commit, path)
  blobs.delete(key)
  blobs.set(key, kept)
  kept.catch(() => blobs.delete(key))
  for (const oldest of blobs.keys()) {
    if (blobs.size <= blobsMax) break
    blobs.delete(oldest)
  }
  return kept
}

/** A file of a commit; undefined if it has none. A failed look is an error, never "it has none". */
async function readBlob(repo: Repository, commit: string, path: string): Promise<string | undefined> {
  const listed = await git(repo, ['ls-tree', '-z', commit, '--', path])
  if (listed.code !== 0)
    throw new BerthError('git-failed', `git cannot list '${commit}': ${listed.err.trim()}`)
  const object = /^100\d{3} blob ([0-9a-f]+)\t/.exec(listed.out.toString('utf8'))?.[1]
  if (object === undefined) return undefined
  const shown = await git(repo, ['cat-file', 'blob', object])
  if (shown.code !== 0)
    throw new BerthError('git-failed', `git cannot read '${commit}:${path}': ${shown.err.trim()}`)
  return shown.out.toString('utf8')
}

const fileSource = (file: string, text: string): Source => ({
  shown: file,
  text,
  way: line => editAt(file, line),
})

function ownOf(from: string, source: Source | undefined): Own {
  const none = { source: from, target: '', include: [] }
  if (source === undefined) return none
  return { ...none, layer: { from, settings: parsed(source, 'repository'), repository: true, source } }
}

/** Parses and checks one file. Throws `config`, with file and line. */
function parsed({ text, shown, way }: Source, of: 'repository' | 'user'): UserSettings {
  let document: unknown
  try {
    document = parse(text)
  } catch (error) {
    if (!(error instanceof TomlError)) throw error
    const reason = error.message.split('\n')[0]!.replace(/^Invalid TOML document: /, '')
    const { line, column } = error
    throw new BerthError('config', `'${shown}', line ${line}, column ${column}: ${reason}`, way(line))
  }
  const checked = checkSettings(document, text, of)
  if (checked.is === 'settings') return checked.settings
  const { line, message, advice } = checked
  throw new BerthError(
    'config',
    `'${shown}', line ${line}: ${message}${advice ? `; ${advice}` : ''}`,
    way(line),
  )
}

/** The user's own configuration: the person's HOME counts, never where Berth stores things (docs/decisions/0011). */
export function userConfigFile(env: Environment): string {
  const home = env['HOME'] ?? env['USERPROFILE'] ?? homedir()
  const folder =
    env['XDG_CONFIG_HOME'] || (platform.name === 'windows' && env['APPDATA']) || join(home, '.config')
  return join(folder, 'berth', 'config.toml')
}

function readUser(env: Environment): { layer: Sourced; trust: string[] } | undefined {
  const file = userConfigFile(env)
  const text = readIfThere(file)?.toString('utf8')
  if (text === undefined) return undefined
  const source = fileSource(file, text)
  const { trust, ...settings } = parsed(source, 'user')
  return { layer: { from: file, settings, repository: false, source }, trust: trust ?? [] }
}

/** Not BERTH_TARGET or BERTH_BASE: those tell an agent about its own task. */
function environmentLayer(env: Environment): Layer[] {
  const keys = {
    BERTH_ENGINE: 'engine',
    BERTH_LAND: 'land',
    BERTH_LANDING: 'landing',
    BERTH_WORKTREES: 'worktrees',
  } as const
  const layers: Layer[] = []
  const add = (name: string, settings: object) => {
    const checked = checkSettings(settings, '', 'repository')
    if (checked.is === 'mistake')
      throw new BerthError('config', `'${name}' ${checked.message.replace(/^'[^']*' /, '')}`, `unset ${name}`)
    layers.push({ from: name, settings: checked.settings, repository: false })
  }
  for (const [name, key] of Object.entries(keys)) if (env[name]) add(name, { [key]: env[name] })
  if (env['BERTH_JOBS']) add('BERTH_JOBS', { limits: { jobs: Number(env['BERTH_JOBS']) } })
  return layers
}

function flagLayers({ jobs, land, engine }: Flags): Layer[] {
  const layer = (from: string, settings: Layer['settings']): Layer => ({ from, settings, repository: false })
  return [
    ...(jobs === undefined ? [] : [layer('--jobs', { limits: { jobs } })]),
    ...(land === undefined ? [] : [layer('--land', { land })]),
    ...(engine === undefined ? [] : [layer('--engine', { engine })]),
  ]
}

/** A trusted path covers itself and what is below it, by whole components and real paths. */
function isTrusted(repo: Repository, trust: string[], env: Environment): boolean {
  const home = env['HOME'] ?? env['USERPROFILE'] ?? homedir()
  return trust.some(path => {
    const real = realOf(path.replace(/^~(?=[/\\]|$)/, home))
    return real !== undefined && [repo.root, repo.commonDir].some(place => isWithin(realOf(place), real))
  })
}

function isWithin(place: string | undefined, folder: string): boolean {
  if (place === undefined) return false
  return (
    place === folder ||
    place.startsWith(folder.endsWith('/') || folder.endsWith('\\') ? folder : join(folder, '/'))
  )
}

function realOf(path: string): string | undefined {
  try {
    return realpathSync(path)
  } catch {
    return undefined
  }
}

/** Names the nearest engine, or all. */
export function unknownEngine(name: string, known: string[]): string {
  const near = nearest(name, known)
  const advice = near === undefined ? `known engines: ${known.join(' ')}` : `did you mean '${near}'?`
  return `unknown engine '${name}'; ${advice}`
}

function unknownDefault(merged: Merged, place: SettingPlace | undefined): BerthError {
  const from = merged.effective.find(one => one.key === 'engine')?.from ?? 'default'
  const { engines, defaultEngine } = merged.policy
  const message = unknownEngine(defaultEngine, Object.keys(engines))
  const hint = from.startsWith('BERTH_') ? `unset ${from}` : 'berth doctor'
  return settingError('unknown-engine', place ? message : `'${from}': ${message}`, { place, hint })
}
