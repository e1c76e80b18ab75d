// Verbs that open admission (docs/decisions/0025): they do their part, and leave the work to the background.

import { type Client } from '../daemon/client.ts'
import { type Common, type Io, withClient } from './io.ts'

export type Gone = { tasks: string[]; exit: number }

/** Runs `work` on a loop that starts what may start; afterwards the loop goes on in the background. */
export async function goOn(
  io: Io,
  options: Common,
  work: (client: Client) => Promise<Gone>,
): Promise<number> {
  const { tasks, exit } = await withClient(io, { need: 'admit', background: 'start' }, work)
  if (!options.json && tasks.length > 0) io.print.note("the work goes on in the background: see 'berth ls'")
  return exit
}
