// From settings to policy: the layers put over each other, where every effective value came from, and what of it
// a person has to consent to.

import {
  commandTimeoutMs,
  policyDefault,
  type EnginePolicy,
  type Limits,
  type ProjectPolicy,
} from './config.ts'
import { duration, parseDuration, parseSize, sizeWord } from './quantity.ts'
import { type Settings } from './settings.ts'

/** One source of settings. Later layers win. */
export type Layer = {
  /** As a person reads it: `berth.toml at main`, `BERTH_JOBS`, `--jobs`. */
  from: string
  settings: Settings
  /** Its commands need consent: it came with the repository. */
  repository: boolean
}

/** An effective value: key as in TOML, value as it would be written there. */
export type Effective = { key: string; value: unknown; from: string }

export type Merged = {
  policy: ProjectPolicy
  limits: Limits
  effective: Effective[]
  /** Lines a person reads before consenting; empty: the repository makes Berth run nothing. */
  consent: string[]
}

export type Base = {
  /** The main worktree, or the bare repository: what relative paths are seen from. */
  repository: string
  /** Where worktrees go if nothing is said. */
  root: string
  /** The remote that is asked if nothing is said. */
  remote: string
  /** What the machine bears. */
  jobs: number
  /** Joins a relative path to a folder, in the platform's way. */
  resolve: (folder: string, path: string) => string
  /** From `.worktreeinclude`, which came with the repository. */
  include: string[]
}

type Given = { value: unknown; from: string; repository: boolean }

/** Puts the layers over the defaults. Every value has been checked before. */
export function mergeSettings(layers: Layer[], base: Base): Merged {
  const given = flatten(layers)
  if (base.include.length > 0) {
    const own = given.get('copies')
    const value = [...new Set([...((own?.value as string[] | undefined) ?? []), ...base.include])]
    given.set('copies', {
      value,
      from: own ? `${own.from}, .worktreeinclude` : '.worktreeinclude',
      repository: true,
    })
  }
  const value = <T>(key: string): T | undefined => given.get(key)?.value as T | undefined
  const policy = policyOf(value, base)
  policy.engines = enginesOf(given)
  const jobs = value<number>('limits.jobs') ?? base.jobs
  const limits: Limits = {
    jobs,
    maxAlive: value<number>('limits.maxAlive') ?? 3 * jobs,
    perEngine: value<Limits['perEngine']>('limits.perEngine') ?? {},
  }
  return {
    policy,
    limits,
    effective: effectiveOf(policy, limits, given),
    consent: consentLines(policy, given),
  }
}

/** Leaves by dotted key: tables are merged key by key, engines field by field, lists replaced. */
function flatten(layers: Layer[]): Map<string, Given> {
  const given = new Map<string, Given>()
  for (const { from, settings, repository } of layers) {
    const put = (key: string, value: unknown) =>
      value !== undefined && given.set(key, { value, from, repository })
    for (const [key, value] of Object.entries(settings)) {
      if (key === 'engines') {
        for (const [name, engine] of Object.entries(value as object)) {
          put(`engines.${name}`, {})
          for (const [field, one] of Object.entries(engine as object)) put(`engines.${name}.${field}`, one)
        }
      } else if (key === 'limits' || key === 'timeouts' || key === 'recovery') {
        for (const [field, one] of Object.entries(value as object)) put(`${key}.${field}`, one)
      } else put(key, value)
    }
  }
  return given
}

type Ask = <T>(key: string) => T | undefined

function policyOf(value: Ask, base: Base): ProjectPolicy {
  const standard = policyDefault
  const ms = (key: string, otherwise: number) => parseDuration(value<string>(key) ?? '') ?? otherwise
  const bytes = (key: string, otherwise: number) => parseSize(value<string>(key) ?? '') ?? otherwise
  const commandMs = ms('timeouts.command', commandTimeoutMs)
  const worktrees = value<string>('worktrees')
  return {
    target: value('target') ?? standard.target,
    remote: value('remote') ?? base.remote,
    mode: value('landing') ?? standard.mode,
    root: worktrees === undefined ? base.root : base.resolve(base.repository, worktrees),
    branchPrefix: value('branchPrefix') ?? standard.branchPrefix,
    fetch: value('fetch') ?? standard.fetch,
    fetchTimeoutMs: ms('timeouts.fetch', standard.fetchTimeoutMs),
    setup: (value<Settings['setup']>('setup') ?? []).map(one => commandOf(one, commandMs)),
    copies: value('copies') ?? standard.copies,
    dependencies: standard.dependencies,
    rebuildable: rebuildableOf(value<string[]>('rebuildable') ?? []),
    protect: value('protected') ?? standard.protect,
    gates: (value<Settings['gates']>('gates') ?? []).map(one => gateOf(one, commandMs)),
    engines: {},
    defaultEngine: value('engine') ?? standard.defaultEngine,
    land: value('land') ?? standard.land,
    attempts: value('recovery.attempts') ?? standard.attempts,
    backoffMs: ms('recovery.backoff', standard.backoffMs),
    backoffMaxMs: ms('recovery.backoffMax', standard.backoffMaxMs),
    landingTries: value('recovery.landingTries') ?? standard.landingTries,
    timeoutMs: ms('timeouts.run', standard.timeoutMs),
    quietMs: ms('timeouts.quiet', standard.quietMs),
    graceMs: ms('timeouts.grace', standard.graceMs),
    quotaMs: ms('timeouts.quota', standard.quotaMs),
    savedBytes: bytes('limits.savedBytes', standard.savedBytes),
    diskFreeMinBytes: bytes('limits.diskFreeMin', standard.diskFreeMinBytes),
    outputHeadBytes: bytes('limits.outputHead', standard.outputHeadBytes),
    outputTailBytes: bytes('limits.outputTail', standard.outputTailBytes),
    redact: value('redact') ?? standard.redact,
    pass: value('pass') ?? standard.pass,
    cwd: value('cwd') ?? standard.cwd,
  }
}

type Setup = NonNullable<Settings['setup']>[number]
type Gate = NonNullable<Settings['gates']>[number]

function commandOf(given: Setup, timeoutMs: number): ProjectPolicy['setup'][number] {
  if (typeof given === 'string') return { run: given, timeoutMs }
  return { run: given.run, timeoutMs: parseDuration(given.timeout ?? '') ?? timeoutMs }
}

function gateOf(given: Gate, timeoutMs: number): ProjectPolicy['gates'][number] {
  if (typeof given === 'string') return { name: given, mayWrite: false, ...commandOf(given, timeoutMs) }
  const { name, run, paths, mayWrite } = given
  return {
    name: name ?? run,
    ...commandOf(given, timeoutMs),
    ...(paths && { paths }),
    mayWrite: mayWrite ?? false,
  }
}

/** `name` is added to the built-in list, `!name` taken out of it. */
function rebuildableOf(given: string[]): string[] {
  const out = new Set(given.filter(name => name.startsWith('!')).map(name => name.slice(1)))
  const added = given.filter(name => !name.startsWith('!'))
  return [...new Set([...policyDefault.rebuildable, ...added])].filter(name => !out.has(name))
}

const builtIn = ['command', 'claude', 'codex', 'gemini', 'opencode'] as const

/** Built-in engines are always there; an engine without a type is of the type of its name. */
function enginesOf(given: Map<string, Given>): { [name: string]: EnginePolicy } {
  const names = [...given.keys()].flatMap(key => /^engines\.([^.]+)$/.exec(key)?.[1] ?? [])
  const engines = [...new Set([...builtIn, ...names])].map(name => {
    const field = <T>(key: string) => given.get(`engines.${name}.${key}`)?.value as T | undefined
    const model = field<string>('model')
    const own = builtIn.find(type => type === name) ?? 'command'
    const policy: EnginePolicy = {
      type: field<EnginePolicy['type']>('type') ?? own,
      argv: field('argv') ?? [],
      ...(model !== undefined && { model }),
      reads: field('reads') ?? 'text',
      pass: field('pass') ?? [],
      env: field('env') ?? {},
      permission: field('permission') ?? 'auto',
    }
    return [name, policy] as const
  })
  return Object.fromEntries(engines)
}

/** Every key of TOML with its effective value, as it would be written there. */
function effectiveOf(policy: ProjectPolicy, limits: Limits, given: Map<string, Given>): Effective[] {
  const plain: { [key: string]: unknown } = {
    target: policy.target,
    remote: policy.remote,
    landing: policy.mode,
    land: policy.land,
    worktrees: policy.root,
    branchPrefix: policy.branchPrefix,
    fetch: policy.fetch,
    engine: policy.defaultEngine,
    cwd: policy.cwd,
    copies: policy.copies,
    rebuildable: policy.rebuildable,
    protected: policy.protect,
    redact: policy.redact,
    pass: policy.pass,
    setup: policy.setup.map(one => one.run),
    gates: policy.gates.map(one => one.run),
    'limits.jobs': limits.jobs,
    'limits.maxAlive': limits.maxAlive,
    'limits.perEngine': limits.perEngine,
    'limits.savedBytes': sizeWord(policy.savedBytes),
    'limits.diskFreeMin': sizeWord(policy.diskFreeMinBytes),
    'limits.outputHead': sizeWord(policy.outputHeadBytes),
    'limits.outputTail': sizeWord(policy.outputTailBytes),
    'timeouts.run': duration(policy.timeoutMs),
    'timeouts.quiet': duration(policy.quietMs),
    'timeouts.grace': duration(policy.graceMs),
    'timeouts.fetch': duration(policy.fetchTimeoutMs),
    'timeouts.command': given.get('timeouts.command')?.value ?? duration(commandTimeoutMs),
    'timeouts.quota': duration(policy.quotaMs),
    'recovery.attempts': policy.attempts,
    'recovery.backoff': duration(policy.backoffMs),
    'recovery.backoffMax': duration(policy.backoffMaxMs),
    'recovery.landingTries': policy.landingTries,
  }
  const engines = [...given]
    .filter(([key]) => /^engines\.[^.]+\./.test(key))
    .map(([key, one]) => [key, one.value] as const)
  return [...Object.entries(plain), ...engines].map(([key, value]) => ({
    key,
    value,
    from: given.get(key)?.from ?? 'default',
  }))
}

/**
 * What the repository, and not the person, makes Berth run, copy or hand out (docs/decisions/0016). The lines are
 * also what the consent's hash is made of.
 */
function consentLines(policy: ProjectPolicy, given: Map<string, Given>): string[] {
  const foreign = (key: string) => given.get(key)?.repository ?? false
  const lines = (key: string, word: string, of: string[]) =>
    foreign(key) ? of.map(one => `${word}: ${one}`) : []
  const engines = [...given].flatMap(([key, one]) => {
    const field = /^engines\.(.+)\.(argv|env|pass)$/.exec(key)
    return field && one.repository ? [`engine ${field[1]}, ${field[2]}: ${JSON.stringify(one.value)}`] : []
  })
  return [
    ...lines(
      'setup',
      'setup',
      policy.setup.map(one => one.run),
    ),
    ...lines(
      'gates',
      'gate',
      policy.gates.map(one => one.run),
    ),
    ...lines('copies', 'copy', policy.copies),
    ...lines('pass', 'hand to agents', policy.pass),
    ...engines,
  ]
}
