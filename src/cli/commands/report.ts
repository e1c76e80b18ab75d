// `berth report`: inside a run, says what the agent is doing.

import { BerthError } from '../../core/errors.ts'
import { parseTime } from '../../core/quantity.ts'
import { type Command, withClient } from '../io.ts'
import { ownRun } from '../ownrun.ts'
import { flagValue, wordOf } from '../usage.ts'

const activities = ['working', 'blocked', 'done', 'limited', 'signed-out'] as const

export const report: Command<{ until?: string }> = async (io, { args, options }) => {
  const activity = wordOf("the word after 'berth report'", args[0]!, activities, 'berth report')
  const note = args.slice(1).join(' ')
  const own = await ownRun(io)
  const given = options.until
  if (given !== undefined && activity !== 'limited') {
    throw new BerthError(
      'usage',
      `'--until' goes with 'limited', not with '${activity}'`,
      `berth report limited --until ${given}`,
    )
  }
  const read = (text: string) => parseTime(text.replace(/^(?=\d+(ms|s|m|h|d))/, 'in '), io.now())
  const until =
    given === undefined
      ? {}
      : { until: flagValue('--until', given, read, "a time like '2030-01-31T17:00Z' or '2h'") }
  await withClient(io, { need: 'write' }, client =>
    client.call('report', { ...own, activity, note, ...until }),
  )
  if (options.json) io.print.json({ berth: 1 })
  return 0
}
