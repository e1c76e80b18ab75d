// How an attempt of a task is started: program, prompt, environment and files, as its engine describes them.

import { existsSync, mkdirSync, statSync } from 'node:fs'
import { delimiter, dirname, isAbsolute, join, resolve } from 'node:path'
import { promptOf } from '../../core/brief.ts'
import { type EnginePolicy } from '../../core/config.ts'
import { type Run } from '../../core/run.ts'
import { type Task } from '../../core/task.ts'
import { type Engine, type Launch } from '../../engines/engine.ts'
import { engineFor } from '../../engines/index.ts'
import { platform } from '../../platform/platform.ts'
import { type RunSpec } from '../../process/spawn.ts'
import { atomicWrite, privateDir, readIfThere } from '../../store/files.ts'
import { environmentFor, insideOf, makeTemp } from '../../workspace/place.ts'
import { type Site } from '../../workspace/site.ts'
import { type Shell } from '../shell.ts'
import { placeOf, secretsOf } from './site.ts'

export type Prepared =
  | { is: 'ready'; spec: RunSpec; session: string | undefined; engine: Engine }
  /** `code` is a reason code of core/api.ts. */
  | { is: 'refused'; code: 'engine-missing' | 'exit'; reason: string }

type Ground = {
  shell: Shell
  site: Site
  task: Task
  run: Run
  workspace: Task['workspace'] & { phase: 'ready' }
}

const terminal = { cols: 120, rows: 30 }

/** Writes the prompt and the engine's files; nothing is started. */
export async function prepareLaunch(ground: Ground): Promise<Prepared> {
  const { shell, site, task, run, workspace } = ground
  const policy = site.policy.engines[task.spec.engine]
  if (!policy) return { is: 'refused', code: 'engine-missing', reason: `no engine '${task.spec.engine}'` }
  const engine = engineFor(policy)
  const caller = site.caller
  const program = programOf(task, policy, engine, { PATH: caller['PATH'], cwd: workspace.path })
  if (!program) return { is: 'refused', code: 'engine-missing', reason: missingText(policy, engine) }
  const prompt = promptText(ground)
  const promptFile = writePrompt(shell, task, run, prompt)
  const temp = makeTemp(site, { task: task.name, id: run.id })
  const token = shell.tokens.of(run.id)
  const env = environmentFor(site, placeOf(site, task, run.attempt), {
    id: run.id,
    token,
    promptFile,
    set: policy.env,
  })
  const launch = engine.launch({
    program,
    prompt,
    promptFile,
    ...modelOf(task, run, policy),
    session: shell.uuid(),
    ...(run.resume === undefined ? {} : { resume: run.resume }),
    home: workspace.home,
    temp,
    worktree: workspace.path,
    gitCommonDir: site.repo.commonDir,
    permission: policy.permission,
    env,
    windows: shell.windows,
    root: process.getuid?.() === 0,
  })
  writeFiles(workspace.home, launch.files)
  return { is: 'ready', spec: specOf(ground, { launch, env, promptFile }), session: launch.session, engine }
}

function specOf(
  { shell, site, task, run, workspace }: Ground,
  { launch, env, promptFile }: { launch: Launch; env: { [name: string]: string }; promptFile: string },
): RunSpec {
  const takesPrompt = launch.stdin === 'prompt' && task.spec.stdin === 'prompt' && !task.spec.pty
  const token = shell.tokens.of(run.id)
  return {
    stateId: shell.stateId,
    run: run.id,
    task: task.name,
    project: task.project,
    runDir: shell.paths.run(run.id),
    socket: platform.socketPath(shell.runtimeDir, shell.stateId, run.id),
    file: launch.file,
    args: launch.args,
    cwd: insideOf(workspace.path, task.spec.cwd ?? site.policy.cwd),
    env: { ...env, ...launch.env },
    stdin: takesPrompt ? { is: 'file', path: promptFile } : { is: 'none' },
    ...(task.spec.pty ? { pty: terminal } : {}),
    secrets: [...secretsOf(site, task), token],
    redact: site.policy.redact,
    headBytes: site.policy.outputHeadBytes,
    tailBytes: site.policy.outputTailBytes,
    graceMs: site.policy.graceMs,
  }
}

function promptText({ task, run }: Ground): string {
  const brief = readIfThere(task.brief.file)?.toString('utf8')
  if (brief === undefined) throw new Error(`the brief '${task.brief.file}' is gone`)
  return promptOf(task, run, brief)
}

function writePrompt(shell: Shell, task: Task, run: Run, prompt: string): string {
  const file = shell.paths.prompt(task.project, task.name, run.id)
  privateDir(dirname(file))
  atomicWrite(file, prompt)
  return file
}

const modelOf = (task: Task, run: Run, policy: EnginePolicy): { model?: string } => {
  const model = run.model ?? task.spec.model ?? policy.model
  return model === undefined ? {} : { model }
}

/** A shell line of the task, else the engine's argv, else its own program; the file absolute. */
function programOf(
  task: Task,
  policy: EnginePolicy,
  engine: Engine,
  from: { PATH: string | undefined; cwd: string },
): string[] | undefined {
  if (policy.type === 'command' && task.spec.command !== undefined) {
    const { file, args } = platform.shell(task.spec.command)
    return [findProgram(file, from) ?? file, ...args]
  }
  const [name, ...args] = policy.argv.length > 0 ? policy.argv : [engine.program]
  const file = name === undefined || name === '' ? undefined : findProgram(name, from)
  return file === undefined ? undefined : [file, ...args]
}

/** As a shell would find it: a path is seen from `cwd`, a bare name looked for on PATH. */
export function findProgram(
  name: string,
  { PATH, cwd }: { PATH: string | undefined; cwd: string },
): string | undefined {
  if (name.includes('/') || isAbsolute(name))
    return isFile(resolve(cwd, name)) ? resolve(cwd, name) : undefined
  return (PATH ?? '')
    .split(delimiter)
    .filter(folder => isAbsolute(folder))
    .map(folder => join(folder, name))
    .find(isFile)
}

function isFile(path: string): boolean {
  try {
    return statSync(path).isFile()
  } catch {
    return false
  }
}

export const missingText = (policy: EnginePolicy, engine: Engine): string => {
  const name = policy.argv[0] ?? engine.program
  const install = engine.install === '' ? '' : ` (install it: ${engine.install})`
  return name === '' ? `engine '${engine.name}' says no program` : `'${name}' is not installed${install}`
}

function writeFiles(home: string, files: Launch['files']): void {
  for (const { path, content, merge } of files) {
    const file = join(home, path)
    const before = readIfThere(file)?.toString('utf8')
    if (before !== undefined && merge === undefined) continue
    if (!existsSync(dirname(file))) mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
    atomicWrite(file, before !== undefined && merge === 'json' ? merged(before, content) : content)
  }
}

/** The file's own keys stay; ours win where both have one. A file that is no JSON any more is replaced. */
function merged(before: string, content: string): string {
  const one: unknown = parse(before)
  const other: unknown = parse(content)
  return isTable(one) && isTable(other) ? `${JSON.stringify(mergeTables(one, other), null, 2)}\n` : content
}

type Table = { [key: string]: unknown }

const mergeTables = (one: Table, other: Table): Table => ({
  ...one,
  ...Object.fromEntries(
    Object.entries(other).map(([key, value]) => {
      const before = one[key]
      return [key, isTable(before) && isTable(value) ? mergeTables(before, value) : value]
    }),
  ),
})

const isTable = (value: unknown): value is Table =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
