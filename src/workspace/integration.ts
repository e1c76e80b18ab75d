// Landing: the merge is built and tested in an integration workspace of Berth's own, then the target moves.

import picomatch from 'picomatch'
import { type Fact, type RunId, type TaskName } from '../core/event.ts'
import { type Landing } from '../core/outcome.ts'
import { count } from '../core/words.ts'
import { tipOf } from '../git/branch.ts'
import { git, type Git, ok } from '../git/git.ts'
import { mergeInto, moveTarget } from '../git/integrate.ts'
import { splitNul } from '../git/path.ts'
import { pushTarget } from '../git/remote.ts'
import { resolveBase, targetMove } from '../git/target.ts'
import { redAt, rememberGreen } from './blame.ts'
import { identityOf } from './environment.ts'
import { type Gate, runGates } from './gates.ts'
import { furnishMergespace, inTurn, openMergespace } from './mergespace.ts'
import { reasonOf, shortName, type Site, targetRef, type Voice } from './site.ts'

export type LandingInput = Site & {
  task: TaskName
  title: string
  /** Of the run that made the commit: trailer `Berth-Run:`. */
  run?: RunId
  commit: string
  branch: string
  /** The branch it lands on; a full name is taken too. */
  target: string
  /** The target's tip when Berth last saw it: a tip that does not contain it was rewritten. */
  lastTip?: string
  gates: Gate[]
  /** A person let its protected paths pass (docs/decisions/0016). */
  approved?: boolean
  secrets: string[]
  pass: string[]
  portsTaken: number[]
}

/** Effect `integrate`: `landing.tested`, `landing.landed` (the target has it already) or `landing.failed`. */
export async function integrate(input: LandingInput, voice: Voice): Promise<Fact[]> {
  return inTurn(input, async () => {
    try {
      return await build(input, voice)
    } catch (error) {
      if (voice.signal.aborted) return []
      return [failed(input, { is: 'failed', step: 'integrate', reason: reasonOf(error) })]
    }
  })
}

/** Effect `land`: moves the target from `tip` to `merge`; `landing.landed` or `landing.failed`. */
export async function land(
  input: LandingInput & { tip: string; merge: string },
  voice: Voice,
): Promise<Fact[]> {
  const target = shortName(input.target)
  const { repo, tip, merge, policy } = input
  try {
    // A crash may have come after the target moved: what it contains has landed.
    const now = await tipOf(repo, targetRef(input))
    if (now.is === 'unknown') return [failed(input, { is: 'failed', step: 'target', reason: now.reason })]
    if (now.commit !== undefined && (await contains(repo, now.commit, merge)))
      return [landed(input, merge, 'merged')]
    if (policy.mode !== 'local') {
      const { remote, fetchTimeoutMs: timeoutMs } = policy
      const pushed = await pushTarget(repo, { remote, target, to: merge, timeoutMs, signal: voice.signal })
      if (pushed.is === 'moved') return [landed(input, merge, 'pushed')]
      if (pushed.is === 'moved-meanwhile') return [failed(input, { is: 'target-moved', tip })]
      return [failed(input, { is: 'failed', step: 'push', reason: pushed.reason })]
    }
    const reason = `berth: landed ${input.task}`
    const { remote } = policy
    const moved = await moveTarget(repo, {
      target,
      from: tip,
      to: merge,
      remote,
      reason,
      signal: voice.signal,
    })
    switch (moved.is) {
      case 'moved':
        return [landed(input, merge, 'merged')]
      case 'busy':
        return [failed(input, { is: 'target-busy', paths: moved.paths, reason: moved.reason })]
      case 'moved-meanwhile':
        return [failed(input, { is: 'target-moved', tip: moved.tip ?? '' })]
      case 'failed':
        return [failed(input, { is: 'failed', step: moved.step, reason: moved.reason })]
    }
  } catch (error) {
    return [failed(input, { is: 'failed', step: 'land', reason: reasonOf(error) })]
  }
}

const failed = ({ project, task, commit }: LandingInput, failure: Landing): Fact => ({
  kind: 'landing.failed',
  project,
  task,
  commit,
  failure,
})

const landed = ({ project, task, commit, target }: LandingInput, merge: string, rule: string): Fact => ({
  kind: 'landing.landed',
  project,
  task,
  commit,
  target,
  merge,
  rule,
})

async function build(input: LandingInput, voice: Voice): Promise<Fact[]> {
  const { repo, commit, branch, policy } = input
  if (policy.mode === 'pr')
    return [
      failed(input, { is: 'failed', step: 'mode', reason: "landing mode 'pr' lands nothing by itself" }),
    ]
  const own = await tipOf(repo, `refs/heads/${branch}`)
  if (own.is === 'unknown') return [failed(input, { is: 'failed', step: 'branch', reason: own.reason })]
  if (own.commit !== commit)
    return [failed(input, { is: 'branch-moved', expected: commit, found: own.commit ?? '' })]
  const tips = await tipsOf(input, voice)
  if (tips.is === 'failed') return [failed(input, tips.failure)]
  const at = await openMergespace(input, tips.onto, voice.signal)
  const merged = await mergeInto(at, {
    tip: tips.onto,
    commit,
    subject: `Merge task '${input.task}': ${input.title}`,
    trailers: { 'Berth-Task': input.task, ...(input.run === undefined ? {} : { 'Berth-Run': input.run }) },
    author: identityOf(input.task),
    signal: voice.signal,
  })
  if (merged.is === 'already') return [landed(input, tips.onto, 'contained')]
  if (merged.is === 'conflict')
    return [failed(input, { is: 'conflict', paths: merged.paths, tip: tips.from, onto: tips.name })]
  if (merged.is === 'failed')
    return [failed(input, { is: 'failed', step: merged.step, reason: merged.reason })]
  const changed = splitNul(
    await ok(at, ['diff', '--name-only', '-z', '--no-renames', '--no-ext-diff', tips.onto, merged.commit]),
  )
  if (input.approved !== true) {
    const paths = await protectedPaths(input, changed)
    if (paths.length > 0) return [failed(input, { is: 'protected', paths })]
  }
  return test(input, voice, { at, ...tips, merge: merged.commit, changed })
}

type Tips =
  /** `from`: what the target is moved from. `onto`: what is merged with, which contains it; `name`: for people. */
  { is: 'tips'; from: string; onto: string; name: string } | { is: 'failed'; failure: Landing }

/** The target as Berth would land on it (docs/decisions/0018), and whether it was rewritten meanwhile. */
async function tipsOf(input: LandingInput, voice: Voice): Promise<Tips> {
  const { repo, policy, lastTip } = input
  const target = shortName(input.target)
  const { remote, mode, fetchTimeoutMs: timeoutMs } = policy
  const fetch = policy.fetch ? { fetch: { state: input.fetchState, now: input.now(), timeoutMs } } : {}
  const base = await resolveBase(repo, { target, remote, mode, signal: voice.signal, ...fetch })
  const no = (reason: string): Tips => ({ is: 'failed', failure: { is: 'failed', step: 'target', reason } })
  if (base.is === 'unknown') return no(base.reason)
  if (base.is === 'diverged')
    return no(
      `'${target}' and its remote branch have diverged: ${count(base.ahead, 'commit')} here, ${base.behind} there`,
    )
  if (base.is === 'missing')
    return { is: 'failed', failure: { is: 'target-rewritten', was: lastTip ?? '', tip: '', left: [] } }
  if (lastTip !== undefined) {
    const ref = base.rule === 'remote' ? { ref: `refs/remotes/${remote}/${target}` } : {}
    const moved = await targetMove(repo, { target, was: lastTip, ...ref })
    if (moved.is === 'unknown') return no(moved.reason)
    if (moved.is === 'gone')
      return { is: 'failed', failure: { is: 'target-rewritten', was: lastTip, tip: '', left: [] } }
    if (moved.is === 'rewritten')
      return {
        is: 'failed',
        failure: { is: 'target-rewritten', was: lastTip, tip: moved.tip, left: moved.left },
      }
  }
  const local = await tipOf(repo, targetRef(input))
  if (local.is === 'unknown') return no(local.reason)
  const name = base.rule === 'remote' ? `${remote}/${target}` : target
  return { is: 'tips', from: local.commit ?? base.commit, onto: base.commit, name }
}

/** What the repository makes Berth or git run, and what the project's own list protects. */
async function protectedPaths(input: LandingInput, changed: string[]): Promise<string[]> {
  const hooks = await git(input.repo, ['config', '--local', '--get', 'core.hooksPath'])
  const folder =
    hooks.code === 0 ? hooks.out.toString('utf8').trim().replace(/^\.\//, '').replace(/\/+$/, '') : ''
  const globs = [
    'berth.toml',
    '.worktreeinclude',
    '.githooks/**',
    '.husky/**',
    ...(folder === '' || folder.startsWith('/') ? [] : [`${folder}/**`]),
    ...input.policy.protect,
  ]
  const matches = picomatch(globs, { dot: true })
  return changed.filter(path => matches(path))
}

type Built = { at: Git; from: string; onto: string; merge: string; changed: string[] }

/** Gates on the result; if one is red, on the target's tip itself first, so that nobody is blamed for it. */
async function test(input: LandingInput, voice: Voice, built: Built): Promise<Fact[]> {
  const { at, from, onto, merge, changed } = built
  const target = shortName(input.target)
  const furnished = await furnishMergespace(input, { ...input, at, commit: merge, target }, voice)
  if (voice.signal.aborted) return []
  if (furnished.is === 'failed')
    return [failed(input, { is: 'failed', step: 'setup', reason: furnished.reason })]
  const { place } = furnished
  const verdict = await runGates({ ...input, place, commit: merge, where: 'integration', changed }, voice)
  if (verdict.is === 'cancelled') return []
  if (verdict.is === 'green') {
    const { project, task, commit } = input
    const green = input.gates.filter(({ name }) => verdict.gates.includes(name))
    rememberGreen(input, merge, green)
    return [{ kind: 'landing.tested', project, task, commit, target: input.target, tip: from, merge }]
  }
  const { gate, reason, tail } = verdict
  if (verdict.unknown)
    return [failed(input, { is: 'failed', step: 'gates', reason: `gate '${gate}': ${reason}` })]
  const red = input.gates.find(({ name }) => name === gate)
  const before = red && (await redAt({ ...input, target }, { at, commit: onto, gate: red }, voice))
  if (before === 'cancelled') return []
  if (before) return [failed(input, { is: 'target-red', ...before })]
  return [failed(input, { is: 'gate', gate, reason, tail, tip: from })]
}

const contains = async (repo: Git, tip: string, commit: string): Promise<boolean> =>
  (await git(repo, ['merge-base', '--is-ancestor', commit, tip])).code === 0
