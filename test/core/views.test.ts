// The rows of `ls` and all of one task, as readers get them.

import { expect, test } from 'vitest'
import { type Fact } from '../../src/core/event.ts'
import { clockOf, timerMs } from '../../src/core/clock.ts'
import { isListed, runName, showView, taskView } from '../../src/core/views.ts'
import {
  type Told,
  attempt,
  claimed,
  done,
  exited,
  failed,
  landed,
  of,
  ready,
  red,
  submit,
  told,
  upToReady,
  workspace,
} from './told.ts'

const view = ({ fleet, clock, task }: Told, live = true) =>
  taskView(fleet, task(), clock, { host: 'h', live })

test('a row of a ready task', () => {
  const story = told(submit('one', { land: 'ask', priority: 2, labels: ['x'] }), ...upToReady())
  expect(view(story)).toEqual({
    task: 'one',
    project: 'p',
    repo: '/r',
    title: 'a task',
    kind: 'task',
    labels: ['x'],
    priority: 2,
    after: [],
    status: 'ready',
    reason: 'its gates passed: test; it waits for `berth land`',
    reasonCode: 'ready',
    until: null,
    unattended: false,
    waitsFor: 'person',
    engine: 'a',
    model: null,
    account: null,
    attempt: 1,
    branch: 'berth/one',
    base: 'c0',
    commit: 'c1',
    worktree: '/w/one',
    host: 'h',
    ports: [],
    land: 'ask',
    startedAt: new Date(story.events.find(({ kind }) => kind === 'run.started')!.at).toISOString(),
    updatedAt: new Date(story.events.at(-1)!.at).toISOString(),
    cost: { usd: 0.1, inputTokens: 10, outputTokens: 1 },
    changes: { files: 1, insertions: 2, deletions: 0, dirty: null },
    removal: null,
    differences: [],
  })
})

test('a task behind another says so, also while its engine is held', () => {
  const limit = attempt({ is: 'limited', until: 1_700_000_900_000, evidence: '5-hour limit' })
  const story = told(submit(), submit('two', { after: ['one'] }), submit('three'), ...workspace(), ...limit)
  const row = (name: string) =>
    taskView(story.fleet, story.task(name), story.clock, { host: 'h', live: true })
  expect(row('two')).toMatchObject({ reasonCode: 'dependency', waitsFor: 'dependency', until: null })
  expect(row('three')).toMatchObject({ reasonCode: 'quota', waitsFor: 'quota' })
})

test('a wait says until when, by the wall clock', () => {
  const until = 1_700_000_900_000
  const story = told(submit(), ...workspace(), ...attempt({ is: 'limited', until, evidence: '5-hour limit' }))
  expect(view(story)).toMatchObject({
    status: 'retrying',
    reasonCode: 'quota',
    waitsFor: 'quota',
    until: new Date(until).toISOString(),
    reason: "'a' reached a usage limit: 5-hour limit",
  })
  const backoff = told(submit(), ...workspace(), ...attempt(failed()))
  expect(view(backoff)).toMatchObject({
    status: 'retrying',
    reasonCode: 'backoff',
    waitsFor: null,
    reason: 'exit code 1',
  })
  expect(Date.parse(view(backoff).until!)).toBeGreaterThan(backoff.clock.wall)
})

test('a creation that was cut off is named so by a reader without a loop, and after a restart that starts nothing', () => {
  const story = told(submit(), workspace()[0]!)
  expect(view(story)).toMatchObject({ status: 'preparing', reasonCode: 'creating' })
  expect(view(story, false)).toMatchObject({ status: 'preparing', reasonCode: 'cut-off', waitsFor: 'person' })
  story.tell({ kind: 'loop.started', boot: 'b', offset: 0, version: '1', pid: 2, admission: 'closed' })
  expect(view(story)).toMatchObject({ status: 'preparing', reasonCode: 'cut-off', waitsFor: 'person' })
})

test('the words for the steps on the way', () => {
  const story = told(submit())
  const words = (): string => `${view(story).status} ${view(story).reasonCode}`
  const seen = [words()]
  const way = [
    ...workspace(),
    claimed(),
    ...attempt(done()).slice(1, 2),
    exited(),
    ...attempt(done()).slice(3),
    ready(),
    ...landed(),
  ]
  for (const fact of way) {
    story.tell(fact)
    if (seen.at(-1) !== words()) seen.push(words())
  }
  expect(seen).toEqual([
    'queued slot',
    'preparing creating',
    'preparing starting',
    'running working',
    'verifying collecting',
    'verifying gates',
    'ready ready',
    'landing integrating',
    'landed landed',
  ])
  expect(isListed(story.task(), false)).toBe(true)
  story.tell({ kind: 'workspace.removed', named: [], ...of('one') })
  expect(view(story)).toMatchObject({ status: 'landed', worktree: null, base: 'c0', removal: null })
  expect(isListed(story.task(), false)).toBe(false)
})

test('a removal that stopped half way says step and reason, and the work that is not landed is dropped', () => {
  const mode = {
    save: true,
    discard: false,
    branch: false,
    stop: false,
    unlock: false,
    by: 'person' as const,
  }
  const stuck = (step: string) =>
    told(
      submit(),
      ...upToReady(),
      { kind: 'teardown.asked', mode, ...of('one') },
      { kind: 'workspace.stuck', step, reason: 'held by 7 vim', holders: [], ...of('one') },
    )
  expect(view(stuck('delete'))).toMatchObject({
    status: 'dropped',
    removal: { step: 'delete', reason: 'held by 7 vim' },
  })
  expect(view(stuck('kill'))).toMatchObject({ status: 'ready', removal: { step: 'kill' } })
})

test('all of one task', () => {
  const story = told(submit(), ...workspace(), ...attempt(done()), ...red())
  const shown = showView(story.fleet, story.task(), story.clock, {
    host: 'h',
    live: true,
    brief: 'Do it.',
    merged: null,
    target: null,
    behind: null,
    losses: [],
  })
  expect(shown).toMatchObject({
    brief: 'Do it.',
    runs: [
      { run: 'one.1', name: runName('one', 1), attempt: 1, state: 'collected', outcome: 'done', code: 0 },
    ],
    gates: [
      {
        gate: 'test',
        passed: false,
        reason: 'exit code 1',
        code: 1,
        where: 'workspace',
        tail: ['not ok 1', 'expected 2'],
      },
    ],
    items: [],
  })
})

test('a gate that ended with 0 and failed all the same is not shown as passed', () => {
  const exited = red()[0] as Fact & { kind: 'gate.exited' }
  const reason = 'it left changes in the worktree: a'
  const story = told(submit(), ...workspace(), ...attempt(done()))
  story.tell({ ...exited, code: 0, reason }, { ...exited, code: 0 })
  const seen = { host: 'h', live: true, brief: '', merged: null, target: null, behind: null, losses: [] }
  const { gates } = showView(story.fleet, story.task(), story.clock, seen)
  expect(gates.map(gate => [gate.passed, gate.reason])).toEqual([
    [false, reason],
    [true, null],
  ])
})

test('a reader sees the clock of the loop; after a restart of the host it stands where it stood', () => {
  const { fleet } = told()
  const last = fleet.last!.awake
  expect(clockOf(fleet, { wall: 5, monotonic: last + 700, boot: 'b' })).toEqual({
    wall: 5,
    awake: last + 700,
  })
  expect(clockOf(fleet, { wall: 5, monotonic: 3, boot: 'c' })).toEqual({ wall: 5, awake: last })
})

test('no timer is longer than a day, and one for a wall time is looked at each minute', () => {
  const clock = { wall: 0, awake: 0 }
  expect(timerMs({}, clock)).toBeUndefined()
  expect(timerMs({ awake: 30 * 86_400_000 }, clock)).toBe(86_400_000)
  expect(timerMs({ wall: 3_600_000 }, clock)).toBe(60_000)
  expect(timerMs({ awake: 20.4, wall: 3_600_000 }, clock)).toBe(21)
  expect(timerMs({ awake: -5 }, clock)).toBe(1)
})
