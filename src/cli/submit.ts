// Handing tasks to the loop: what is checked before, the consent asked, the names printed.

import { type Submission, type SubmitAnswer } from '../core/api.ts'
import { BerthError } from '../core/errors.ts'
import { listProblem } from '../core/tasklist.ts'
import { type Client } from '../daemon/client.ts'
import { visible } from './columns.ts'
import { consented } from './consent.ts'
import { type Io, withClient } from './io.ts'
import { type RunOptions, wayTo } from './tasks.ts'

/** A name that only the repository knows is asked of it only when a task waits for one. */
export async function checkList(
  io: Io,
  tasks: (Submission & { line?: number })[],
  { repo, file }: { repo: string; file: string | undefined },
): Promise<void> {
  const list = tasks.map(task => ({ ...task, after: task.spec.after ?? [] }))
  const here = new Set(list.map(task => task.name))
  const others = list.some(task => task.after.some(name => !here.has(name)))
  const known = others
    ? await withClient(io, { need: 'read' }, client => client.call('ls', { repo, all: true }))
    : { tasks: [] }
  const problem = listProblem(
    list,
    known.tasks.map(task => task.task),
  )
  if (!problem) return
  const { code, message, line } = problem
  throw new BerthError(code, message, line && file ? wayTo(file, line) : 'berth ls --all')
}

type Submitting = {
  call: string
  repo: string
  tasks: Submission[]
  options: RunOptions & { json?: boolean }
}

/** Prints the names, one a line, before anything else is said. */
export async function submit(
  io: Io,
  client: Client,
  given: Submitting,
): Promise<{ names: string[]; already: number }> {
  const { call, repo, options } = given
  const tasks = given.tasks.map(({ name, brief, spec }) => ({ ...(name && { name }), brief, spec }))
  const { jobs, land, base } = options
  const flags = { ...(jobs && { jobs }), ...(land && { land }), ...(base && { base }) }
  const answer = await consented(io, options, trust =>
    client.call('submit', { call, repo, tasks, trust, env: callerEnv(io), flags }),
  )
  const names = answer.tasks.map(task => task.task)
  if (!options.json) for (const name of names) io.print.out(name)
  for (const task of answer.tasks) explain(io, task)
  for (const notice of answer.notices ?? []) io.print.note(`note: ${visible(notice)}`)
  return { names, already: answer.tasks.filter(({ state }) => state === 'already-running').length }
}

function explain(io: Io, { task, state, since, where }: SubmitAnswer['tasks'][number]): void {
  const time = since ? ` since ${since.slice(0, 19)}Z` : ''
  const place = `${time}${where ? ` in '${where}'` : ''}`
  switch (state) {
    case 'submitted':
      return
    case 'joined':
      return io.print.note(`'${task}' is there already${place}; this call goes on with it`)
    case 'landed':
      return io.print.note(`'${task}' has landed already${since ? `, at ${since.slice(0, 19)}Z` : ''}`)
    case 'already-running':
      io.print.note(`berth: '${task}' is already running${place}`)
      return io.print.hint(`berth show ${task}`)
  }
}

/** The daemon picks from it what the configuration passes on; values of secrets stay in its memory. */
const callerEnv = (io: Io): { [name: string]: string } =>
  Object.fromEntries(
    Object.entries(io.env).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  )
