// What follows from what happened: effects, their claims, and the next deadline.

import fc from 'fast-check'
import { expect, test } from 'vitest'
import { items } from '../../src/core/attention.ts'
import { type Clock } from '../../src/core/clock.ts'
import { decide, isUnwanted } from '../../src/core/decide.ts'
import { type Effect } from '../../src/core/effect.ts'
import { type Event, type Fact } from '../../src/core/event.ts'
import { type Fleet, emptyFleet, replay } from '../../src/core/fleet.ts'
import { type Landing, type RunEnd } from '../../src/core/outcome.ts'
import { pauseMs } from '../../src/core/recover.ts'
import { statusOf } from '../../src/core/status.ts'
import { play } from './fleets.ts'
import { policy } from './story.ts'
import { makesOf } from './simulate.ts'
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
  red,
  redBefore,
  started,
  submit,
  told,
  upToReady,
  workspace,
} from './told.ts'

const next = ({ fleet, clock }: { fleet: Fleet; clock: Clock }): Effect[] =>
  decide(fleet, clock, makesOf({ ids: 0 })).effects
const keys = (story: Told): string[] => next(story).map(({ key }) => key)
const deadline = ({ fleet, clock }: Told): unknown => decide(fleet, clock, makesOf({ ids: 0 })).deadline

test('a task goes step by step from submitted to removed', () => {
  const story = told(submit())
  const steps: string[] = []
  const script = [
    workspace(),
    started(),
    [exited()],
    [collected(done())],
    [ready()],
    [landing()],
    landed().slice(1, 2),
    landed().slice(2),
    [{ kind: 'workspace.removed' as const, named: [], ...of('one') }],
  ]
  for (const facts of script) {
    steps.push(keys(story).join(' '))
    story.tell(...facts)
  }
  expect(steps).toEqual([
    'prepare:p/one',
    'start:p/one',
    '',
    'collect:p/one',
    'verify:p/one',
    'integrate:p/one',
    'integrate:p/one',
    'land:p/one',
    'teardown:p/one',
  ])
  expect(keys(story)).toEqual([])
  expect(story.fleet.live.size).toBe(0)
})

test('a claim carries where the workspace is to be, and a fresh id for the run', () => {
  const story = told(submit())
  expect(next(story)[0]?.claim).toEqual({
    kind: 'workspace.claimed',
    path: '/w/p/one',
    branch: 'berth/one',
    home: '/h/p/one',
    ...of('one'),
  })
  story.tell(...workspace())
  expect(next(story)[0]?.claim).toEqual({
    kind: 'run.claimed',
    run: 'r1',
    engine: 'a',
    attempt: 1,
    ...of('one'),
  })
  story.tell(claimed())
  expect(next(story)).toEqual([{ key: 'start:p/one', do: 'start', run: 'one.1', adopt: false, ...of('one') }])
})

test('no more are started than there are slots: by priority, then the oldest first', () => {
  const story = told(submit('one'), submit('two', { priority: 5 }), submit('three'))
  expect(keys(story)).toEqual(['prepare:p/two', 'prepare:p/one'])
  story.tell(...workspace('two'))
  expect(keys(story)).toEqual(['start:p/two', 'prepare:p/one'])
})

test('a run that waits for an answer holds no slot, but those alive are bounded', () => {
  const ask = (task: string) => [...workspace(task), ...started(task), asked(task)]
  const story = told(submit('one'), submit('two'), submit('three'), submit('four'), submit('five'))
  story.tell(...ask('one'), ...ask('two'))
  expect(keys(story)).toEqual(['prepare:p/three', 'prepare:p/four'])
  story.tell(...ask('three'), ...ask('four'))
  expect(keys(story)).toEqual([])
})

test('a limit per engine lets those of another engine pass', () => {
  const story = told(submit('one'), submit('two'), submit('three', { engine: 'b' }))
  story.tell({ kind: 'limits.set', limits: { jobs: 3, maxAlive: 9, perEngine: { a: 1 } } })
  expect(keys(story)).toEqual(['prepare:p/one', 'prepare:p/three'])
})

test('a dependent starts when its dependency is landed; where nothing lands, when it is ready', () => {
  const story = told(submit('one'), submit('two', { after: ['one'] }), ...upToReady('one'))
  expect(keys(story)).toEqual(['integrate:p/one'])
  story.tell(...landed('one'))
  expect(keys(story)).toEqual(['teardown:p/one', 'prepare:p/two'])
  const never = told(submit('one', { land: 'never' }), submit('two', { after: ['one'] }), ...upToReady('one'))
  expect(keys(never)).toEqual(['prepare:p/two'])
})

test('a failed attempt is followed by another after a pause that doubles, until they are used up', () => {
  const story = told(submit(), ...workspace(), ...attempt(failed()))
  const ended = story.events.at(-1)!.awake
  expect(keys(story)).toEqual([])
  const pause = pauseMs(policy, 1, 'one.1')
  expect(deadline(story)).toEqual({ awake: ended + pause })
  story.wait(pause)
  expect(keys(story)).toEqual(['start:p/one'])
  story.tell(...attempt(failed(), 'one', 2)).wait(policy.backoffMaxMs)
  expect(keys(story)).toEqual(['start:p/one'])
  story.tell(...attempt(failed(), 'one', 3)).wait(policy.backoffMaxMs * 2)
  expect(keys(story)).toEqual([])
  expect(deadline(story)).toEqual({})
  expect(pauseMs(policy, 2, 'x')).toBe(2 * pauseMs(policy, 1, 'x'))
})

test('an attempt that a person asks for starts at once, and the count begins anew', () => {
  const story = told(
    submit(),
    ...workspace(),
    ...attempt(failed()),
    ...attempt(failed(), 'one', 2),
    ...attempt(failed(), 'one', 3),
  )
  expect(keys(story)).toEqual([])
  story.tell({ kind: 'task.retried', by: 'me', ...of('one') })
  expect(keys(story)).toEqual(['start:p/one'])
  story.tell(...attempt(failed(), 'one', 4)).wait(policy.backoffMaxMs)
  expect(keys(story)).toEqual(['start:p/one'])
})

test('a missing program, a denied permission and a refused request are not tried again', () => {
  for (const outcome of [
    failed({ reason: 'engine-missing' }),
    failed({ reason: 'HTTP 400', cause: 'engine-error' }),
    { is: 'no-work' as const, denied: ['Bash'], escaped: [] },
  ]) {
    const story = told(submit(), ...workspace(), ...attempt(outcome)).wait(policy.backoffMaxMs * 2)
    expect(keys(story)).toEqual([])
  }
})

test('a usage limit holds all tasks of that engine and account until its time, and then one goes first', () => {
  const until = 1_700_000_600_000
  const story = told(
    submit('one'),
    submit('two'),
    submit('three'),
    submit('four', { engine: 'b' }),
    ...workspace(),
    ...attempt({ is: 'limited', until, evidence: '5-hour limit' }),
  )
  expect(keys(story)).toEqual(['prepare:p/four'])
  expect(deadline(story)).toEqual({ wall: until })
  story.wait(until - story.clock.wall)
  expect(keys(story)).toEqual(['start:p/one', 'prepare:p/four'])
  story.tell(...started('one', 2))
  expect(keys(story)).toEqual(['prepare:p/four'])
  story.wait(30_000)
  expect(keys(story)).toEqual(['prepare:p/two'])
})

test.each(['limited', 'signed-out'] as const)(
  'an engine that is %s holds the others from the exit on, before the work was looked at',
  is => {
    const story = told(submit('one'), submit('two'), ...workspace(), ...started())
    expect(keys(story)).toEqual(['prepare:p/two'])
    const end: RunEnd = is === 'limited' ? { is, until: null, evidence: 'limit' } : { is, evidence: '401' }
    story.tell(exited('one', 1, end))
    expect(keys(story)).toEqual(['collect:p/one'])
  },
)

test('a limit uses up no attempt, whatever the exit code, and is said by the agent too', () => {
  const story = told(submit(), ...workspace(), ...started(), {
    kind: 'run.limited',
    until: null,
    text: 'later',
    from: 'agent',
    run: 'one.1',
    ...of('one'),
  })
  story.tell(exited(), collected(done()))
  expect(keys(story)).toEqual([])
  expect(deadline(story)).toEqual({ wall: story.events.at(-1)!.at + policy.quotaMs })
})

test('a signed-out engine is not tried again until somebody says that it is signed in', () => {
  const story = told(
    submit('one'),
    submit('two'),
    ...workspace(),
    ...attempt({ is: 'signed-out', evidence: '401' }),
  ).wait(1e9)
  expect(keys(story)).toEqual([])
  story.tell({ kind: 'account.signed-in', engine: 'a', account: '', by: 'me' })
  expect(keys(story).sort()).toEqual(['prepare:p/two', 'start:p/one'])
})

test('a red gate leads to another attempt, within the attempts', () => {
  const story = told(submit(), ...workspace(), ...attempt(done()), ...red()).wait(policy.backoffMaxMs)
  expect(keys(story)).toEqual(['start:p/one'])
  story
    .tell(
      ...attempt(done('c2'), 'one', 2),
      ...red('one', 'c2'),
      ...attempt(done('c3'), 'one', 3),
      ...red('one', 'c3'),
    )
    .wait(policy.backoffMaxMs)
  expect(keys(story)).toEqual([])
})

test('a run over its time is ended, counted awake and without the time that it waited for an answer', () => {
  const story = told(submit('one', { timeoutMs: 60_000 }), ...workspace(), ...started())
  expect(deadline(story)).toEqual({ awake: story.events.at(-1)!.awake + 60_000 })
  story
    .wait(30_000)
    .tell({
      kind: 'question.asked',
      run: 'one.1',
      question: { id: 'q', text: 'which?', choices: [] },
      ...of('one'),
    })
    .wait(1e7)
  expect(keys(story)).toEqual([])
  expect(deadline(story)).toEqual({})
  story.tell({ kind: 'question.answered', run: 'one.1', id: 'q', answer: 'a', by: 'me', ...of('one') })
  expect(keys(story)).toEqual([])
  story.wait(31_000)
  expect(next(story)[0]).toMatchObject({
    do: 'end',
    why: 'timeout',
    claim: { kind: 'run.ending', why: 'timeout' },
  })
})

test('a run over its budget is ended', () => {
  const story = told(submit('one', { budget: { usd: 1 } }), ...workspace(), ...started())
  story.tell({
    kind: 'usage.counted',
    run: 'one.1',
    usage: { usd: 1.2, inputTokens: 0, outputTokens: 0 },
    ...of('one'),
  })
  expect(next(story)[0]).toMatchObject({ do: 'end', why: 'budget' })
})

test('a stop ends the run and keeps the workspace; resume goes on where it was', () => {
  const story = told(submit(), ...workspace(), ...started(), { kind: 'task.stopped', by: 'me', ...of('one') })
  expect(next(story)[0]).toMatchObject({ do: 'end', why: 'stopped' })
  story.tell(
    { kind: 'run.ending', why: 'stopped', run: 'one.1', ...of('one') },
    exited(),
    collected({ is: 'stopped', why: 'stopped' }),
  )
  expect(keys(story)).toEqual([])
  story.tell({ kind: 'task.resumed', by: 'me', ...of('one') })
  expect(keys(story)).toEqual(['start:p/one'])
})

test('a stop or a removal cancels a preparation and gates that are under way, and nothing else', () => {
  const story = told(submit(), workspace()[0]!)
  const [prepare] = next(story)
  expect(isUnwanted(story.fleet, prepare!)).toBe(false)
  story.tell({ kind: 'task.stopped', by: 'me', ...of('one') })
  expect(isUnwanted(story.fleet, prepare!)).toBe(true)
  expect(
    isUnwanted(story.fleet, { ...prepare!, do: 'land', commit: 'c', tip: 't', merge: 'm' } as Effect),
  ).toBe(false)
})

test('one task of a project lands at a time; a red target holds the others', () => {
  const story = told(submit('one'), submit('two'), ...upToReady('one'), ...upToReady('two', 'c2'))
  expect(keys(story)).toEqual(['integrate:p/one'])
  story.tell(landing('one'))
  expect(keys(story)).toEqual(['integrate:p/one'])
  story.tell({
    kind: 'landing.failed',
    commit: 'c1',
    failure: { is: 'target-red', gate: 'test', reason: 'exited with 1', tail: [], tip: 'm0' },
    ...of('one'),
  })
  expect(keys(story)).toEqual([])
  story.tell({ kind: 'task.land-asked', by: 'me', ...of('two') })
  expect(keys(story)).toEqual([])
  story.tell({ kind: 'task.land-asked', by: 'me', ...of('one') })
  expect(keys(story)).toEqual(['integrate:p/one'])
})

const blocking = ({ fleet, clock }: Told): unknown =>
  items(fleet, clock).map(({ id, blocks }) => [id, blocks])

const targetRed = (task: string, commit: string, tip: string): Fact => ({
  kind: 'landing.failed',
  commit,
  failure: { is: 'target-red', gate: 'test', reason: 'exited with 1', tail: [], tip },
  ...of(task),
})

test('what passed on the very commit that is red passes the one that holds the queue, which then goes on', () => {
  const story = told(submit('one'), submit('two'), ...upToReady('one'), ...upToReady('two', 'c2'))
  story.tell(landing('one'), targetRed('one', 'c1', 'c0'))
  expect(keys(story)).toEqual(['integrate:p/two'])
  expect(blocking(story)).toEqual([['target:one', []]])
  expect(statusOf(story.fleet, story.task('two'), story.clock)).toMatchObject({ waitsFor: 'landing' })
  story.tell(landing('two', 'c2'))
  expect(keys(story)).toEqual(['integrate:p/two'])
  story.tell(...landed('two', 'c2').slice(1))
  expect(keys(story)).toEqual(['teardown:p/two', 'integrate:p/one'])
  story.tell(landing('one'), targetRed('one', 'c1', 'm-two'))
  expect(keys(story)).toEqual(['teardown:p/two'])
})

test.each<[string, Partial<Fact & { kind: 'task.ready' }>, string]>([
  ['stands on another commit', {}, 'm0'],
  ['has not passed that gate', { gates: ['lint'] }, 'c0'],
  ['is red there itself', { gates: [], red: { gate: 'test', reason: 'r', tail: [], tip: 'c0' } }, 'c0'],
])('what %s waits behind a red target', (_what, more, tip) => {
  const story = told(submit('one'), submit('two'), ...upToReady('one'), ...workspace('two'))
  story.tell(...attempt(done('c2'), 'two'), ready('two', 'c2', more), landing('one'))
  story.tell(targetRed('one', 'c1', tip))
  expect(keys(story)).toEqual([])
  expect(blocking(story)).toEqual([['target:one', ['two']]])
})

test('a target that was red before is nobody’s fault: no attempt follows, and its landing judges', () => {
  const story = told(submit(), ...workspace(), ...attempt(done()), redBefore())
  expect(keys(story)).toEqual(['integrate:p/one'])
  const asks = told(submit('one', { land: 'ask' }), ...workspace(), ...attempt(done()), redBefore())
  expect(keys(asks.wait(1e7))).toEqual([])
  expect(asks.task().setbacks).toEqual([])
  expect(keys(asks.tell({ kind: 'task.land-asked', by: 'me', ...of('one') }))).toEqual(['integrate:p/one'])
  asks.tell(landing(), targetRed('one', 'c1', 'm0'))
  expect(keys(asks)).toEqual([])
  expect(keys(asks.tell({ kind: 'task.retried', by: 'me', ...of('one') }))).toEqual(['start:p/one'])
})

test('one that was red before neither holds the queue nor is what others wait for', () => {
  const story = told(submit('one', { land: 'never' }), submit('two', { after: ['one'] }), submit('three'))
  story.tell(...workspace('one'), ...attempt(done(), 'one'), redBefore('one'))
  expect(blocking(story)).toEqual([['target:one', ['two']]])
  story.tell(...upToReady('three', 'c3'))
  expect(keys(story)).toEqual(['integrate:p/three'])
})

test('a conflict does not hold the queue', () => {
  const story = told(
    submit('one'),
    submit('two'),
    ...upToReady('one'),
    ...upToReady('two', 'c2'),
    landing('one'),
  )
  story.tell({
    kind: 'landing.failed',
    commit: 'c1',
    failure: { is: 'conflict', paths: ['a'], tip: 'm0' },
    ...of('one'),
  })
  expect(keys(story)).toEqual(['integrate:p/two'])
})

test('a target that moved is tried again, a bounded number of times', () => {
  const story = told(submit(), ...upToReady())
  const moved = {
    kind: 'landing.failed' as const,
    commit: 'c1',
    failure: { is: 'target-moved' as const, tip: 'm1' },
    ...of('one'),
  }
  for (let tries = 0; tries < policy.landingTries; tries++) {
    expect(keys(story)).toEqual(['integrate:p/one'])
    story.tell(landing(), moved)
  }
  expect(keys(story)).toEqual([])
})

test('work that no gate has seen lands only after a person let exactly that commit pass', () => {
  const story = told(
    submit(),
    ...workspace(),
    ...attempt(done('c1', { uncommitted: true })),
    ready('one', 'c1', { gates: [], uncommitted: true }),
  )
  expect(keys(story)).toEqual([])
  story.tell({ kind: 'task.approved', commit: 'c0', what: 'uncommitted-work', by: 'me', ...of('one') })
  expect(keys(story)).toEqual([])
  story.tell({ kind: 'task.approved', commit: 'c1', what: 'uncommitted-work', by: 'me', ...of('one') })
  expect(keys(story)).toEqual(['integrate:p/one'])
})

test('protected paths are let pass by a landing asked for after they were shown, not by one before', () => {
  const story = told(submit('one', { land: 'ask' }), ...upToReady(), {
    kind: 'task.land-asked',
    by: 'me',
    ...of('one'),
  })
  expect(next(story)[0]).toMatchObject({ do: 'integrate', approved: false })
  story.tell(landing(), {
    kind: 'landing.failed',
    commit: 'c1',
    failure: { is: 'protected', paths: ['berth.toml'] },
    ...of('one'),
  })
  expect(keys(story)).toEqual([])
  story.tell({ kind: 'task.land-asked', by: 'me', ...of('one') })
  expect(next(story)[0]).toMatchObject({ do: 'integrate', approved: true })
})

const askedToLand: Fact = { kind: 'task.land-asked', by: 'me', ...of('one') }

test.each<[string, Fact[]]>([
  ['a red gate', red('one', 'c1')],
  ['another attempt', []],
])('an order to land is for the work as it then was: %s spends it', (_what, between) => {
  const verified = [...workspace(), ...attempt(done('c1'))]
  const story = told(submit('one', { land: 'ask' }), ...verified, askedToLand, ...between)
  story.tell(...attempt(done('c2'), 'one', 2), ready('one', 'c2'))
  expect(keys(story)).toEqual([])
  story.tell(askedToLand)
  expect(keys(story)).toEqual(['integrate:p/one'])
})

test.each<[string, Landing]>([
  ['a conflict', { is: 'conflict', paths: ['a'], tip: 'm1' }],
  ['a gate on the merge', { is: 'gate', gate: 'test', reason: 'exited with 1', tail: [], tip: 'm1' }],
])('%s spends an order to land, and leaves what lands by itself', (_what, failure) => {
  const failed: Fact = { kind: 'landing.failed', commit: 'c1', failure, ...of('one') }
  const again: Fact = { kind: 'task.withdrawn', commit: 'c1', reason: 'HEAD moved', ...of('one') }
  const after = (land: 'ask' | 'auto') =>
    keys(
      told(submit('one', { land }), ...upToReady(), askedToLand, landing(), failed, again).tell(
        collected(done('c2')),
        ready('one', 'c2'),
      ),
    )
  expect([after('ask'), after('auto')]).toEqual([[], ['integrate:p/one']])
})

test('with admission closed begun things are finished and nothing is begun', () => {
  const story = told(
    submit('one'),
    submit('two'),
    submit('three'),
    ...upToReady('one'),
    landing('one'),
    ...workspace('two'),
    claimed('two'),
    workspace('three')[0]!,
  )
  story.tell({ kind: 'admission.closed', by: 'me' })
  expect(next(story)).toMatchObject([
    { do: 'integrate', task: 'one' },
    { do: 'start', task: 'two', adopt: true },
  ])
})

test('after a restart of the host nothing goes on until a person says so', () => {
  const story = told(
    submit('one'),
    submit('two'),
    ...workspace('one'),
    ...started('one'),
    workspace('two')[0]!,
  )
  story.tell(
    { kind: 'run.lost', run: 'one.1', reason: 'host-restarted', ...of('one') },
    { kind: 'host.restarted', boot: 'c' },
  )
  expect(keys(story)).toEqual(['collect:p/one'])
  story.tell(collected(failed({ reason: 'host-restarted' }))).wait(1e8)
  expect(keys(story)).toEqual([])
  story.tell(submit('three'))
  expect(keys(story)).toEqual(['prepare:p/three'])
  story.tell({ kind: 'task.resumed', by: 'me', ...of('one') })
  expect(keys(story)).toContain('start:p/one')
})

test('a clean-up that is past its point of no return is gone on with at the next start, an earlier one is not', () => {
  const stuck = (step: string) =>
    told(
      submit(),
      ...upToReady(),
      ...landed(),
      {
        kind: 'teardown.asked',
        mode: { save: true, discard: false, branch: true, stop: false, unlock: false, by: 'landing' },
        ...of('one'),
      },
      { kind: 'workspace.stuck', step, reason: 'held', holders: [], ...of('one') },
    )
  const start = {
    kind: 'loop.started' as const,
    boot: 'b',
    offset: 0,
    version: '1',
    pid: 2,
    admission: 'closed' as const,
  }
  expect(keys(stuck('delete'))).toEqual([])
  expect(keys(stuck('delete').tell(start))).toEqual(['teardown:p/one'])
  expect(keys(stuck('kill').tell(start))).toEqual([])
})

test('a changed worktree is looked at again and verified anew, but not for ever', () => {
  const story = told(submit(), ...upToReady())
  for (let i = 0; i < 6; i++) {
    story.tell({ kind: 'task.withdrawn', commit: `c${i}`, reason: 'HEAD moved', ...of('one') })
    expect(keys(story)).toEqual(['collect:p/one'])
    story.tell(collected(done(`d${i}`)))
  }
  expect(keys(story)).toEqual([])
})

test('a name is used again only when the life before is over; late facts of that life change nothing', () => {
  const story = told(submit(), ...upToReady())
  story.tell(submit('one', { priority: 9 }))
  expect(story.task().spec.priority).toBe(0)
  story.tell(
    ...landed(),
    { kind: 'workspace.removed', named: [], ...of('one') },
    submit('one', { priority: 9 }),
  )
  expect(story.task()).toMatchObject({ spec: { priority: 9 }, runs: [] })
  story.tell(exited())
  expect(story.task().runs).toEqual([])
  expect(keys(story)).toEqual(['prepare:p/one'])
})

test('two thousand landed tasks do not slow a decision', () => {
  const story = told()
  for (let i = 0; i < 2_000; i++)
    story.tell(submit(`t${i}`), ...upToReady(`t${i}`), ...landed(`t${i}`), {
      kind: 'workspace.removed',
      named: [],
      ...of(`t${i}`),
    })
  story.tell(submit('one'))
  expect(story.fleet.live.size).toBe(1)
  expect(keys(story)).toEqual(['prepare:p/one'])
})

test('deciding changes nothing, and the same state leads to the same decision at any point of any story', async () => {
  for (let seed = 1; seed <= 5; seed++) {
    const { events } = await play(seed)
    const fleet = emptyFleet()
    for (const event of events) {
      replay([event], fleet)
      const clock = { wall: event.at, awake: event.awake }
      const first = decide(fleet, clock, makesOf({ ids: 0 }))
      expect(decide(fleet, clock, makesOf({ ids: 0 }))).toEqual(first)
      expect(new Set(first.effects.map(effect => `${effect.project}/${effect.task}`)).size).toBe(
        first.effects.length,
      )
    }
  }
})

test('a fold in pieces is the fold of the whole, and repeated or foreign facts never throw', async () => {
  const { events } = await play(7)
  const whole = replay(events)
  fc.assert(
    fc.property(fc.nat(events.length), cut => {
      expect(replay(events.slice(cut), replay(events.slice(0, cut)))).toEqual(whole)
    }),
    { numRuns: 25 },
  )
  fc.assert(
    fc.property(fc.shuffledSubarray(events), some => {
      const fleet = replay(some.map((event, index): Event => ({ ...event, seq: index + 1 })))
      decide(fleet, { wall: 1.8e12, awake: 1e9 }, makesOf({ ids: 0 }))
    }),
    { numRuns: 200 },
  )
})
