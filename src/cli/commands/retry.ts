// `berth retry`: another attempt, from where the task is; worked in the foreground if no daemon runs.

import { exitCodes } from '../../core/errors.ts'
import { type Command, person, repoOf } from '../io.ts'
import { goOn } from '../goon.ts'

export const retry: Command = async (io, { args, options }) => {
  const repo = repoOf(io, options)
  return goOn(io, options, async client => {
    const answer = await client.call('retry', { repo, tasks: args, by: person })
    if (options.json) io.print.json({ berth: 1, ...answer })
    else {
      for (const task of answer.retried) io.print.out(`trying '${task}' again`)
      for (const task of answer.already) io.print.note(`'${task}' is at work already`)
    }
    return { tasks: answer.retried, exit: answer.already.length > 0 ? exitCodes['already-running'] : 0 }
  })
}
