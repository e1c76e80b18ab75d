import { expect, test } from 'vitest'
import { type Row, ancestorsIn, hasMarker, isStrayOf, select, tableOf } from '../../src/platform/tree.ts'

const row = (pid: number, ppid: number, more: Partial<Row> & { env?: string; cmd?: string } = {}): Row => ({
  pid,
  ppid,
  pgid: pid,
  session: pid,
  start: `s${pid}`,
  startedAt: 10_000,
  state: 'S',
  tty: 0,
  command: () => more.cmd ?? 'program',
  uid: () => 0,
  environment: () => more.env ?? '',
  ...more,
})
const self = 50
const rows = (...more: Row[]) => tableOf([row(1, 0), row(40, 1), row(self, 40), ...more], self)
const pids = (found: readonly { pid: number }[]) => found.map(({ pid }) => pid)

test('a session counts while its leader lives or is gone, not when its number is somebody else’s by now', () => {
  const leader = { pid: 100, start: 's100' }
  const member = row(101, 1, { session: 100 })
  expect(pids(select(rows(row(100, 50), member), { leaders: [leader] }))).toEqual([100, 101])
  expect(pids(select(rows(member), { leaders: [leader] }))).toEqual([101])
  expect(pids(select(rows(row(100, 1, { start: 'other' }), member), { leaders: [leader] }))).toEqual([])
})

test('a group counts like a session, and pids up to 1 lead nothing', () => {
  expect(
    pids(select(rows(row(101, 1, { pgid: 100, session: 7 })), { leaders: [{ pid: 100, start: 'x' }] })),
  ).toEqual([101])
  const kernel = rows(row(101, 1, { pgid: 0, session: 0 }), row(102, 1, { pgid: 1, session: 1 }))
  expect(
    select(kernel, {
      leaders: [
        { pid: 0, start: 'x' },
        { pid: 1, start: 's1' },
      ],
    }),
  ).toEqual([])
})

test('neither Berth nor an ancestor of it is ever chosen, whatever is asked', () => {
  const all = {
    pids: [1, 40, self].map(pid => ({ pid, start: `s${pid}` })),
    under: [{ pid: 1, start: 's1' }],
  }
  expect(pids(select(rows(row(60, self), row(70, 40)), { ...all, leaders: all.pids }))).toEqual([60, 70])
})

test('a ring of parents ends the look', () => {
  const ring = new Map([row(5, 6), row(6, 5)].map(one => [one.pid, one]))
  expect(ancestorsIn(ring, 5)).toEqual([6, 5])
  expect(pids(select(rows(row(5, 6), row(6, 5)), { pids: [{ pid: 5, start: 's5' }] }))).toEqual([5, 6])
})

test('a marker is a whole element of the one variable', () => {
  expect(hasMarker('A=1\0BERTH_RUN=s:a,s:b\0', 's:b')).toBe(true)
  expect(hasMarker('A=1\0BERTH_RUN=s:a,s:bc\0', 's:b')).toBe(false)
  expect(hasMarker('X=s:b\0XBERTH_RUN=s:b\0', 's:b')).toBe(false)
})

test('what only stands in a workspace is ours only as a late orphan without terminal and display', () => {
  const since = 9_000
  const stray = (one: Row, ...more: Row[]) => isStrayOf(rows(one, ...more), one, { since })
  expect(stray(row(100, 1))).toBe(true)
  expect(isStrayOf(rows(row(100, 1)), row(100, 1), {})).toBe(false)
  expect(stray(row(100, 1, { startedAt: 7_000 }))).toBe(false)
  expect(stray(row(100, 1, { startedAt: undefined }))).toBe(false)
  expect(stray(row(100, 77), row(77, 1))).toBe(false)
  expect(stray(row(100, 77), row(77, 1, { cmd: '/usr/lib/systemd/systemd --user' }))).toBe(true)
  expect(stray(row(100, 1, { tty: 34816 }))).toBe(false)
  // A terminal multiplexer has none itself, but what it shows has.
  expect(stray(row(100, 1), row(101, 100, { tty: 34816 }))).toBe(false)
  expect(stray(row(100, 1, { env: 'A=1\0DISPLAY=:0\0' }))).toBe(false)
  expect(stray(row(100, 1, { env: 'WAYLAND_DISPLAY=wayland-0' }))).toBe(false)
  expect(stray(row(100, 1, { environment: () => undefined }))).toBe(false)
})
