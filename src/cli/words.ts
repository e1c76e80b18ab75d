// Words and colours that several commands share.

import { type TaskView } from '../core/api.ts'
import { age } from '../core/quantity.ts'
import { type Paint } from './print.ts'

const paints = {
  queued: 'dim',
  preparing: 'cyan',
  running: 'cyan',
  waiting: 'yellow',
  retrying: 'yellow',
  verifying: 'cyan',
  ready: 'green',
  landing: 'cyan',
  landed: 'green',
  failed: 'red',
  stopped: 'dim',
  dropped: 'dim',
} as const satisfies { [status in TaskView['status']]: keyof Paint }

/** A status in its colour. */
export const painted = (paint: Paint, status: TaskView['status'], text: string = status): string =>
  paint[paints[status]](text)

/** Why a task has its status, and when it is tried again. */
export function reasonWords({ reason, until }: Pick<TaskView, 'reason' | 'until'>, now: number): string {
  if (until === null) return reason
  const ms = Date.parse(until) - now
  const far = ms < 3_600_000 ? '' : ` (${until.slice(0, 16).replace('T', ' ')} UTC)`
  const when =
    ms > 0 ? `next attempt in ${age(Math.ceil(ms / 1_000) * 1_000)}${far}` : 'the next attempt is due'
  return `${reason}; ${when}`
}

/** `3 files +20 -4`, with `*` when there is more than the last commit; empty for nothing. */
export function changeWords({ files, insertions, deletions, dirty }: TaskView['changes']): string {
  if (files === 0 && !dirty) return ''
  return `${files} file${files === 1 ? '' : 's'} +${insertions} -${deletions}${dirty ? '*' : ''}`
}
