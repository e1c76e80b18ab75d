// When a call is over, and how it exits.

import { expect, test } from 'vitest'
import { exitOf, restsFor, wouldGoOn } from '../../src/core/exit.ts'
import { tasksOf } from '../../src/core/fleet.ts'
import { type Landing } from '../../src/core/outcome.ts'
import { statusOf } from '../../src/core/status.ts'
import {
  type Told,
  asked,
  attempt,
  claimed,
  collected,
  done,
  exited,
  failed,
  landed,
  landing,
  of,
  ready,
  runId,
  started,
  submit,
  told,
  upToReady,
  workspace,
} from './told.ts'

const call = ({ fleet, clock }: Told): [boolean, number] => {
  const tasks = tasksOf(fleet, { call: 'call' })
  return [restsFor(fleet, tasks, clock), exitOf(fleet, tasks, clock)]
}
const failing = (failure: Landing): Told =>
  told(submit(), ...upToReady(), landing(), { kind: 'landing.failed', commit: 'c1', failure, ...of('one') })

test('it goes on until the landed work is cleaned up, and then all is well', () => {
  const story = told(submit())
  for (const fact of [
    ...workspace(),
    claimed(),
    ...started().slice(1),
    ...attempt(done()).slice(2),
    ready(),
    ...landed(),
  ])
    expect(call(story.tell(fact))).toEqual([false, 0])
  expect(call(story.tell({ kind: 'workspace.removed', named: [], ...of('one') }))).toEqual([true, 0])
})

test('ready work that waits for `berth land` is well, and so is what is queued behind it', () => {
  const story = told(submit('one', { land: 'ask' }), submit('two', { after: ['one'] }), ...upToReady())
  expect(call(story)).toEqual([true, 0])
})

test('a failed task makes 1, also when something else needs a person', () => {
  const story = told(
    submit('one'),
    submit('two', { after: ['one'] }),
    ...workspace(),
    ...attempt(failed({ reason: 'engine-missing' })),
  )
  expect(call(story)).toEqual([true, 1])
})

test('ready work that was to land by itself and could not makes 3', () => {
  expect(call(failing({ is: 'target-busy', paths: ['a'], reason: 'busy' }))).toEqual([true, 3])
  expect(call(failing({ is: 'protected', paths: ['a'] }))).toEqual([true, 3])
  expect(call(failing({ is: 'conflict', paths: ['a'], tip: 'm' }))).toEqual([true, 1])
})

test('a run that waits for an answer lets the call end with 3, unless another goes on', () => {
  const story = told(submit('one'), ...workspace(), ...started(), {
    kind: 'question.asked',
    run: runId('one', 1),
    question: { id: 'q', text: '?', choices: [] },
    ...of('one'),
  })
  expect(call(story)).toEqual([true, 3])
  expect(call(story.tell(submit('two')))[0]).toBe(false)
})

test('a task behind one of another call that needs a person rests, and says 3', () => {
  const story = told(submit('one'), ...workspace(), ...attempt(failed({ reason: 'engine-missing' })))
  story.tell({ ...submit('two', { after: ['one'] }), call: 'other' } as ReturnType<typeof submit>)
  const tasks = tasksOf(story.fleet, { call: 'other' })
  expect([restsFor(story.fleet, tasks, story.clock), exitOf(story.fleet, tasks, story.clock)]).toEqual([
    true,
    3,
  ])
})

test('a wait for a limit is waited out, a wait for a sign-in is not', () => {
  expect(
    call(told(submit(), ...workspace(), ...attempt({ is: 'limited', until: null, evidence: 'limit' }))),
  ).toEqual([false, 0])
  expect(call(told(submit(), ...workspace(), ...attempt({ is: 'signed-out', evidence: '401' })))).toEqual([
    true,
    3,
  ])
})

test('a stopped task rests once its run is over', () => {
  const story = told(submit(), ...workspace(), ...started(), {
    kind: 'task.stopped',
    by: 'interrupt',
    ...of('one'),
  })
  expect(call(story)).toEqual([false, 0])
  story.tell(...attempt({ is: 'stopped', why: 'interrupted' }).slice(2))
  expect(call(story)).toEqual([true, 0])
})

test('when all that may be alive waits for answers, what is queued behind them rests too', () => {
  const ask = (task: string) => [...workspace(task), ...started(task), asked(task)]
  const story = told(
    submit('one'),
    submit('two'),
    { kind: 'limits.set', limits: { jobs: 1, maxAlive: 1, perEngine: {} } },
    ...ask('one'),
  )
  expect(call(story)).toEqual([true, 3])
})

test('without a loop a reader is told what was cut off, and what would go on', () => {
  const story = told(submit('one', { land: 'ask' }))
  const seen = (): unknown[] => {
    const { fleet, clock } = story
    const { status, reasonCode } = statusOf(fleet, story.task(), clock, false)
    return [status, reasonCode, wouldGoOn(fleet, story.task(), clock)]
  }
  expect(seen()).toEqual(['queued', 'slot', true])
  story.tell(...workspace())
  expect(seen()).toEqual(['preparing', 'starting', true])
  story.tell(...started())
  expect(seen()).toEqual(['running', 'working', true])
  story.tell(exited())
  expect(seen()).toEqual(['verifying', 'cut-off', true])
  story.tell(collected(done('c1')))
  expect(seen()).toEqual(['verifying', 'cut-off', true])
  story.tell(ready('one', 'c1'))
  expect(seen()).toEqual(['ready', 'ready', false])
  story.tell({ kind: 'task.land-asked', by: 'me', ...of('one') }, landing())
  expect(seen()).toEqual(['landing', 'cut-off', true])
})
