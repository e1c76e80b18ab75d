// What became of a removal, for a person, and its exit code.

import { type Left, type RemovalAnswer } from '../core/api.ts'
import { type Holder } from '../core/event.ts'
import { lossLine } from '../core/loss.ts'
import { doing } from '../core/words.ts'
import { visible } from './columns.ts'
import { type Io } from './io.ts'

/** Results go to stdout; refusals, with what would be lost and the way out, to stderr. */
export function printRemoval({ print }: Io, answer: RemovalAnswer): void {
  const { red } = print.notePaint
  switch (answer.is) {
    case 'removed':
    case 'aside': {
      if (answer.is === 'removed' && answer.already) return print.out(`'${answer.task}' was removed already`)
      const done =
        answer.is === 'removed'
          ? `removed '${answer.task}'`
          : `'${answer.task}' is out of the way, its files are being deleted`
      print.out(`${done}${branchWords(answer)}${answer.saved ? `, saved as '${answer.saved}'` : ''}`)
      printLeft(print, answer)
      return
    }
    case 'refused':
      print.note(`${red('berth:')} '${answer.task}' is not removed: ${visible(answer.reason)}`)
      for (const loss of answer.losses) print.note(`  ${visible(lossLine(loss))}`)
      for (const holder of answer.holders) print.note(`  ${holderLine(holder)}`)
      if (answer.hint) print.hint(answer.hint)
      return
    case 'stuck': {
      const step = `it stopped while ${doing(answer.step)}`
      print.note(`${red('berth:')} '${answer.task}' is not removed: ${step}: ${visible(answer.reason)}`)
      for (const holder of answer.holders) print.note(`  ${holderLine(holder)}`)
      print.hint(`berth rm ${answer.task}`)
    }
  }
}

function branchWords({ branch, kept }: Left): string {
  if (kept !== undefined) return `, branch '${visible(kept.branch)}' kept: ${visible(kept.reason)}`
  if (branch === 'going') return ' and its branch with them'
  return branch === 'none' ? '' : `, branch ${branch}`
}

/** What is still there, and the command that takes it or shows it. */
function printLeft(print: Io['print'], { kept, named, stashes }: Left): void {
  for (const holder of named) print.note(`  left alone: ${holderLine(holder)}`)
  if (stashes > 0) {
    print.note(`  left alone: ${stashes} ${stashes === 1 ? 'stash' : 'stashes'} made in it`)
    print.hint('git stash list')
  }
  if (kept?.hint !== undefined) print.hint(kept.hint)
}

const holderLine = ({ pid, command, what }: Holder): string => `${pid} ${visible(command)} (${visible(what)})`

/** The worst of several, in the order of docs/decisions/0027: failed, then refused. */
export function removalExit(removed: RemovalAnswer[]): number {
  if (removed.some(answer => answer.is === 'stuck')) return 1
  return removed.some(answer => answer.is === 'refused') ? 3 : 0
}
