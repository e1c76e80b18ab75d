// Short ways to tell what happened to a task, for tests of what follows from it.

import { type Event, type Fact } from '../../src/core/event.ts'
import { type Clock } from '../../src/core/clock.ts'
import { type Fleet, apply, emptyFleet } from '../../src/core/fleet.ts'
import { type Outcome, type RunEnd } from '../../src/core/outcome.ts'
import { type Task } from '../../src/core/task.ts'
import { configured, project, quietSpec, submitted } from './story.ts'

export const wall0 = 1_700_000_000_000

/** A fleet told facts one by one. Each takes `stepMs` (default 1 s), by both clocks. */
export type Told = {
  fleet: Fleet
  events: Event[]
  clock: Clock
  tell(...facts: Fact[]): Told
  wait(ms: number): Told
  task(name?: string): Task
}

export function told(...facts: Fact[]): Told {
  const fleet = emptyFleet()
  const events: Event[] = []
  const clock = { wall: wall0, awake: 0 }
  const story: Told = {
    fleet,
    events,
    clock,
    tell: (...more) => {
      for (const fact of more) {
        const event: Event = {
          ...fact,
          seq: events.length + 1,
          at: clock.wall,
          awake: clock.awake,
          host: 'h',
        }
        events.push(event)
        apply(fleet, event)
        story.wait(1_000)
      }
      return story
    },
    wait: ms => {
      clock.wall += ms
      clock.awake += ms
      return story
    },
    task: (name = 'one') => {
      const task = fleet.tasks.get(`${project}/${name}`)
      if (task === undefined) throw new Error(`no task '${name}'`)
      return task
    },
  }
  const started: Fact = {
    kind: 'loop.started',
    boot: 'b',
    offset: 0,
    version: '1',
    pid: 1,
    admission: 'open',
  }
  return story.tell(
    started,
    ...configured,
    { kind: 'limits.set', limits: { jobs: 2, maxAlive: 4, perEngine: {} } },
    ...facts,
  )
}

export const of = (task: string): { project: string; task: string } => ({ project, task })

export const submit = (task = 'one', spec: Parameters<typeof quietSpec>[0] = {}): Fact =>
  submitted(task, quietSpec(spec))

export const workspace = (task = 'one'): Fact[] => [
  { kind: 'workspace.claimed', path: `/w/${task}`, branch: `berth/${task}`, home: `/h/${task}`, ...of(task) },
  {
    kind: 'workspace.ready',
    path: `/w/${task}`,
    branch: `berth/${task}`,
    home: `/h/${task}`,
    base: 'c0',
    baseRule: 'config',
    notices: [],
    ...of(task),
  },
]

export const claimed = (task = 'one', attempt = 1, engine = 'a'): Fact => ({
  kind: 'run.claimed',
  run: runId(task, attempt),
  engine,
  attempt,
  ...of(task),
})

/** The first run of a task asks a person. */
export const asked = (task: string): Fact => ({
  kind: 'question.asked',
  run: runId(task, 1),
  question: { id: 'q', text: 'which?', choices: [] },
  ...of(task),
})

export const started = (task = 'one', attempt = 1): Fact[] => [
  claimed(task, attempt),
  {
    kind: 'run.started',
    run: runId(task, attempt),
    pid: 7,
    startedAt: 'b/7',
    supervisor: 6,
    base: 'c0',
    ...of(task),
  },
]

export const runId = (task: string, attempt: number): string => `${task}.${attempt}`

export const exited = (
  task = 'one',
  attempt = 1,
  end: RunEnd = { is: 'ended', text: 'done', denied: [] },
): Fact => ({
  kind: 'run.exited',
  run: runId(task, attempt),
  code: end.is === 'ended' ? 0 : 1,
  signal: null,
  usage: { usd: 0.1, inputTokens: 10, outputTokens: 1 },
  end,
  ...of(task),
})

export const collected = (outcome: Outcome, task = 'one', attempt = 1): Fact => ({
  kind: 'run.collected',
  run: runId(task, attempt),
  outcome,
  ...of(task),
})

export const changes = { files: 1, insertions: 2, deletions: 0, commits: 1 }

export const done = (commit = 'c1', more: Partial<Outcome & { is: 'done' }> = {}): Outcome => ({
  is: 'done',
  commit,
  changes,
  uncommitted: false,
  withheld: [],
  ...more,
})

export const failed = (more: Partial<Outcome & { is: 'failed' }> = {}): Outcome => ({
  is: 'failed',
  reason: 'exit code 1',
  evidence: 'boom',
  transient: false,
  escaped: [],
  cause: 'exit',
  ...more,
})

/** A whole attempt, up to what became of it. */
export const attempt = (outcome: Outcome, task = 'one', number = 1): Fact[] => [
  ...started(task, number),
  exited(
    task,
    number,
    outcome.is === 'failed'
      ? { is: 'failed', reason: outcome.reason, evidence: outcome.evidence, transient: outcome.transient }
      : undefined,
  ),
  collected(outcome, task, number),
]

export const ready = (
  task = 'one',
  commit = 'c1',
  more: Partial<Fact & { kind: 'task.ready' }> = {},
): Fact => ({
  kind: 'task.ready',
  commit,
  gates: ['test'],
  changes,
  uncommitted: false,
  ...of(task),
  ...more,
})

export const red = (task = 'one', commit = 'c1'): Fact[] => [
  {
    kind: 'gate.exited',
    gate: 'test',
    commit,
    where: 'workspace',
    code: 1,
    signal: null,
    ms: 5,
    timedOut: false,
    tail: ['not ok 1', 'expected 2'],
    output: '/s/a gate.log',
    ...of(task),
  },
  { kind: 'task.red', commit, gate: 'test', reason: 'exited with 1', ...of(task) },
]

/** Its gate fails on what it began at, too. */
export const redBefore = (task = 'one', commit = 'c1', tip = 'c0'): Fact =>
  ready(task, commit, { gates: [], red: { gate: 'test', reason: 'exited with 1', tail: ['not ok 1'], tip } })

export const landing = (task = 'one', commit = 'c1'): Fact => ({
  kind: 'landing.claimed',
  commit,
  target: 'main',
  ...of(task),
})

export const landed = (task = 'one', commit = 'c1'): Fact[] => [
  landing(task, commit),
  { kind: 'landing.tested', commit, target: 'main', tip: 'm0', merge: `m-${task}`, ...of(task) },
  { kind: 'landing.landed', commit, target: 'main', merge: `m-${task}`, rule: 'merged', ...of(task) },
]

/** All the way to being ready. */
export const upToReady = (task = 'one', commit = 'c1'): Fact[] => [
  ...workspace(task),
  ...attempt(done(commit), task),
  ready(task, commit),
]
