// Making a workspace: worktree, home, copies, ports, setup; and taking back what a failed creation made.

import { lstat, mkdir } from 'node:fs/promises'
import { gitCall, shellWord } from '../core/shellword.ts'
import { type Fact, type Holder, type TaskName, type TaskSpec } from '../core/event.ts'
import { tipOf } from '../git/branch.ts'
import { git } from '../git/git.ts'
import { entryDirOf } from '../git/list.ts'
import { clearHalfMade, inspectHalfMade } from '../git/half.ts'
import { addWorktree, type Refused } from '../git/worktree.ts'
import { platform } from '../platform/platform.ts'
import { type Base, findBase, type Start } from './base.ts'
import { copyInto } from './copies.ts'
import { identityOf } from './environment.ts'
import { makeHome } from './home.ts'
import { forgetMissing } from './missing.ts'
import { type Place } from './place.ts'
import { leasePorts, releasePorts } from './ports.ts'
import { removeHome } from './release.ts'
import { runSetup } from './setup.ts'
import {
  holdersFrom,
  hintOf,
  type Marker,
  markerText,
  readMarker,
  reasonOf,
  type Site,
  type Voice,
  workspaceMark,
} from './site.ts'
import { takeBack } from './takeback.ts'

export type { Start }

export type PrepareInput = Site & {
  task: TaskName
  spec: TaskSpec
  start: Start
  /** As claimed: fact `workspace.claimed`. */
  path: string
  branch: string
  home: string
  /** Wall ms of the claim. */
  since: number
  /** Ports that other live workspaces of this state directory hold. */
  portsTaken: number[]
  /** Ports it had before, to be kept. */
  ports: number[]
  /** Values that must not reach the output of setup commands. */
  secrets: string[]
  /** Names of the call's variables that are passed through. */
  pass: string[]
}

/** A worktree of ours that is registered and filled. */
type Made = { base: string; baseRule: string; target: string; tookUp: number | undefined; notices: string[] }

type Begin = Base & { is: 'base' }

type Step<T> = { is: 'ok'; value: T } | { is: 'end'; facts: Fact[] }

/**
 * Makes the workspace, or finds that it is made. In between it speaks `setup.started`, `setup.exited` and
 * `notice.given`; it returns the end: `workspace.ready`, `workspace.failed` (all of it taken back, a failed setup
 * too, so that `berth retry` begins anew), `workspace.stuck` (that did not work either), or `task.held`.
 */
export async function prepare(input: PrepareInput, voice: Voice): Promise<Fact[]> {
  const { project, task, path, branch, home } = input
  const of = { project, task }
  // Neither waits for git, nor git for them.
  const beside = besideWorktree(input)
  const made = await guarded(input, 'create', () => makeWorktree(input, voice))
  if (made.is === 'end') {
    await (await beside).takeBack()
    return made.facts
  }
  const furnished = await guarded(input, 'home', async () => furnish(input, made.value, { beside, voice }))
  if (furnished.is === 'end') return takenBack(input, made.value, furnished.facts)
  const { ports, place, notices } = furnished.value
  const setup = await guarded(input, 'setup', () => setUp(input, place, voice))
  if (setup.is === 'end') return takenBack(input, made.value, setup.facts)
  const { base, baseRule, target, tookUp } = made.value
  return [
    {
      kind: 'workspace.ready',
      ...of,
      path,
      branch,
      home,
      base,
      baseRule,
      target,
      ports,
      notices: [...made.value.notices, ...notices],
      ...(tookUp === undefined ? {} : { tookUp }),
    },
  ]
}

/** What nobody foresaw is a failure with a step and a reason too. */
async function guarded<T>(input: PrepareInput, step: string, act: () => Promise<Step<T>>): Promise<Step<T>> {
  try {
    return await act()
  } catch (error) {
    return failed(input, step, reasonOf(error), hintOf(error))
  }
}

function failed(
  input: PrepareInput,
  step: string,
  reason: string,
  more: object = {},
): { is: 'end'; facts: Fact[] } {
  const { project, task } = input
  return { is: 'end', facts: [{ kind: 'workspace.failed', project, task, step, reason, ...more }] }
}

function stuck(
  input: PrepareInput,
  step: string,
  reason: string,
  holders: Holder[] = [],
): { is: 'end'; facts: Fact[] } {
  const { project, task } = input
  return { is: 'end', facts: [{ kind: 'workspace.stuck', project, task, step, reason, holders }] }
}

async function makeWorktree(input: PrepareInput, voice: Voice): Promise<Step<Made>> {
  await mkdir(input.policy.root, { recursive: true })
  const earlier = await takeUpEarlier(input, voice)
  if (earlier.is === 'end') return earlier
  if (earlier.value !== undefined) return { is: 'ok', value: earlier.value }
  const found = await findBase(input, input.task, input.start, voice.signal)
  if (found.is === 'none') return { is: 'end', facts: found.facts }
  const base = await begunAt(input, found)
  const added = await add(input, base, voice)
  if (added.is === 'refused') return refusedFor(input, added, base.commit)
  if (added.is === 'failed') {
    if (added.left.length > 0)
      return stuck(input, added.step, `${added.reason}; left behind: ${added.left.join(', ')}`)
    return failed(input, added.step, added.reason, added.hint === undefined ? {} : { hint: added.hint })
  }
  const { commit, rule, target, notices } = base
  const value: Made = {
    base: commit,
    baseRule: rule,
    target,
    tookUp: added.tookUp,
    notices: [...notices, ...added.notices],
  }
  return { is: 'ok', value }
}

/** A branch that is there already began where it left the target: what came into that since is nobody's work here. */
async function begunAt({ repo, branch, start }: PrepareInput, base: Begin): Promise<Begin> {
  if (start.is === 'again') return base
  const tip = await tipOf(repo, `refs/heads/${branch}`)
  if (tip.is !== 'tip' || tip.commit === undefined) return base
  const common = await git(repo, ['merge-base', base.commit, tip.commit])
  return common.code === 0 ? { ...base, commit: common.out.toString('utf8').trim() } : base
}

/** A worktree elsewhere whose making was cut off is named as that; it is not ours to clear (case 19). */
async function refusedFor(
  input: PrepareInput,
  { what, message, hint, at }: Refused,
  base: string,
): Promise<{ is: 'end'; facts: Fact[] }> {
  const { repo, branch, task } = input
  const half = at === undefined ? undefined : await inspectHalfMade(repo, { path: at, branch, base })
  if (at === undefined || half?.is !== 'half') return failed(input, what, message, { hint })
  const query = { marker: workspaceMark(input, task), since: input.since }
  const places = half.entryDir === null ? [at] : [at, half.entryDir]
  const holders = places.map(place => platform.holdersOf(place, query))
  const pids = holders.flatMap(each => [...each.ours, ...each.tied].map(({ pid }) => pid))
  const cut = `the creation of '${at}', which has the branch '${branch}', was cut off`
  const unknown = holders.flatMap(each => each.unknown)
  if (pids.length > 0 || unknown.length > 0) {
    const who = pids.length > 0 ? `is used by ${[...new Set(pids)].join(', ')}` : unknown.join('; ')
    return failed(input, what, `${cut}, or is under way: it ${who}`, { hint: `berth retry ${task}` })
  }
  if (half.unique.length > 0) {
    const names = half.unique.slice(0, 5).join("', '")
    return failed(input, what, `${cut}; it holds files of its own: '${names}'`, {
      hint: `ls -la ${shellWord(at)}`,
    })
  }
  const clear = gitCall(repo.root, 'worktree', 'remove', '-f', '-f', at)
  return failed(input, what, cut, { hint: `${clear} && berth retry ${task}` })
}

const add = (input: PrepareInput, base: Begin, voice: Voice): ReturnType<typeof addWorktree> =>
  addWorktree(input.repo, {
    path: input.path,
    branch: input.branch,
    commit: base.commit,
    lock: input.lock,
    takeUp: true,
    marker: markerText(markerOf(input, base)),
    signal: voice.signal,
  })

const markerOf = (input: PrepareInput, base: Begin): Marker => ({
  stateId: input.stateId,
  project: input.project,
  task: input.task,
  path: input.path,
  branch: input.branch,
  base: base.commit,
  baseRule: base.rule,
  target: base.target,
  madeAt: input.since,
})

/** What an earlier preparation left: whole, cut off, or nothing (case 19). Undefined: begin. */
async function takeUpEarlier(input: PrepareInput, voice: Voice): Promise<Step<Made | undefined>> {
  const { repo, path, branch } = input
  const [entry, place] = await Promise.all([entryDirOf(repo, path), lstat(path).catch(() => undefined)])
  if (entry === undefined && place === undefined) return { is: 'ok', value: undefined }
  const found = entry === undefined ? undefined : await readMarker(entry)
  const marker = found?.is === 'marker' ? found.marker : undefined
  if (entry !== undefined && marker === undefined && found?.is === 'unreadable')
    return failed(input, 'path', `the marker of '${path}' cannot be read: ${found.reason}`, {
      hint: 'berth reconcile',
    })
  if (marker !== undefined && (marker.stateId !== input.stateId || marker.task !== input.task))
    return failed(input, 'path', `'${path}' belongs to another Berth or task ('${marker.task}')`, {
      hint: gitCall(input.repo.root, 'worktree', 'list'),
    })
  const base = marker?.base ?? (await knownBase(input))
  const half = await inspectHalfMade(repo, { path, branch, base: base ?? 'HEAD' })
  switch (half.is) {
    case 'absent':
      return { is: 'ok', value: undefined }
    case 'complete':
      if (marker === undefined)
        return failed(input, 'path', `'${path}' is a worktree that Berth did not make`, {
          hint: gitCall(input.repo.root, 'worktree', 'list'),
        })
      return {
        is: 'ok',
        value: {
          base: marker.base,
          baseRule: marker.baseRule,
          target: marker.target,
          tookUp: undefined,
          notices: [],
        },
      }
    case 'missing':
      return unregisterMissing(input, { entryDir: half.entryDir, marker }, voice)
    case 'half':
      return clearHalf(input, half, base ?? 'HEAD', voice)
    case 'other':
      return failed(input, 'path', `${half.reason}; move it away, or give the task another name`, {
        hint: `ls -la ${shellWord(path)}`,
      })
    case 'unknown':
      return failed(input, 'path', half.reason)
  }
}

/** Git's entry of a worktree whose directory went by another hand: taken out, so that it can be made again. */
async function unregisterMissing(
  input: PrepareInput,
  { entryDir, marker }: { entryDir: string; marker: Marker | undefined },
  voice: Voice,
): Promise<Step<undefined>> {
  const { path, project, task } = input
  if (marker === undefined || marker.project !== project)
    return failed(input, 'path', `git has a worktree at '${path}' that Berth did not make, and it is gone`, {
      hint: gitCall(input.repo.root, 'worktree', 'list'),
    })
  const out = await forgetMissing(input, { path, entryDir, marker }, voice.onFact)
  if (out.is === 'refused') return failed(input, 'path', out.reason, { hint: out.hint })
  const text = `the directory '${path}' was gone; git's entry of it was taken out, and it is made again`
  await voice.onFact({ kind: 'notice.given', project, task, text })
  return { is: 'ok', value: undefined }
}

/** Without a marker the branch itself tells, where it has nothing beyond the target. */
async function knownBase(input: PrepareInput): Promise<string | undefined> {
  const base = await findBase(input, input.task, input.start, new AbortController().signal)
  return base.is === 'base' ? base.commit : undefined
}

async function clearHalf(
  input: PrepareInput,
  half: { unique: string[]; reason: string },
  base: string,
  voice: Voice,
): Promise<Step<undefined>> {
  const { repo, path, branch, lock, since } = input
  const query = { marker: workspaceMark(input, input.task), since }
  const holders = platform.holdersOf(path, query)
  if (holders.unknown.length > 0) return stuck(input, 'kill', holders.unknown.join('; '))
  const blocking = holders.tied.filter(each => each.what !== 'open')
  if (blocking.length > 0)
    return stuck(input, 'kill', `somebody works in the half-made '${path}'`, holdersFrom(blocking, 'person'))
  if (holders.ours.length > 0) {
    const ended = await platform.endTree(
      { ...query, pids: holders.ours },
      { graceMs: input.policy.graceMs, limitMs: 30_000 },
    )
    if (ended.left.length > 0)
      return stuck(
        input,
        'kill',
        'what an earlier creation started cannot be ended',
        holdersFrom(ended.left, 'ours'),
      )
  }
  if (half.unique.length > 0) {
    const names = half.unique.slice(0, 5).join("', '")
    return stuck(
      input,
      'create',
      `its creation was cut off, and '${path}' holds files of its own: '${names}'`,
    )
  }
  const cleared = await clearHalfMade(repo, { path, branch, base, lock })
  if (cleared.is !== 'cleared')
    return stuck(input, cleared.is === 'failed' ? cleared.step : 'create', cleared.reason)
  const text = `the creation of '${path}' had been cut off (${half.reason}); it was cleared and begun again`
  await voice.onFact({ kind: 'notice.given', project: input.project, task: input.task, text })
  return { is: 'ok', value: undefined }
}

/** Ports and home, made or failed; what was made can be taken back. */
type Beside = { ports: number[]; error?: unknown; takeBack: () => Promise<void> }

/** Never rejects: a failure is told where it is needed. */
async function besideWorktree(input: PrepareInput): Promise<Beside> {
  const { task, path, home, person } = input
  const before = await lstat(home).catch(() => undefined)
  const [ports, made] = await Promise.allSettled([
    leasePorts(input, { task, path, before: input.ports, taken: input.portsTaken }),
    makeHome({ home, identity: identityOf(task), git: person.git }),
  ])
  const takeBack = async (): Promise<void> => {
    if (input.ports.length === 0) await releasePorts(input, task).catch(() => undefined)
    if (before === undefined) await removeHome(input, home).catch(() => undefined)
  }
  if (ports.status === 'rejected') return { ports: [], error: ports.reason, takeBack }
  if (made.status === 'rejected') return { ports: ports.value, error: made.reason, takeBack }
  return { ports: ports.value, takeBack }
}

type Furnished = { ports: number[]; place: Place; notices: string[] }

async function furnish(
  input: PrepareInput,
  made: Made,
  { beside, voice }: { beside: Promise<Beside>; voice: Voice },
): Promise<Step<Furnished>> {
  const { task, path, home } = input
  const { ports, error } = await beside
  if (error !== undefined) throw error
  const copied = await copyInto(input, task, path)
  const names = [...copied.files, ...copied.folders]
  if (names.length > 0) {
    const text = `copied ${names.slice(0, 20).join(', ')}${names.length > 20 ? `, and ${names.length - 20} more` : ''}`
    await voice.onFact({ kind: 'notice.given', project: input.project, task, text })
  }
  const { base, target } = made
  const { pass, secrets } = input
  const place: Place = { task, path, home, ports, base, target, attempt: 1, pass, secrets }
  return { is: 'ok', value: { ports, place, notices: copied.notes } }
}

async function setUp(input: PrepareInput, place: Place, voice: Voice): Promise<Step<undefined>> {
  const done = await runSetup(input, place, voice)
  if (done.is === 'done') return { is: 'ok', value: undefined }
  const hint = done.outFile === undefined ? {} : { hint: `less ${shellWord(done.outFile)}` }
  return failed(input, 'setup', done.reason, { tail: done.tail, ...hint })
}

/** In reverse order, only what this creation made; what cannot be taken back is `workspace.stuck`. */
async function takenBack(input: PrepareInput, made: Made, facts: Fact[]): Promise<Fact[]> {
  const left = await takeBack(input, { base: made.base, tookUp: made.tookUp })
  if (left === undefined) return facts
  const why = facts.find(fact => fact.kind === 'workspace.failed')
  const reason = why === undefined ? left.reason : `${left.reason} (after: ${why.reason})`
  return stuck(input, left.step, reason, left.holders).facts
}
