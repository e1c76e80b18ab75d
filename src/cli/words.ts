// Words and colours that several commands share.

import { type TaskView } from '../core/api.ts'
import { type Loss } from '../core/event.ts'
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

const lossWords: { [kind in Loss['kind']]: string } = {
  staged: 'staged',
  unstaged: 'changed',
  untracked: 'untracked',
  hidden: 'changed, but hidden from git status',
  ignored: 'ignored by git',
  commits: 'commits that nothing else holds',
  operation: 'an operation in progress',
  nested: 'nested repositories',
  submodule: 'work in submodules',
  unknown: 'could not be looked at',
}

/** `3 untracked: a, b, c`. */
export function lossLine({ kind, count, examples }: Loss): string {
  const shown = examples.slice(0, 5).join(', ')
  const more = count > 5 && examples.length > 0 ? `, … (${count})` : ''
  return `${count} ${lossWords[kind]}${shown ? `: ${shown}${more}` : ''}`
}

/** `3 files +20 -4`, with `*` when there is more than the last commit; empty for nothing. */
export function changeWords({ files, insertions, deletions, dirty }: TaskView['changes']): string {
  if (files === 0 && !dirty) return ''
  return `${files} file${files === 1 ? '' : 's'} +${insertions} -${deletions}${dirty ? '*' : ''}`
}
