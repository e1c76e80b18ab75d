// `berth run`: submits tasks and works them until each rests.

import { type Client } from '../../daemon/client.ts'
import { type Submission, type SubmitAnswer } from '../../core/api.ts'
import { BerthError } from '../../core/errors.ts'
import { listProblem } from '../../core/tasklist.ts'
import { consented } from '../consent.ts'
import { type Command, type Io, person, repoOf, withClient } from '../io.ts'
import { watch } from '../progress.ts'
import { type RunOptions, wantedTasks } from '../tasks.ts'
import { listDry } from '../dry.ts'

export const run: Command<RunOptions> = async (io, { args, options }) => {
  io.keepOn()
  const repo = repoOf(io, options)
  const { tasks, notices } = await wantedTasks(io, args, options)
  for (const notice of notices) io.print.note(`note: ${notice}`)
  await checkList(io, tasks, repo)
  if (options.dryRun) return listDry(io, tasks, options)
  const background = options.detach ? { background: 'start' as const } : {}
  const { openClient } = await import('../../daemon/client.ts')
  const client = await openClient({ env: io.env, cwd: io.cwd, now: io.now, need: 'admit', ...background })
  let stop = options.detach === false
  try {
    const call = io.newId()
    const names = tasks.length > 0 ? await submit(io, client, { call, repo, tasks, options }) : undefined
    if (!names) await client.call('resume', { repo, by: person })
    if (options.detach) return detached(io, names)
    return await watch(io, client, { call, repo, names, json: options.json ?? false })
  } catch (error) {
    stop = true
    throw error
  } finally {
    const { moved } = await client.close(stop ? 'stop' : 'move')
    if (moved && !options.json) io.print.note("the rest goes on in the background: see 'berth ls' and 'berth inbox'")
  }
}

/** A name that only the repository knows is asked of it only when a task waits for one. */
async function checkList(io: Io, tasks: (Submission & { line?: number })[], repo: string): Promise<void> {
  const list = tasks.map(task => ({ ...task, after: task.spec.after ?? [] }))
  const here = new Set(list.map(task => task.name))
  const others = list.some(task => task.after.some(name => !here.has(name)))
  const known = others
    ? await withClient(io, { need: 'read' }, client => client.call('ls', { repo, all: true }))
    : { tasks: [] }
  const problem = listProblem(list, known.tasks.map(task => task.task))
  if (problem) throw new BerthError(problem.code, problem.message, problem.hint)
}

type Submitting = { call: string; repo: string; tasks: Submission[]; options: RunOptions & { json?: boolean } }

async function submit(io: Io, client: Client, given: Submitting): Promise<string[]> {
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
  return names
}

function explain(io: Io, { task, state, since, where }: SubmitAnswer['tasks'][number]): void {
  if (state === 'submitted') return
  const words = { 'joined': 'is at work already', 'landed': 'has landed already', 'already-running': 'is running already' }
  io.print.note(`'${task}' ${words[state]}${since ? ` since ${since}` : ''}${where ? ` in '${where}'` : ''}`)
}

/** The daemon picks from it what the configuration passes on; values of secrets stay in its memory. */
const callerEnv = (io: Io): { [name: string]: string } =>
  Object.fromEntries(Object.entries(io.env).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])))

function detached(io: Io, names: string[] | undefined): number {
  io.print.note(`in the background${names ? '' : ', on what is open here'}: see 'berth ls'`)
  return 0
}
