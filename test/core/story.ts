// Random fleets: what tasks there are, and what happens to each of them.

import { type ProjectPolicy, policyDefault } from '../../src/core/config.ts'
import { type Fact, type TaskSpec } from '../../src/core/event.ts'
import { type Random } from './random.ts'
import { type Attempt, type Script } from './world.ts'

export const project = 'p'

export const policy: ProjectPolicy = {
  ...policyDefault,
  root: '/w',
  target: 'main',
  backoffMs: 1_000,
  backoffMaxMs: 20_000,
  timeoutMs: 60_000,
  quotaMs: 120_000,
  landingTries: 3,
}

/** Up to `most` of the given, in random order, each perhaps more than once. */
function some<T>(random: Random, probability: number, most: number, from: readonly T[]): T[] {
  const chosen: T[] = []
  while (chosen.length < most && random.chance(probability)) chosen.push(random.pick(from))
  return chosen
}

function attemptOf(random: Random): Attempt {
  return {
    works: random.pick(['commits', 'commits', 'edits', 'nothing']),
    ends: random.pick(['well', 'well', 'well', 'crash', 'overloaded', 'limited', 'signed-out', 'vanishes']),
    starts: random.chance(0.9) ? 'yes' : random.pick(['missing', 'fails']),
    ms: random.pick([500, 5_000, 20_000, 90_000]),
    asks: random.chance(0.15),
    gate: random.pick(['green', 'green', 'green', 'red', 'unknown', 'red-before']),
  }
}

export function specOf(random: Random, earlier: readonly string[]): TaskSpec {
  const after = earlier.filter(() => random.chance(0.25)).slice(0, 2)
  return {
    title: 'a task',
    kind: 'task',
    labels: [],
    priority: random.below(3),
    after,
    touches: [],
    engine: random.pick(['a', 'a', 'b']),
    land: random.pick(['auto', 'auto', 'auto', 'ask', 'never']),
    ...(random.chance(0.1) ? { budget: { usd: 0.6 } } : {}),
    changes: random.chance(0.1) ? 'optional' : 'required',
    stdin: 'prompt',
    pty: false,
  }
}

export const scriptOf = (random: Random, spec: TaskSpec): Script => ({
  spec,
  gated: random.chance(0.6),
  attempts: Array.from({ length: random.below(4) }, () => attemptOf(random)),
  setups: some(random, 0.2, 2, ['fails', 'rolled-back', 'stuck', 'held']),
  landings: some(random, 0.2, 3, [
    'conflict',
    'gate',
    'target-red',
    'target-busy',
    'protected',
    'failed',
    'branch-moved',
    'target-rewritten',
  ]),
  teardowns: some(random, 0.2, 2, ['refused', 'stuck-early', 'stuck-late']),
  collects: some(random, 0.05, 1, ['unknown']),
})

export const quietSpec = (spec: Partial<TaskSpec> = {}): TaskSpec => ({
  title: 'a task',
  kind: 'task',
  labels: [],
  priority: 0,
  after: [],
  touches: [],
  engine: 'a',
  land: 'auto',
  changes: 'required',
  stdin: 'prompt',
  pty: false,
  ...spec,
})

export const submitted = (task: string, spec: TaskSpec, call = 'call'): Fact => ({
  kind: 'task.submitted',
  project,
  task,
  spec,
  brief: { file: `/b/${task}`, bytes: 3, sha256: '00' },
  call,
  digest: task,
})

export const configured: Fact[] = [
  { kind: 'project.seen', project, root: '/r', commonDir: '/r/.git', name: 'repo' },
  { kind: 'project.configured', project, policy, source: 'berth.toml', hash: '' },
]
