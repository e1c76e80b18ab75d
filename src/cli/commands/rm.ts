// `berth rm`: removes tasks with all that they own on disk; refuses, with reasons, what would lose work.

import { type RemovalAnswer, type TaskView } from '../../core/api.ts'
import { BerthError } from '../../core/errors.ts'
import { shellWord } from '../../core/shellword.ts'
import { type Client } from '../../daemon/client.ts'
import { type Command, type Io, repoOf, withClient } from '../io.ts'
import { printRemoval, removalExit } from '../removal.ts'

type Options = {
  save?: boolean
  discard?: boolean
  stop?: boolean
  branch?: boolean
  unlock?: boolean
  all?: boolean
  landed?: boolean
  wait?: boolean
}

export const rm: Command<Options> = async (io, { args, options }) => {
  const repo = repoOf(io, options)
  check(args, options)
  const mode = {
    save: options.save ?? false,
    discard: options.discard ?? false,
    branch: options.branch ?? false,
    stop: options.stop ?? false,
    unlock: options.unlock ?? false,
    by: 'person' as const,
  }
  const removed = await withClient(io, { need: 'write' }, async (client): Promise<RemovalAnswer[]> => {
    const tasks = options.all ? await chosen(client, repo, options) : args
    if (tasks.length === 0) return []
    return (await client.call('rm', { repo, tasks, mode, wait: options.wait ?? false, cwd: io.cwd })).removed
  })
  return report(io, removed, options.json ?? false)
}

function check(args: string[], options: Options): void {
  const wrong = (message: string, hint: string) => new BerthError('usage', message, hint)
  const names = args.map(shellWord).join(' ')
  if (options.save && options.discard)
    throw wrong(
      "'--save' and '--discard' exclude each other",
      `berth rm ${options.all ? '--all' : names} --save`,
    )
  if (options.all && args.length > 0)
    throw wrong("'--all' and names of tasks exclude each other", `berth rm ${names}`)
  if (options.landed && !options.all) throw wrong("'--landed' goes with '--all'", 'berth rm --all --landed')
  if (!options.all && args.length === 0) throw wrong('no task is named', 'berth ls')
}

async function chosen(client: Client, repo: string, { landed }: Options): Promise<string[]> {
  const { tasks } = await client.call('ls', { repo, all: landed ?? false })
  return tasks.filter((task: TaskView) => !landed || task.status === 'landed').map(task => task.task)
}

function report(io: Io, removed: RemovalAnswer[], json: boolean): number {
  if (json) io.print.json({ berth: 1, removed })
  else if (removed.length === 0) io.print.note('there is nothing to remove')
  else for (const answer of removed) printRemoval(io, answer)
  return removalExit(removed)
}
