// `berth resume`: goes on after a pause, an interruption or a restart, in the background.

import { type Command, person, repoOf } from '../io.ts'
import { goOn } from '../goon.ts'

export const resume: Command = async (io, { args, options }) => {
  const tasks = args.length > 0 ? { tasks: args } : {}
  return goOn(io, options, async client => {
    const answer = await client.call('resume', { repo: repoOf(io, options), ...tasks, by: person })
    if (options.json) io.print.json({ berth: 1, ...answer })
    else if (answer.resumed.length === 0) io.print.out(answer.already ? 'nothing was paused' : 'going on')
    else for (const task of answer.resumed) io.print.out(`going on with '${task}'`)
    return { tasks: answer.resumed, exit: 0 }
  })
}
