// What each effect does in the simulated world, step by step: between two steps it can be cut off. Each may be asked
// again at any point, as in the real world.

import { type Effect } from '../../src/core/effect.ts'
import { type Fact } from '../../src/core/event.ts'
import { type Fleet } from '../../src/core/fleet.ts'
import { type Landing, type Outcome } from '../../src/core/outcome.ts'
import { neverStarted } from '../../src/core/run.ts'
import { type Task, latestRun } from '../../src/core/task.ts'
import {
  type Attempt,
  type Script,
  type Tree,
  type World,
  aliveIn,
  commitAll,
  die,
  editsOf,
  exitFact,
  fresh,
  isLanded,
  must,
  tipOf,
} from './world.ts'

/** Yields the facts that it speaks on its way, returns those that end it. */
export type Act = Generator<Fact[], Fact[]>

type Scene = {
  world: World
  task: Task
  script: Script
  key: string
  of: { project: string; task: string }
  now: () => { wall: number; awake: number }
}

const well: Attempt = { works: 'commits', ends: 'well', starts: 'yes', ms: 5_000, asks: false, gate: 'green' }

export function actOf(world: World, fleet: Fleet, effect: Effect, now: Scene['now']): Act {
  const key = `${effect.project}/${effect.task}`
  const task = fleet.tasks.get(key)
  const script = world.scripts.get(key)
  must(task !== undefined && script !== undefined, `an effect of an unknown task: ${effect.key}`)
  const scene: Scene = {
    world,
    task,
    script,
    key,
    of: { project: effect.project, task: effect.task },
    now,
  }
  switch (effect.do) {
    case 'prepare':
      return prepare(scene)
    case 'start':
      return start(scene, effect)
    case 'end':
      return end(scene, effect.run)
    case 'collect':
      return collect(scene, effect.run)
    case 'verify':
      return verify(scene, effect.commit)
    case 'integrate':
      return integrate(scene, effect.commit, effect.approved)
    case 'land':
      return land(scene, effect)
    case 'teardown':
      return teardown(scene, effect)
  }
}

function* prepare({ world, key, of, script }: Scene): Act {
  for (const name of script.spec.after)
    must(world.done.has(`${of.project}/${name}`), `${key} starts before '${name}'`)
  must(aliveIn(world, key) === undefined, `a workspace is made under a live run: ${key}`)
  const setup = world.rough ? script.setups.shift() : undefined
  const before = world.trees.get(key)
  if (setup === 'held') return [{ kind: 'task.held', reason: 'disk', detail: 'too little space', ...of }]
  world.preparing.add(key)
  const head = world.branches.get(key) ?? tipOf(world)
  const tree: Tree = before ?? { state: 'half', head, edits: [], base: head }
  world.trees.set(key, tree)
  world.branches.set(key, tree.head)
  yield [{ kind: 'setup.started', command: 'npm ci', index: 0, ...of }]
  world.preparing.delete(key)
  if (setup === 'stuck')
    return [{ kind: 'workspace.stuck', step: 'rollback', reason: 'cannot be removed', holders: [], ...of }]
  if (setup === 'fails') return [{ kind: 'workspace.failed', step: 'setup', reason: 'exited with 1', ...of }]
  if (setup === 'rolled-back' && tree.state === 'half') {
    world.trees.delete(key)
    return [{ kind: 'workspace.failed', step: 'add', reason: 'git failed', ...of }]
  }
  tree.state = 'ready'
  yield []
  return [
    {
      kind: 'workspace.ready',
      path: `/w/${key}`,
      branch: `berth/${of.task}`,
      home: `/h/${key}`,
      base: tree.base,
      baseRule: 'config',
      notices: [],
      ...of,
    },
  ]
}

function* start({ world, key, of, script, task, now }: Scene, effect: Effect & { do: 'start' }): Act {
  const { run: id } = effect
  const run = latestRun(task)
  must(run?.id === id && run.state.phase === 'claimed', `a run is started that is not claimed: ${id}`)
  const started = { kind: 'run.started', run: id, pid: 7, startedAt: id, supervisor: 6, ...of } as const
  const there = world.processes.get(id)
  if (there !== undefined) return [{ ...started, base: there.base }]
  if (effect.adopt) return [{ kind: 'run.lost', run: id, reason: neverStarted, ...of }]
  const tree = world.trees.get(key)
  must(tree?.state === 'ready', `a run without a workspace: ${key}`)
  must(aliveIn(world, key) === undefined, `two runs in one workspace: ${key}`)
  const attempt = (world.rough ? script.attempts.shift() : undefined) ?? well
  const usage = { usd: 0, inputTokens: 0, outputTokens: 0 }
  if (attempt.starts === 'missing') {
    return [
      {
        kind: 'run.exited',
        run: id,
        code: null,
        signal: null,
        usage,
        end: { is: 'failed', reason: 'engine-missing', evidence: '', transient: false },
        ...of,
      },
    ]
  }
  if (attempt.starts === 'fails') return [{ kind: 'run.lost', run: id, reason: 'spawn failed', ...of }]
  world.spawned.set(id, (world.spawned.get(id) ?? 0) + 1)
  must(world.spawned.get(id) === 1, `a run is started twice: ${id}`)
  world.processes.set(id, {
    run: id,
    key,
    alive: true,
    attempt,
    base: tree.head,
    engine: script.spec.engine,
    endsAt: now().awake + attempt.ms,
    waiting: false,
    asked: false,
  })
  yield []
  return [{ ...started, base: tree.head }]
}

function* end({ world, of, now }: Scene, run: string): Act {
  const process = world.processes.get(run)
  yield []
  if (process === undefined) return [{ kind: 'run.lost', run, reason: neverStarted, ...of }]
  if (process.alive) die(process, { code: null, signal: 'SIGTERM', killed: true })
  yield []
  if (process.exit === undefined) return [{ kind: 'run.lost', run, reason: 'no exit record', ...of }]
  return [exitFact(process, { run, ...of }, now())]
}

function* collect({ world, key, of, script, task }: Scene, id: string): Act {
  const run = latestRun(task)
  must(run?.id === id && run.state.phase === 'over', `a run is collected that is not over: ${id}`)
  must(aliveIn(world, key) === undefined, `a run is collected while it lives: ${id}`)
  const process = world.processes.get(id)
  const tree = world.trees.get(key)
  const collected = (outcome: Outcome): Fact[] => [{ kind: 'run.collected', run: id, outcome, ...of }]
  yield []
  if (world.rough && script.collects.shift() === 'unknown')
    return collected({ is: 'unknown', step: 'status', reason: 'git failed' })
  const { ended, taken, why } = run.state
  if (taken === true && tree !== undefined && process !== undefined && tree.head !== process.base)
    return collected(doneAt(world, tree.head))
  if (why !== undefined) return collected({ is: 'stopped', why })
  const failed = { is: 'failed' as const, evidence: '', transient: false, escaped: [] as string[] }
  if (ended.how === 'lost') return collected({ ...failed, reason: ended.reason })
  if (ended.end.is === 'failed')
    return collected({ ...failed, reason: ended.end.reason, transient: ended.end.transient })
  if (ended.end.is !== 'ended') return collected(ended.end as Outcome)
  must(tree !== undefined && process !== undefined, `a run is collected without its worktree: ${id}`)
  if (tree.edits.length > 0) commitAll(world, key, true)
  yield [{ kind: 'commit.made', run: id, commit: tree.head, subject: 'uncommitted work', by: 'berth', ...of }]
  if (tree.head === process.base) return collected({ is: 'no-work', denied: [], escaped: [] })
  return collected(doneAt(world, tree.head))
}

const doneAt = (world: Scene['world'], commit: string): Outcome => ({
  is: 'done',
  commit,
  changes: { files: 1, insertions: 1, deletions: 0, commits: 1 },
  uncommitted: world.commits.get(commit)?.byBerth === true,
  withheld: [],
})

function* verify({ world, key, of, script, task }: Scene, commit: string): Act {
  const tree = world.trees.get(key)
  must(tree?.state === 'ready', `gates without a workspace: ${key}`)
  must(aliveIn(world, key) === undefined, `gates while a run lives: ${key}`)
  if (tree.head !== commit || tree.edits.length > 0)
    return [{ kind: 'task.withdrawn', commit, reason: 'HEAD moved', ...of }]
  const uncommitted = world.commits.get(commit)?.byBerth === true
  const ready: Fact = {
    kind: 'task.ready',
    commit,
    gates: script.gated ? ['test'] : [],
    changes: { files: 1, insertions: 1, deletions: 0, commits: 1 },
    uncommitted,
    ...of,
  }
  if (!script.gated) {
    passed(world, script, key, commit)
    return [ready]
  }
  yield [{ kind: 'gate.started', gate: 'test', commit, where: 'workspace', ...of }]
  const { gate } = world.processes.get(latestRun(task)?.id ?? '')?.attempt ?? well
  yield []
  const exited = {
    kind: 'gate.exited',
    gate: 'test',
    commit,
    where: 'workspace',
    signal: null,
    ms: 5,
    timedOut: false,
    ...of,
  } as const
  if (gate === 'unknown' && world.rough)
    return [{ kind: 'task.red', commit, gate: 'test', reason: 'cannot be run', unknown: true, ...of }]
  if (gate === 'red')
    return [
      { ...exited, code: 1, tail: ['not ok'] },
      { kind: 'task.red', commit, gate: 'test', reason: 'exited with 1', ...of },
    ]
  if (gate === 'red-before') {
    const red = { ...exited, code: 1, tail: ['not ok'] }
    yield [red, { ...red, commit: tree.base, where: 'target' }]
    // No gate has passed, but its landing judges it.
    world.verified.add(commit)
    const before = { gate: 'test', reason: 'exited with 1', tail: ['not ok'], tip: tree.base }
    return [{ ...ready, gates: [], red: before }]
  }
  passed(world, script, key, commit)
  return [{ ...exited, code: 0, tail: [] }, ready]
}

// Where nothing is to land, passing the gates is all that others wait for.
function passed(world: World, script: Script, key: string, commit: string): void {
  world.verified.add(commit)
  if (script.spec.land === 'never') world.done.add(key)
}

function* integrate({ world, key, of, script }: Scene, commit: string, approved: boolean): Act {
  must(world.verified.has(commit), `what no gate has seen is integrated: ${commit}`)
  const landed = world.target.find(one => one.commit === commit)
  if (landed !== undefined) world.done.add(key)
  if (landed !== undefined)
    return [{ kind: 'landing.landed', commit, target: 'main', merge: landed.merge, rule: 'ancestor', ...of }]
  if (!world.commits.has(commit)) {
    world.target.push({ merge: fresh(world, 'm'), commit })
    world.done.add(key)
    return [
      { kind: 'landing.landed', commit, target: 'main', merge: tipOf(world), rule: 'same commit', ...of },
    ]
  }
  world.integrating = key
  const tip = tipOf(world)
  const accident = world.rough ? script.landings.shift() : undefined
  yield [{ kind: 'gate.started', gate: 'test', commit, where: 'integration', ...of }]
  must(world.integrating === key, `two landings at once: ${key} and ${world.integrating}`)
  if (accident !== undefined && !(accident === 'protected' && approved))
    return [{ kind: 'landing.failed', commit, failure: failureOf(accident, tip), ...of }]
  const merge = fresh(world, 'm')
  world.tested.set(merge, { tip, commit })
  yield []
  return [{ kind: 'landing.tested', commit, target: 'main', tip, merge, ...of }]
}

function failureOf(accident: Script['landings'][number], tip: string): Landing {
  const gate = { gate: 'test', reason: 'exited with 1', tail: ['not ok'], tip }
  switch (accident) {
    case 'conflict':
      return { is: 'conflict', paths: ['a.ts'], tip }
    case 'gate':
      return { is: 'gate', ...gate }
    case 'target-red':
      return { is: 'target-red', ...gate }
    case 'target-busy':
      return { is: 'target-busy', paths: ['a.ts'], reason: "'a.ts' is modified" }
    case 'protected':
      return { is: 'protected', paths: ['berth.toml'] }
    case 'branch-moved':
      return { is: 'branch-moved', expected: 'c1', found: 'c2' }
    case 'target-rewritten':
      return { is: 'target-rewritten', was: tip, tip: 'm9', left: [] }
    case 'failed':
      return { is: 'failed', step: 'merge', reason: 'git failed' }
  }
}

function* land({ world, key, of }: Scene, { commit, tip, merge }: Effect & { do: 'land' }): Act {
  const tested = world.tested.get(merge)
  must(tested?.tip === tip && tested.commit === commit, `what was not tested is landed: ${merge}`)
  const landed: Fact = { kind: 'landing.landed', commit, target: 'main', merge, rule: 'merged', ...of }
  if (world.target.some(one => one.merge === merge)) return [landed]
  must(!isLanded(world, commit), `a commit is landed twice: ${commit}`)
  if (tipOf(world) !== tip)
    return [{ kind: 'landing.failed', commit, failure: { is: 'target-moved', tip: tipOf(world) }, ...of }]
  world.target.push({ merge, commit })
  world.done.add(key)
  yield []
  return [landed]
}

function* teardown({ world, key, of, script, task }: Scene, { mode }: Effect & { do: 'teardown' }): Act {
  const tree = world.trees.get(key)
  const refused = (code: string): Fact[] => [
    { kind: 'teardown.refused', code, reason: code, losses: [], holders: [], ...of },
  ]
  const alive = aliveIn(world, key)
  if (alive !== undefined) return refused('live-run')
  if (tree !== undefined && tree.state !== 'aside') {
    if (tree.edits.length > 0 && !mode.save && !mode.discard) return refused('loss')
    if (world.rough && script.teardowns[0] === 'refused' && script.teardowns.shift()) return refused('loss')
  }
  if (mode.by === 'landing')
    must(isLanded(world, task.landing?.commit ?? ''), `what is not landed is cleaned up: ${key}`)
  yield [{ kind: 'teardown.stepped', step: 'kill', ...of }]
  if (world.rough && script.teardowns[0] === 'stuck-early' && script.teardowns.shift()) {
    return [{ kind: 'workspace.stuck', step: 'kill', reason: 'still alive', holders: [], ...of }]
  }
  if (tree !== undefined) {
    must(aliveIn(world, key) === undefined, `a worktree is removed under a live run: ${key}`)
    for (const edit of tree.edits) (mode.save ? world.saved : world.discarded).add(edit)
    tree.state = 'aside'
    tree.edits = []
  }
  yield [{ kind: 'teardown.stepped', step: 'unregister', ...of }]
  if (world.rough && script.teardowns[0] === 'stuck-late' && script.teardowns.shift()) {
    return [{ kind: 'workspace.stuck', step: 'delete', reason: 'held', holders: [], ...of }]
  }
  world.trees.delete(key)
  world.preparing.delete(key)
  const tip = world.branches.get(key)
  if (mode.branch && tip !== undefined && editsOf(world, tip).every(edit => isIn(world, edit)))
    world.branches.delete(key)
  yield [{ kind: 'teardown.stepped', step: 'branch', ...of }]
  return [{ kind: 'workspace.removed', named: [], ...of }]
}

const isIn = (world: World, edit: string): boolean =>
  world.target.some(({ commit }) => commit !== null && editsOf(world, commit).includes(edit))
