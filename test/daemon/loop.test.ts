// The loop by itself: order, claims, cancelling, a full disk, effects that come to nothing, and its end.

import { expect, test } from 'vitest'
import { BerthError } from '../../src/core/errors.ts'
import { type Effect } from '../../src/core/effect.ts'
import { type Event, type Fact } from '../../src/core/event.ts'
import { statusOf } from '../../src/core/status.ts'
import {
  type HostClock,
  type Loop,
  type LoopOptions,
  type Perform,
  startLoop,
} from '../../src/daemon/loop.ts'
import { makesOf } from '../core/simulate.ts'
import { configured } from '../core/story.ts'
import { of, submit, workspace } from '../core/told.ts'

type Timer = { run: () => void; at: number }

/** A loop over a log in memory and a clock that only moves when told. */
function rig(perform: Perform, more: Partial<LoopOptions> & { events?: Event[] } = {}) {
  const events = more.events ?? []
  const now: HostClock = { wall: 1_700_000_000_000, monotonic: 5_000, boot: 'b' }
  const timers = new Set<Timer>()
  const bugs: unknown[] = []
  const disk = { full: false }
  const options: LoopOptions = {
    log: {
      state: () => events.slice(),
      append: (facts, stamp) => {
        if (disk.full) throw new BerthError('disk-full', 'no space')
        const fresh = facts.map((fact, index): Event => ({
          ...fact,
          seq: events.length + 1 + index,
          host: 'h',
          ...stamp,
        }))
        events.push(...fresh)
        return fresh
      },
    },
    perform,
    makes: makesOf({ ids: 0 }),
    host: () => ({ ...now }),
    timers: {
      set: (run, ms) => {
        const timer = { run, at: now.monotonic + ms }
        timers.add(timer)
        return timer
      },
      clear: timer => void timers.delete(timer as Timer),
    },
    version: '1',
    pid: 1,
    admission: 'open',
    onBug: error => bugs.push(error),
    ...more,
  }
  const loop = startLoop(options)
  /** Moves both clocks, letting every timer ring that is due by then. */
  const pass = async (ms: number): Promise<void> => {
    now.monotonic += ms
    now.wall += ms
    for (const timer of [...timers].sort((a, b) => a.at - b.at)) {
      if (timer.at > now.monotonic) continue
      timers.delete(timer)
      timer.run()
    }
    await loop.idle()
  }
  return { loop, events, now, timers, bugs, disk, pass, kinds: () => events.map(({ kind }) => kind) }
}

const nothing: Perform = async () => []
const status = (loop: Loop) => statusOf(loop.fleet(), loop.fleet().tasks.get('p/one')!, loop.clock())

/** Answers each effect with what the table says, by its verb. */
const answering =
  (table: Partial<{ [K in Effect['do']]: (effect: Effect) => Fact[] }>): Perform =>
  async effect =>
    table[effect.do]?.(effect) ?? []

test('a claim is in the log before its effect is performed, and what came of it names the claim as its cause', async () => {
  const seen: string[][] = []
  const { loop, events, kinds } = rig(async effect => {
    seen.push([effect.do, kinds().at(-1) ?? ''])
    return effect.do === 'prepare' ? workspace().slice(1) : []
  })
  loop.record([...configured, submit()])
  await loop.idle()
  expect(seen.slice(0, 2)).toEqual([
    ['prepare', 'workspace.claimed'],
    ['start', 'run.claimed'],
  ])
  const claim = events.find(({ kind }) => kind === 'workspace.claimed')
  expect(events.find(({ kind }) => kind === 'workspace.ready')).toMatchObject({ because: claim?.seq })
})

test('what is recorded in one batch is decided upon once', async () => {
  const performed: string[] = []
  const { loop } = rig(async effect => {
    performed.push(effect.key)
    return new Promise(() => {})
  })
  loop.record([...configured, { kind: 'limits.set', limits: { jobs: 2, maxAlive: 6, perEngine: {} } }])
  loop.record([submit('one')])
  loop.record([submit('two', { priority: 1 })])
  loop.record([submit('three', { priority: 2 })])
  await Promise.resolve()
  expect(performed).toEqual(['prepare:p/three', 'prepare:p/two'])
})

test('an effect that is no longer wanted is cancelled, and the task has one effect at a time', async () => {
  const done: string[] = []
  const { loop } = rig(async (effect, { signal }) => {
    if (effect.do === 'prepare') await new Promise(resolve => signal.addEventListener('abort', resolve))
    done.push(effect.do)
    return effect.do === 'teardown' ? [{ kind: 'workspace.removed', named: [], ...of('one') }] : []
  })
  loop.record([...configured, submit()])
  await Promise.resolve()
  const mode = {
    save: false,
    discard: false,
    branch: false,
    stop: true,
    unlock: false,
    by: 'person' as const,
  }
  loop.record([{ kind: 'teardown.asked', mode, ...of('one') }])
  await loop.idle()
  expect(done).toEqual(['prepare', 'teardown'])
  expect(status(loop).status).toBe('dropped')
})

test('an effect that comes to nothing is asked again, each time later', async () => {
  let asked = 0
  const { loop, pass } = rig(async effect => {
    if (effect.do === 'prepare') asked += 1
    return []
  })
  loop.record([...configured, submit()])
  await loop.idle()
  expect(asked).toBe(1)
  await pass(600)
  expect(asked).toBe(2)
  await pass(600)
  expect(asked).toBe(2)
  await pass(600)
  expect(asked).toBe(3)
})

test('an effect that throws costs its task, not the fleet', async () => {
  const { loop, bugs } = rig(async effect => {
    if (effect.do === 'prepare' && effect.task === 'one') throw new Error('a bug')
    return effect.do === 'prepare' ? workspace('two').slice(1) : []
  })
  loop.record([
    ...configured,
    { kind: 'limits.set', limits: { jobs: 2, maxAlive: 6, perEngine: {} } },
    submit('one'),
    submit('two'),
  ])
  await loop.idle()
  expect(status(loop)).toMatchObject({
    status: 'failed',
    reasonCode: 'create-failed',
    reason: 'while doing what nobody foresaw: a bug',
  })
  expect(loop.fleet().tasks.get('p/two')?.workspace?.phase).toBe('ready')
  expect(bugs).toEqual([])
})

test('listeners hear every fact in order, also those that they themselves record, and one that throws harms nobody', async () => {
  const { loop, bugs } = rig(nothing)
  const heard: number[] = []
  loop.onEvent(event => {
    if (event.kind === 'project.seen') loop.record([{ kind: 'fleet.paused', by: 'me' }])
  })
  loop.onEvent(() => {
    throw new Error('deaf')
  })
  const stop = loop.onEvent(({ seq }) => heard.push(seq))
  loop.record(configured)
  expect(heard).toEqual([2, 3, 4])
  expect(bugs).toHaveLength(3)
  stop()
  loop.record([{ kind: 'fleet.resumed', by: 'me' }])
  expect(heard).toEqual([2, 3, 4])
})

test('what an effect found is not lost to a full disk', async () => {
  const rigged = rig(async effect => {
    if (effect.do !== 'prepare') return []
    rigged.disk.full = true
    return workspace().slice(1)
  })
  const { loop, disk, pass } = rigged
  loop.record([...configured, submit()])
  await new Promise(resolve => setImmediate(resolve))
  expect(loop.fleet().tasks.get('p/one')?.workspace?.phase).toBe('claimed')
  expect(() => loop.record([{ kind: 'fleet.paused', by: 'me' }])).toThrow('no space')
  disk.full = false
  await pass(5_000)
  expect(loop.fleet().tasks.get('p/one')?.workspace?.phase).toBe('ready')
})

test('a reserve that had to be given up closes admission, and is an item', async () => {
  const events: Event[] = []
  const used = { reserve: false }
  const append = (facts: readonly Fact[], stamp: { at: number; awake: number }): Event[] => {
    const fresh = facts.map((fact, index): Event => ({
      ...fact,
      seq: events.length + 1 + index,
      host: 'h',
      ...stamp,
    }))
    events.push(...fresh)
    return fresh
  }
  const { loop } = rig(nothing, { log: { state: () => [], append, reserveUsed: () => used.reserve } })
  used.reserve = true
  loop.record([...configured, submit()])
  await loop.idle()
  expect(loop.fleet().admission).toBe('closed')
  expect(events.filter(({ kind }) => kind === 'attention.raised')).toMatchObject([
    { item: 'disk', what: 'disk' },
  ])
})

test('a sleep of the host is noticed; a clock set back is not taken for one', async () => {
  const { loop, now, kinds } = rig(nothing)
  loop.record(configured)
  await loop.idle()
  now.wall -= 3_600_000
  loop.record([{ kind: 'fleet.paused', by: 'me' }])
  await loop.idle()
  expect(kinds()).not.toContain('host.slept')
  now.wall += 40_000
  loop.record([{ kind: 'fleet.resumed', by: 'me' }])
  await loop.idle()
  expect(kinds()).toContain('host.slept')
  expect(loop.fleet().wokeAt).toBe(5_000 + loop.fleet().offset)
})

test('the awake clock goes on where it was, over restarts of the loop and of the host', async () => {
  const first = rig(nothing)
  first.loop.record(configured)
  await first.pass(60_000)
  first.loop.record([{ kind: 'fleet.paused', by: 'me' }])
  const last = first.events.at(-1)!.awake
  const same = rig(nothing, { events: first.events, host: () => ({ wall: 0, monotonic: 70_000, boot: 'b' }) })
  expect(same.loop.clock().awake - last).toBe(5_000)
  const other = rig(nothing, { events: first.events, host: () => ({ wall: 0, monotonic: 12, boot: 'c' }) })
  expect(other.loop.clock().awake - last).toBe(5_000)
})

test('attempts of before a restart of the host are closed before anything else', async () => {
  const begin = answering({
    prepare: () => workspace().slice(1),
    start: effect => [
      {
        kind: 'run.started',
        run: 'r1',
        pid: 1,
        startedAt: 'x',
        supervisor: 2,
        base: 'c0',
        project: effect.project,
        task: effect.task,
      },
    ],
  })
  const first = rig(begin)
  first.loop.record([...configured, submit()])
  await first.loop.idle()
  expect(status(first.loop).status).toBe('running')
  const { loop, events } = rig(
    answering({
      collect: () => [
        {
          kind: 'run.collected',
          run: 'r1',
          outcome: { is: 'failed', reason: 'host-restarted', evidence: '', transient: true, escaped: [] },
          ...of('one'),
        },
      ],
    }),
    {
      events: first.events,
      host: () => ({ wall: 1_700_000_100_000, monotonic: 3, boot: 'c' }),
    },
  )
  await loop.idle()
  const fresh = events
    .slice(events.findLastIndex(({ kind }) => kind === 'run.started') + 1)
    .map(({ kind }) => kind)
  expect(fresh).toEqual(['run.lost', 'host.restarted', 'loop.started', 'run.collected'])
  expect(status(loop)).toMatchObject({ status: 'retrying', reasonCode: 'host-restarted', waitsFor: 'person' })
})

test('it ends by cancelling what is under way, waits for it within a limit, and records nothing after', async () => {
  const { loop, kinds, timers } = rig(async (_effect, { signal }) => {
    await new Promise(resolve => signal.addEventListener('abort', resolve))
    return workspace().slice(1)
  })
  loop.record([...configured, submit()])
  await Promise.resolve()
  await loop.stop({ reason: 'asked', limitMs: 1_000 })
  expect(kinds().slice(-2)).toEqual(['workspace.ready', 'loop.stopped'])
  loop.record([{ kind: 'fleet.paused', by: 'me' }])
  expect(kinds().at(-1)).toBe('loop.stopped')
  expect(timers.size).toBe(0)
})

test('it does not wait for what cannot be cancelled', async () => {
  const { loop, kinds, timers } = rig(async () => new Promise(() => {}))
  loop.record([...configured, submit()])
  await Promise.resolve()
  const ended = loop.stop({ reason: 'asked', limitMs: 1_000 })
  for (const timer of timers) timer.run()
  await ended
  expect(kinds().at(-1)).toBe('loop.stopped')
})
