// `berth completion`: a script for a shell, made of the verbs and flags that there are.

import { wordOf } from '../usage.ts'
import { buildProgram } from '../program.ts'
import { type Command } from '../io.ts'
import { bash, fish, type Verbs, zsh } from '../shells.ts'

export const completion: Command = async (io, { args }) => {
  const shell = wordOf(
    "the word after 'berth completion'",
    args[0]!,
    ['bash', 'zsh', 'fish'] as const,
    'berth completion',
  )
  const { root } = buildProgram()
  const verbs: Verbs = root.commands.map(command => ({
    name: command.name(),
    summary: command.description(),
    flags: [
      ...command.options.flatMap(option =>
        option.long ? [{ flag: option.long, summary: option.description }] : [],
      ),
      { flag: '--help', summary: 'print help' },
    ],
    tasks: /task/.test(command.registeredArguments.map(argument => argument.name()).join(' ')),
  }))
  io.print.out({ bash, zsh, fish }[shell](verbs).trimEnd())
  return 0
}
