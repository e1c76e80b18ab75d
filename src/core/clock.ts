// The two clocks that the core is told, and what a jump between them means (docs/decisions/0026).

import { type Deadline } from './effect.ts'
import { type Fleet } from './fleet.ts'

/** `wall`: ms since 1970. `awake`: ms, without the time that the host slept; never going back, also over restarts. */
export type Clock = { wall: number; awake: number }

/** A jump between the clocks beyond this is a sleep of the host. */
export const sleepMs = 30_000

/** After a sleep nothing is judged quiet or stuck for this long (awake ms). */
export const lenientMs = 120_000

/** No timer is set for longer: a long one fires at once. */
export const timerMaxMs = 24 * 3_600_000

/** A timer counts awake time: one for a wall time is looked at again at least this often, in case the host slept. */
export const wallCheckMs = 60_000

/** For those who only read: the clocks as the loop would see them. `monotonic`: the host's own awake clock, ms. */
export function clockOf(fleet: Fleet, host: { wall: number; monotonic: number; boot: string }): Clock {
  const last = fleet.last?.awake ?? 0
  const awake = host.boot === fleet.boot ? host.monotonic + fleet.offset : last
  return { wall: host.wall, awake: Math.max(last, awake) }
}

/** What has to be added to the host's awake clock so that ours goes on where it was. */
export function offsetOf(fleet: Fleet, host: { monotonic: number; boot: string }): number {
  if (host.boot === fleet.boot) return fleet.offset
  return (fleet.last?.awake ?? 0) - host.monotonic
}

/** Ms until a deadline, as a timer may be set; undefined for none. */
export function timerMs(deadline: Deadline, clock: Clock): number | undefined {
  const waits: number[] = []
  if (deadline.awake !== undefined) waits.push(deadline.awake - clock.awake)
  if (deadline.wall !== undefined) waits.push(Math.min(wallCheckMs, deadline.wall - clock.wall))
  if (waits.length === 0) return undefined
  return Math.ceil(Math.min(timerMaxMs, Math.max(1, Math.min(...waits))))
}
