// The demo's throw-away world: a repository, eight scripted agents, their task file, and the proof at the end.

import { randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { type TaskView } from '../core/api.ts'
import { type Event } from '../core/event.ts'
import { type Environment, type Git, gitEnvironment, ok } from '../git/git.ts'
import { platform } from '../platform/platform.ts'
import { readIfThere } from '../store/files.ts'
import { releaseAllPorts } from '../workspace/ports.ts'
import { agentScript, checkScript, gateLine, taskFile } from './demoscript.ts'

export type Demo = {
  dir: string
  repo: string
  tasks: string
  env: { [name: string]: string | undefined }
  /** A made-up token that one agent prints. */
  secret: string
}

export type Seen = { tasks: TaskView[]; events: Event[] }

/** How each of the eight must end: status and reason code. */
const expected: { [task: string]: [TaskView['status'], TaskView['reasonCode']] } = {
  greeting: ['landed', 'landed'],
  readme: ['landed', 'landed'],
  shout: ['landed', 'landed'],
  rename: ['failed', 'conflict'],
  flaky: ['landed', 'landed'],
  litter: ['landed', 'landed'],
  licence: ['waiting', 'question'],
  leak: ['landed', 'landed'],
}

/** Makes it all below `dir`, which must be empty; home and state directory are its own, so nobody's are read. */
export async function makeDemo(dir: string, caller: Environment, node: string): Promise<Demo> {
  const repo = join(dir, 'shop')
  const home = join(dir, 'home')
  const secret = `ghp_${randomBytes(27).toString('hex').slice(0, 36)}`
  for (const folder of [repo, home, join(dir, 'agents')]) mkdirSync(folder, { recursive: true })
  writeFileSync(join(home, '.gitconfig'), '[user]\n\tname = Demo\n\temail = demo@example.invalid\n')
  writeFileSync(join(dir, 'agents', 'agent.mjs'), agentScript)
  writeFileSync(join(dir, 'agents', 'secret'), secret)
  writeFileSync(join(repo, 'shop.mjs'), "export const title = 'shop'\n")
  writeFileSync(join(repo, 'check.mjs'), checkScript)
  writeFileSync(join(repo, 'berth.toml'), settings(node, join(dir, 'agents', 'agent.mjs')))
  writeFileSync(join(dir, 'tasks.md'), taskFile)
  const env = worldOf(caller, { dir, home })
  const at: Git = {
    dir: repo,
    commonDir: join(repo, '.git'),
    env: gitEnvironment(env),
    hooksDir: join(dir, 'agents'),
  }
  await ok(at, ['init', '--quiet', '--initial-branch=main'])
  await ok(at, ['add', '--all'])
  await ok(at, ['commit', '--quiet', '--message=first'])
  return { dir, repo, tasks: join(dir, 'tasks.md'), env, secret }
}

/** What of the promise does not hold; empty when all does. `lines` say what was looked at. */
export async function proveDemo(demo: Demo, seen: Seen): Promise<{ lines: string[]; broken: string[] }> {
  const broken = seen.tasks.flatMap(task => {
    const [status, code] = expected[task.task] ?? []
    return task.status === status && task.reasonCode === code
      ? []
      : [`'${task.task}' is ${task.status} (${task.reason})`]
  })
  const missing = Object.keys(expected).filter(name => !seen.tasks.some(task => task.task === name))
  broken.push(...missing.map(name => `'${name}' is not there`))
  const retried = seen.events.filter(event => event.kind === 'run.started' && event.task === 'flaky').length
  if (retried !== 2) broken.push(`'flaky' was started ${retried} times, not twice`)
  const recorded = recordedSecret(demo)
  if (recorded.length > 0) broken.push(`the secret stands in '${recorded.join("', '")}'`)
  return { lines: ["the secret that 'leak' printed is nowhere in what Berth recorded"], broken }
}

/** After everything was stopped: no process, no worktree, no trash but what the two tasks that need a person keep. */
export async function proveNothingLeft(
  demo: Demo,
  seen: Seen,
): Promise<{ lines: string[]; broken: string[] }> {
  const stateId = stateIdOf(demo)
  const runs = seen.events.flatMap(event => (event.kind === 'run.claimed' ? [event.run] : []))
  const alive = runs.flatMap(run => platform.processesOf({ marker: `${stateId}:${run}` }))
  const orphans = readFileSync(join(demo.dir, 'agents', 'orphans'), 'utf8')
    .trim()
    .split('\n')
    .map(Number)
  const living = orphans.filter(pid => platform.identity(pid) !== undefined)
  const at: Git = {
    dir: demo.repo,
    commonDir: join(demo.repo, '.git'),
    env: gitEnvironment(demo.env),
    hooksDir: join(demo.dir, 'agents'),
  }
  const listed = (await ok(at, ['worktree', 'list', '--porcelain', '-z'])).toString('utf8').split('\0')
  const worktrees = listed.filter(line => line.startsWith('worktree ')).slice(1)
  const kept = seen.tasks.filter(task => task.status !== 'landed' && task.worktree !== null)
  const managed = readdirSync(`${demo.repo}.berths`).filter(name => !name.startsWith('.'))
  const trash = trashOf(demo)
  const broken = [
    ...alive.map(({ pid, command }) => `process ${pid} (${command}) is alive`),
    ...living.map(pid => `orphan ${pid} is alive`),
    ...(managed.length === kept.length ? [] : [`'${managed.join("', '")}' lie in the managed root`]),
    ...trash.map(name => `'${name}' lies in the trash`),
    ...(worktrees.some(line => /landed/.test(line)) ? ['a landed worktree is registered'] : []),
  ]
  return {
    lines: [
      `no process of ${runs.length} runs is alive, and none of the ${orphans.length} orphans of 'litter'`,
      `${kept.length} workspaces are kept, of the tasks that need you: ${kept.map(task => task.task).join(', ')}`,
      'the trash is empty',
    ],
    broken,
  }
}

/**
 * Removes the whole throw-away folder, and what its Berth has in the runtime folder, which all Berths share. Gives what
 * is still there.
 */
export async function removeDemo(demo: Demo): Promise<string[]> {
  const stateId = stateIdOf(demo)
  removeAll(demo.dir)
  if (stateId === undefined || platform.name === 'windows') return [demo.dir].filter(existsSync)
  const folder = dirname(platform.socketPath(platform.runtimeDir(demo.env), stateId, 'daemon'))
  await releaseAllPorts({ stateId, runtimeDir: folder })
  removeAll(folder)
  return [demo.dir, folder].filter(existsSync)
}

const removeAll = (path: string): void =>
  rmSync(path, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 })

/** Undefined before its first Berth, and after its end. */
function stateIdOf({ dir }: Demo): string | undefined {
  const text = readIfThere(join(dir, 'state', 'id.json'))?.toString('utf8')
  return text === undefined ? undefined : (JSON.parse(text) as { stateId: string }).stateId
}

const settings = (node: string, agent: string): string =>
  [
    "engine = 'script'",
    `gates = [{ name = 'check', run = ${JSON.stringify(gateLine)} }]`,
    '[engines.script]',
    "type = 'command'",
    `argv = [${JSON.stringify(node)}, ${JSON.stringify(agent)}]`,
    '[recovery]',
    "backoff = '300ms'",
    '',
  ].join('\n')

function worldOf(caller: Environment, { dir, home }: { dir: string; home: string }): Demo['env'] {
  const own = {
    HOME: home,
    USERPROFILE: home,
    XDG_CONFIG_HOME: join(home, '.config'),
    BERTH_STATE_DIR: join(dir, 'state'),
  }
  const kept = [
    'PATH',
    'Path',
    'XDG_RUNTIME_DIR',
    'LANG',
    'LC_ALL',
    'TERM',
    'NO_COLOR',
    'SystemRoot',
    'ComSpec',
    'PATHEXT',
  ]
  return {
    ...Object.fromEntries(kept.map(name => [name, caller[name]])),
    BERTH_RUN: caller['BERTH_RUN'],
    ...own,
  }
}

/** Files of the state directory that hold the secret: what the runs wrote, and what Berth recorded of them. */
function recordedSecret(demo: Demo): string[] {
  const state = join(demo.dir, 'state')
  return readdirSync(state, { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile())
    .map(entry => join(entry.parentPath ?? entry.path, entry.name))
    .filter(file => readFileSync(file).includes(demo.secret))
}

function trashOf(demo: Demo): string[] {
  try {
    return readdirSync(join(`${demo.repo}.berths`, '.trash'))
  } catch {
    return []
  }
}
