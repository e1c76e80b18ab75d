// What became of a removal, for a person, and its exit code.

import { type RemovalAnswer } from '../core/api.ts'
import { type Holder } from '../core/event.ts'
import { visible } from './columns.ts'
import { type Io } from './io.ts'
import { lossLine } from './words.ts'

/** Results go to stdout; refusals, with what would be lost and the way out, to stderr. */
export function printRemoval({ print }: Io, answer: RemovalAnswer): void {
  const { red, dim } = print.notePaint
  switch (answer.is) {
    case 'removed':
    case 'aside': {
      const done = answer.is === 'removed' ? 'removed' : 'moved aside and unregistered'
      const branch = answer.branch === 'none' ? '' : `, branch ${answer.branch}`
      print.out(`${done} '${answer.task}'${branch}${answer.saved ? `, saved as '${answer.saved}'` : ''}`)
      for (const holder of answer.named) print.note(`  left alone: ${holderLine(holder)}`)
      return
    }
    case 'refused':
      print.note(`${red('berth:')} '${answer.task}' is not removed: ${visible(answer.reason)}`)
      for (const loss of answer.losses) print.note(`  ${visible(lossLine(loss))}`)
      for (const holder of answer.holders) print.note(`  ${holderLine(holder)}`)
      if (answer.hint) print.note(`${dim('hint:')} ${answer.hint}`)
      return
    case 'stuck':
      print.note(
        `${red('berth:')} '${answer.task}' is not removed, it stopped at '${answer.step}': ${visible(answer.reason)}`,
      )
      for (const holder of answer.holders) print.note(`  ${holderLine(holder)}`)
      print.note(`${dim('hint:')} berth rm ${answer.task}`)
  }
}

const holderLine = ({ pid, command, what }: Holder): string => `${pid} ${visible(command)} (${visible(what)})`

/** The worst of several, in the order of docs/decisions/0027: failed, then refused. */
export function removalExit(removed: RemovalAnswer[]): number {
  if (removed.some(answer => answer.is === 'stuck')) return 1
  return removed.some(answer => answer.is === 'refused') ? 3 : 0
}
