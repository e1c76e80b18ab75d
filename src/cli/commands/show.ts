// `berth show`: everything about one task in one screen.

import { type Command, repoOf, withClient } from '../io.ts'
import { tellUnattended, unattendedOf } from '../unattended.ts'
import { printTask } from '../taskscreen.ts'

export const show: Command = async (io, { args, options }) => {
  const given = { repo: repoOf(io, options), task: args[0]! }
  const task = await withClient(io, { need: 'read' }, client => client.call('show', given))
  if (options.json) io.print.json({ berth: 1, task })
  else {
    printTask(io, task)
    tellUnattended(io, unattendedOf([task]))
  }
  return 0
}
