// `berth ask`: inside a run, asks a person, waits, prints the answer.

import { BerthError } from '../../core/errors.ts'
import { type Command, withClient } from '../io.ts'
import { ownRun } from '../ownrun.ts'

export const ask: Command<{ choice?: string[]; timeout?: number }> = async (io, { args, options }) => {
  const question = args[0]!
  if (question.trim() === '') throw new BerthError('usage', 'the question is empty', 'berth ask "QUESTION"')
  const own = await ownRun(io)
  const timeout = options.timeout === undefined ? {} : { timeoutMs: options.timeout }
  const given = { ...own, question, choices: options.choice ?? [], ...timeout }
  const answer = await withClient(io, { need: 'write' }, client => client.call('ask', given))
  if (options.json) io.print.json({ berth: 1, ...answer })
  switch (answer.how) {
    case 'answered':
      if (!options.json) io.print.out(answer.answer ?? '')
      return 0
    case 'declined':
      return options.json ? 3 : refuse(io, 'a person declined to answer', 3)
    case 'timeout':
      return options.json ? 1 : refuse(io, 'nobody answered in time', 1)
    case 'stopped':
      return 130
  }
}

function refuse(io: Parameters<Command>[0], message: string, exit: number): number {
  io.print.note(`${io.print.notePaint.red('berth:')} ${message}`)
  return exit
}
