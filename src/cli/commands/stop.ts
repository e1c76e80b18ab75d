// `berth stop`: ends runs with their whole trees; the workspaces stay.

import { type Command, person, repoOf, withClient } from '../io.ts'

export const stop: Command = async (io, { args, options }) => {
  const given = { repo: repoOf(io, options), tasks: args, by: person }
  const answer = await withClient(io, { need: 'write' }, client => client.call('stop', given))
  if (options.json) io.print.json({ berth: 1, ...answer })
  else {
    for (const task of answer.stopped) io.print.out(`stopped '${task}'`)
    for (const task of answer.already) io.print.out(`'${task}' was not running`)
  }
  return 0
}
