// `berth resume`: goes on after a pause, an interruption or a restart, in the background.

import { type Command, person, repoOf } from '../io.ts'
import { goOn } from '../goon.ts'

export const resume: Command = async (io, { args, options }) => {
  const named = args.length > 0 ? { tasks: args } : {}
  return goOn(io, options, async client => {
    const answer = await client.call('resume', { repo: repoOf(io, options), ...named, by: person })
    if (options.json) io.print.json({ berth: 1, ...answer })
    const tasks = [...answer.resumed, ...answer.going]
    if (options.json) return { tasks, exit: 0 }
    for (const task of tasks) io.print.out(`going on with '${task}'`)
    if (tasks.length === 0) io.print.out(answer.already ? 'nothing was paused' : 'going on')
    return { tasks, exit: 0 }
  })
}
