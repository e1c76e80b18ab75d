// The integration workspace: a detached worktree of Berth's own where merges are built and tested, never the person's.

import { mkdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { BerthError } from '../core/errors.ts'
import { type TaskName } from '../core/event.ts'
import { failedWhile } from '../core/words.ts'
import { gitCall } from '../core/shellword.ts'
import { clearHalfMade, inspectHalfMade } from '../git/half.ts'
import { git, inDirectory, type Git } from '../git/git.ts'
import { mergeInto } from '../git/integrate.ts'
import { entryDirOf } from '../git/list.ts'
import { addWorktree } from '../git/worktree.ts'
import { platform } from '../platform/platform.ts'
import { atomicWrite, privateDir, readIfThere } from '../store/files.ts'
import { copyInto } from './copies.ts'
import { identityOf } from './environment.ts'
import { makeHome } from './home.ts'
import { type Place, removeTemps } from './place.ts'
import { leasePorts } from './ports.ts'
import { runSetup } from './setup.ts'
import { digest, markerText, readMarker, type Site, type Voice, workspaceMark } from './site.ts'

/** No task can have this name (core/names.ts). */
export const integrationTask = '.integration'

/** One per state directory and repository, so that two Berths on one repository never share it. */
export const integrationPath = (site: Pick<Site, 'policy' | 'stateId' | 'project'>): string =>
  join(site.policy.root, integrationTask, digest(`${site.stateId}/${site.project}`, 8))

/** Where Berth remembers what it tried there: the last setup, and verdicts on the target's tips. */
export const integrationRecord = (site: Pick<Site, 'state' | 'project'>): string =>
  join(site.state.private, 'integration', `${site.project}.json`)

type Remembered = {
  ports: number[]
  /** What the last setup ran on. */
  setup?: { commit: string; commands: string } | undefined
  /** Gate line at a commit of the target: green, or why it is red. The latest last. */
  verdicts: { commit: string; gate: string; red: { reason: string; tail: string[] } | null }[]
}

const verdictsKept = 200

export function remembered(site: Site): Remembered {
  try {
    const text = readIfThere(integrationRecord(site))?.toString('utf8')
    const value = text === undefined ? {} : (JSON.parse(text) as Partial<Remembered>)
    return { ...value, ports: value.ports ?? [], verdicts: value.verdicts ?? [] }
  } catch {
    return { ports: [], verdicts: [] }
  }
}

export function remember(site: Site, change: Partial<Remembered>): void {
  const file = integrationRecord(site)
  const next = { ...remembered(site), ...change }
  privateDir(dirname(file))
  atomicWrite(file, JSON.stringify({ ...next, verdicts: next.verdicts.slice(-verdictsKept) }))
}

/** One at a time in a workspace: landings, and merges of dependencies. Waiting is bounded by what runs there. */
export async function inTurn<T>(site: Site, act: () => Promise<T>): Promise<T> {
  const path = integrationPath(site)
  const before = turns.get(path) ?? Promise.resolve()
  const mine = before.then(act, act)
  const done = mine.then(
    () => undefined,
    () => undefined,
  )
  turns.set(path, done)
  try {
    return await mine
  } finally {
    if (turns.get(path) === done) turns.delete(path)
  }
}

const turns = new Map<string, Promise<void>>()

/**
 * The integration worktree, made at `commit` if it is not there. What an earlier step left running or half made in
 * it is ended and cleared; nothing else is touched. Throws BerthError for what a person must see to.
 */
export async function openMergespace(site: Site, commit: string, signal: AbortSignal): Promise<Git> {
  const path = integrationPath(site)
  const left = await platform.endTree({ marker: workspaceMark(site, integrationTask) }, endLimits)
  if (left.left.length > 0)
    throw new BerthError(
      'held',
      `processes of an earlier landing cannot be ended: ${left.left.map(each => each.pid).join(', ')}`,
    )
  await removeTemps(site, integrationTask)
  if (await isStanding(site, path)) return inDirectory(site.repo, path)
  const half = await inspectHalfMade(site.repo, { path, branch: '', base: commit })
  if (half.is === 'half') {
    const cleared = await clearHalfMade(site.repo, { path, branch: '', base: commit, lock: site.lock })
    if (cleared.is !== 'cleared')
      throw new BerthError('refused', `'${path}' cannot be made anew: ${cleared.reason}`)
  }
  await mkdir(dirname(path), { recursive: true })
  const added = await addWorktree(site.repo, {
    path,
    branch: null,
    commit,
    lock: site.lock,
    takeUp: false,
    marker: markerText({
      stateId: site.stateId,
      project: site.project,
      task: integrationTask,
      path,
      branch: null,
      base: commit,
      baseRule: 'integration',
      target: '',
      madeAt: site.now(),
    }),
    signal,
  })
  if (added.is === 'refused') throw new BerthError(added.code, added.message, added.hint)
  if (added.is === 'failed') throw new BerthError(added.code, added.reason, added.hint)
  remember(site, { setup: undefined })
  return inDirectory(site.repo, path)
}

const endLimits = { graceMs: 1_000, limitMs: 20_000 }

async function isStanding(site: Site, path: string): Promise<boolean> {
  const entryDir = await entryDirOf(site.repo, path)
  if (entryDir === undefined) return false
  const found = await readMarker(entryDir)
  // A creation that was cut off before it was marked: what may go of it is judged as half made.
  if (found.is === 'none') return false
  const ours =
    found.is === 'marker' && found.marker.stateId === site.stateId && found.marker.task === integrationTask
  if (!ours)
    throw new BerthError(
      'not-ours',
      `'${path}' is not Berth's integration workspace`,
      gitCall(site.repo.root, 'worktree', 'list'),
    )
  const head = await git(inDirectory(site.repo, path), ['rev-parse', '--verify', '--quiet', 'HEAD'])
  return head.code === 0
}

/**
 * Home, ports, copies, and setup where it may have changed: the first time, when its commands changed, or when a
 * file that names dependencies differs from where it last ran.
 */
export async function furnishMergespace(
  site: Site,
  request: {
    at: Git
    commit: string
    target: string
    portsTaken: number[]
    pass: string[]
    secrets: string[]
  },
  voice: Voice,
): Promise<{ is: 'ready'; place: Place } | { is: 'failed'; reason: string; tail: string[] }> {
  const { at, commit, target, pass, secrets } = request
  const home = site.state.home(site.project, integrationTask)
  const before = remembered(site)
  const [ports] = await Promise.all([
    leasePorts(site, {
      task: integrationTask,
      path: at.dir,
      before: before.ports,
      taken: request.portsTaken,
    }),
    copyInto(site, integrationTask, at.dir),
    makeHome({ home, identity: identityOf(integrationTask), git: site.person.git }),
  ])
  remember(site, { ports })
  const place: Place = {
    task: integrationTask,
    path: at.dir,
    home,
    ports,
    base: commit,
    target,
    attempt: 1,
    pass,
    secrets,
  }
  const commands = digest(JSON.stringify(site.policy.setup), 16)
  if (await setupHolds(at, before.setup, { commit, commands })) return { is: 'ready', place }
  const done = await runSetup(site, place, voice)
  if (done.is === 'failed') return done
  remember(site, { setup: { commit, commands } })
  return { is: 'ready', place }
}

type Ran = { commit: string; commands: string }

async function setupHolds(at: Git, before: Ran | undefined, now: Ran): Promise<boolean> {
  if (before === undefined || before.commands !== now.commands) return false
  if (before.commit === now.commit) return true
  const changed = await git(at, [
    'diff',
    '--name-only',
    '-z',
    '--no-renames',
    '--no-ext-diff',
    before.commit,
    now.commit,
  ])
  if (changed.code !== 0) return false
  return !changed.out
    .toString('utf8')
    .split('\0')
    .some(path => namesDependencies.test(path))
}

/** Manifests and lock files of the usual package managers, and what tells Berth itself what to set up. */
const namesDependencies = new RegExp(
  '(^|/)(package\\.json|npm-shrinkwrap\\.json|.*lock(file)?(\\.(json|ya?ml|toml|lock))?|.*\\.lock' +
    '|requirements[^/]*\\.txt|pyproject\\.toml|setup\\.(py|cfg)|Pipfile|Cargo\\.toml|go\\.(mod|sum|work)' +
    '|Gemfile|.*\\.gemspec|composer\\.json|pom\\.xml|.*\\.gradle(\\.kts)?|.*\\.(cs|fs|vb)proj|mix\\.exs' +
    '|\\.gitmodules|\\.worktreeinclude|berth\\.toml|\\.tool-versions|\\.nvmrc|\\.node-version' +
    '|\\.python-version|rust-toolchain(\\.toml)?|flake\\.nix)$',
  'i',
)

export type MergedCommits =
  | { is: 'merged'; commit: string }
  | { is: 'conflict'; reason: string }
  | { is: 'failed'; reason: string }

/** One commit that holds several: where a task starts that depends on more than one (docs/decisions/0018). */
export async function mergeCommits(
  site: Site,
  commits: { task: TaskName; commit: string }[],
  signal: AbortSignal,
): Promise<MergedCommits> {
  const [first, ...others] = commits
  if (first === undefined) return { is: 'failed', reason: 'there is nothing to merge' }
  if (others.length === 0) return { is: 'merged', commit: first.commit }
  return inTurn(site, async () => {
    const at = await openMergespace(site, first.commit, signal)
    let tip = first.commit
    const names = [first.task]
    for (const { task, commit } of others) {
      const subject = `Merge task '${task}' for a task that depends on it`
      const merged = await mergeInto(at, {
        tip,
        commit,
        subject,
        trailers: { 'Berth-Task': task },
        author: identityOf(task),
        signal,
      })
      if (merged.is === 'conflict') {
        const reason = `the commits of '${names.join("', '")}' and '${task}' conflict in ${merged.paths.join(', ')}`
        return { is: 'conflict', reason }
      }
      if (merged.is === 'failed') return { is: 'failed', reason: failedWhile(merged) }
      if (merged.is === 'merged') tip = merged.commit
      names.push(task)
    }
    return { is: 'merged', commit: tip }
  })
}
