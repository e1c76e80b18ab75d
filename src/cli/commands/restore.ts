// `berth restore`: brings saved work back, as a branch or into a task's workspace.

import { BerthError } from '../../core/errors.ts'
import { shellWord } from '../../core/shellword.ts'
import { list } from '../../core/words.ts'
import { visible } from '../columns.ts'
import { type Command, person, repoOf, withClient } from '../io.ts'

export const restore: Command<{ to?: string; task?: string }> = async (io, { args, options }) => {
  const id = args[0]!
  const { to, task } = options
  if (to !== undefined && task !== undefined) {
    throw new BerthError(
      'usage',
      "'--to' and '--task' exclude each other",
      `berth restore ${id} --to ${shellWord(to)}`,
    )
  }
  const given = {
    repo: repoOf(io, options),
    id,
    ...(to !== undefined && { to }),
    ...(task !== undefined && { task }),
    by: person,
  }
  const answer = await withClient(io, { need: 'write' }, client => client.call('restore', given))
  if (options.json) io.print.json({ berth: 1, ...answer })
  else {
    io.print.out(`restored '${id}' ${task === undefined ? 'as the branch' : 'into'} '${answer.to}'`)
    if (answer.left.length > 0) io.print.note(`not brought back: ${visible(list(answer.left))}`)
    if (answer.hint !== undefined) io.print.hint(answer.hint)
  }
  return 0
}
