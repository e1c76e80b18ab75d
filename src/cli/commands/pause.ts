// `berth pause`: nothing new starts until `berth resume`.

import { type Command, person, withClient } from '../io.ts'

export const pause: Command = async (io, { options }) => {
  const answer = await withClient(io, { need: 'write' }, client => client.call('pause', { by: person }))
  if (options.json) io.print.json({ berth: 1, ...answer })
  else io.print.out(answer.already ? 'was paused already' : 'paused: nothing new starts until berth resume')
  return 0
}
