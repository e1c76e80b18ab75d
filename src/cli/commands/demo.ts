// `berth demo`: a small fleet of scripted agents on a throw-away repository, end to end.

import { mkdtemp, readdir } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { BerthError } from '../../core/errors.ts'
import { type Demo, makeDemo, proveDemo, proveNothingLeft, removeDemo, type Seen } from '../../daemon/demo.ts'
import { type Command, type Io, withClient } from '../io.ts'
import { type Print } from '../print.ts'
import { daemon } from './daemon.ts'
import { inbox } from './inbox.ts'
import { log } from './log.ts'
import { run } from './run.ts'

export const demo: Command<{ keep?: boolean; dir?: string }> = async (io, { options }) => {
  const dir =
    options.dir === undefined
      ? await mkdtemp(join(tmpdir(), 'berth-demo-'))
      : await emptyFolder(io, options.dir)
  const made = await makeDemo(dir, definedOf(io.env), process.execPath)
  const print = options.json ? aside(io.print) : io.print
  const there: Io = { ...io, env: made.env, cwd: made.repo, print }
  io.print.note(`a throw-away repository in '${made.repo}', eight scripted agents`)
  let stopped = false
  const stop = async () => {
    if (!stopped) await daemon(there, { args: ['stop'], options: { stopRuns: true } })
    stopped = true
  }
  try {
    const code = await run(there, { args: [], options: { file: made.tasks, trust: true, jobs: 4 } })
    const keep = options.keep ?? false
    const { tasks, proofs, broken } = await show({ there, made, code, stop, keep })
    if (options.json) io.print.json({ berth: 1, folder: keep ? dir : null, tasks, proofs, broken })
    return broken.length === 0 ? 0 : 1
  } finally {
    await stop()
    if (options.keep !== true) await removeDemo(made)
  }
}

/** The folder is removed at the end: one that holds anything is somebody's. */
async function emptyFolder(io: Io, given: string): Promise<string> {
  const dir = resolve(io.cwd, given)
  const names = await readdir(dir).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return []
    throw new BerthError('path-refused', `'${dir}' cannot be used: ${error.code}`, 'berth demo')
  })
  if (names.length === 0) return dir
  throw new BerthError('path-refused', `'${dir}' is not empty, and the demo removes its folder`, 'berth demo')
}

type Ended = { there: Io; made: Demo; code: number; keep: boolean; stop: () => Promise<void> }

type Shown = { tasks: Seen['tasks']; proofs: string[]; broken: string[] }

/** Prints on stderr alone: stdout is for the one document. */
const aside = (print: Print): Print => ({
  ...print,
  out: print.note,
  bytes: bytes => print.note(new TextDecoder().decode(bytes)),
  json: value => print.note(JSON.stringify(value)),
  paint: print.notePaint,
})

/** What a person would look at next, then the proof. */
async function show({ there, made, code, keep, stop }: Ended): Promise<Shown> {
  const { print } = there
  print.out('\n# what needs you: berth inbox\n')
  await inbox(there, { args: [], options: {} })
  print.out("\n# who did what, in which order: berth log --task 'flaky'\n")
  await log(there, { args: [], options: { task: 'flaky' } })
  const seen = await look(there, made)
  const first = await proveDemo(made, seen)
  print.out('\n# nothing left behind\n')
  await stop()
  const second = await proveNothingLeft(made, seen)
  const left = keep ? [] : await removeDemo(made)
  const broken = [...first.broken, ...second.broken, ...left.map(path => `'${path}' is still there`)]
  const proofs = [...second.lines, ...first.lines, ...(keep ? [] : [removed])]
  for (const line of proofs) print.out(line)
  // The conflict is a failed task: of such a fleet `berth run` exits with 1.
  if (code !== 1) broken.push(`'berth run' ended with ${code}, not 1`)
  for (const line of broken) print.note(`not as promised: ${line}`)
  return { tasks: seen.tasks, proofs, broken }
}

const removed =
  "its folder, its sockets and its claims of ports are removed: 'berth demo --keep' leaves them to look at"

async function look(there: Io, { repo }: Demo): Promise<Seen> {
  const { openHistory } = await import('../../daemon/history.ts')
  const { tasks } = await withClient(there, { need: 'read' }, client =>
    client.call('ls', { repo, all: true }),
  )
  const history = openHistory(there.env, there.now)
  try {
    return { tasks, events: [...(history?.read({}) ?? [])] }
  } finally {
    history?.close()
  }
}

const definedOf = (env: Io['env']): { [name: string]: string } =>
  Object.fromEntries(
    Object.entries(env).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  )
