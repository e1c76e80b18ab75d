// Words and colours that several commands share.

import { type TaskView } from '../core/api.ts'
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

/** Why a task has its status, and until when. */
export const reasonWords = ({ reason, until }: Pick<TaskView, 'reason' | 'until'>): string =>
  until === null ? reason : `${reason} (until ${until.slice(0, 16)}Z)`

/** `3 files +20 -4`, with `*` when there is more than the last commit; empty for nothing. */
export function changeWords({ files, insertions, deletions, dirty }: TaskView['changes']): string {
  if (files === 0 && !dirty) return ''
  return `${files} file${files === 1 ? '' : 's'} +${insertions} -${deletions}${dirty ? '*' : ''}`
}
