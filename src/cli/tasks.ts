// The tasks of one `berth run`: from briefs, a task file or stdin, with the flags put over them.

import { statSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { type Submission } from '../core/api.ts'
import { BerthError } from '../core/errors.ts'
import { joinFields, readField, type FieldKey, type TaskFields } from '../core/fields.ts'
import { nameProblem, slugOf } from '../core/names.ts'
import { nearest } from '../core/nearest.ts'
import { callOf, callPutRight, editAt, shellWord } from '../core/shellword.ts'
import { type FileTask, type Mistake, parseMarkdown, type TaskFile } from '../core/taskfile.ts'
import { titleOf } from '../core/tasklist.ts'
import { standing } from '../platform/volumes.ts'
import { type Common, type Io } from './io.ts'
import { refuseStandIn } from './usage.ts'

export type RunOptions = {
  file?: string
  name?: string
  engine?: string
  model?: string
  kind?: string
  label?: string[]
  priority?: string
  after?: string[]
  gate?: string[]
  touches?: string[]
  land?: 'auto' | 'ask' | 'never'
  jobs?: number
  base?: string
  timeout?: string
  budget?: string
  command?: string
  dryRun?: boolean
  detach?: boolean
  trust?: boolean
}

export type Wanted = { tasks: (Submission & { line?: number })[]; notices: string[] }

/** What the person asks for; no task at all is an empty list. Throws on every mistake, before anything starts. */
export async function wantedTasks(io: Io, args: string[], options: RunOptions & Common): Promise<Wanted> {
  const stdin = args.length === 1 && args[0] === '-'
  const file = options.file ?? (stdin ? '-' : undefined)
  if (options.file !== undefined && args.length > 0) {
    const hint = callOf(['run', '-f', options.file])
    throw new BerthError('usage', "briefs and '--file' exclude each other", hint)
  }
  const parsed = file === undefined ? ofBriefs(io, args) : await ofFile(io, file)
  if (options.name !== undefined) nameOne(parsed, options.name, io.args)
  const flags = flagFields(options)
  const tasks = parsed.tasks.map(task => {
    const fields = { ...parsed.defaults, ...flags, ...task.fields }
    if (fields.account !== undefined) throw noAccount(task, fields.account, file)
    const engine = fields.command !== undefined && fields.engine === undefined ? { engine: 'command' } : {}
    const spec = { ...fields, ...engine, ...(options.base && { base: options.base }), title: task.title }
    return {
      ...(task.name && { name: task.name }),
      brief: task.brief,
      spec,
      ...(task.line && { line: task.line }),
    }
  })
  return { tasks, notices: parsed.notices }
}

function ofBriefs(io: Io, briefs: string[]): TaskFile {
  const tasks = briefs.map((brief): FileTask => {
    if (brief.trim() === '') throw new BerthError('empty-brief', 'the brief is empty', 'berth run --help')
    refuseStandIn(brief, 'what is to be done', 'berth run --help')
    if (isFile(resolve(io.cwd, brief))) throw fileAsBrief(io.args, brief)
    return { title: titleOf(brief), brief, fields: {}, line: 0 }
  })
  return { is: 'tasks', defaults: {}, tasks, notices: [] }
}

function isFile(path: string): boolean {
  try {
    return statSync(path).isFile()
  } catch {
    // Nothing is there, or nothing can be: most briefs are too long for the name of a file.
    return false
  }
}

/** `-f` was forgotten, most likely. */
function fileAsBrief(args: readonly string[], file: string): BerthError {
  const call = args.filter(word => word !== '--').flatMap(word => (word === file ? ['-f', file] : [word]))
  return new BerthError(
    'usage',
    `'${file}' is a file: '-f' reads tasks from it; a brief that is about it says more than its name`,
    callOf(call),
  )
}

async function ofFile(io: Io, file: string): Promise<TaskFile> {
  const shown = shownFile(file)
  const bytes = file === '-' ? await io.readInput() : await readTaskFile(io, file)
  const text = decoded(bytes, shown)
  const parsed = await parsedAs(formatOf(file, text), text)
  if (parsed.is === 'mistake') throw mistakeError(parsed, file)
  return parsed
}

async function readTaskFile(io: Io, file: string): Promise<Uint8Array> {
  try {
    return await readFile(resolve(io.cwd, file))
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT')
      throw new BerthError('not-found', `there is no task file '${file}'`, await fileMeant(io, file))
    throw new BerthError(
      'task-file',
      `'${file}' cannot be read: ${code ?? String(error)}`,
      `ls -l ${shellWord(file)}`,
    )
  }
}

/** The call with the file of the nearest name beside the one that is not there. */
async function fileMeant(io: Io, file: string): Promise<string> {
  const folder = dirname(file)
  const names = await readdir(resolve(io.cwd, folder)).catch(() => [])
  const near = nearest(
    basename(file),
    names.filter(name => /\.(md|ya?ml|json)$/i.test(name)),
  )
  if (near === undefined) return `ls ${shellWord(standing(resolve(io.cwd, folder)))}`
  const right = folder === '.' && !file.startsWith('.') ? near : join(folder, near)
  return callPutRight(io.args, file, right)
}

/** Briefs must come through byte for byte: text that is no UTF-8 cannot. */
function decoded(bytes: Uint8Array, shown: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    const good = new TextDecoder('utf-8').decode(bytes).split('\uFFFD')[0]!
    const line = good.split('\n').length
    const column = good.length - good.lastIndexOf('\n')
    throw new BerthError(
      'task-file',
      `${place(shown, line, column)}: this is not UTF-8`,
      `iconv -t UTF-8 ${shellWord(shown)}`,
    )
  }
}

function formatOf(file: string, text: string): 'markdown' | 'yaml' | 'json' {
  if (/\.ya?ml$/i.test(file)) return 'yaml'
  if (/\.json$/i.test(file)) return 'json'
  if (file !== '-') return 'markdown'
  if (/^\uFEFF?\s*[[{]/.test(text)) return 'json'
  return /^(?:tasks:|- )/m.test(text) && !/^ {0,3}## /m.test(text) ? 'yaml' : 'markdown'
}

async function parsedAs(format: 'markdown' | 'yaml' | 'json', text: string): Promise<TaskFile | Mistake> {
  if (format === 'markdown') return parseMarkdown(text)
  const { readDocument } = await import('./document.ts')
  return readDocument(text, format)
}

const place = (shown: string, line: number, column: number): string =>
  `'${shown}', line ${line}, column ${column}`

/** A mistake of a task file, for a person. */
export const mistakeError = ({ code, line, column, message, advice }: Mistake, file: string): BerthError =>
  new BerthError(
    code,
    `${place(shownFile(file), line, column)}: ${message}${advice ? `; ${advice}` : ''}`,
    wayTo(file, line),
  )

/** The command that leads to a line of a task file; of stdin there is only what it should have said. */
export const wayTo = (file: string, line: number): string =>
  file === '-' ? 'berth run -f FILE --dry-run' : editAt(file, line)

const shownFile = (file: string): string => (file === '-' ? 'stdin' : file)

function nameOne(parsed: TaskFile, name: string, args: readonly string[]): void {
  const [only] = parsed.tasks
  if (!only || parsed.tasks.length > 1) {
    throw new BerthError('usage', `'--name ${name}' needs exactly one brief`, 'berth run --help')
  }
  const problem = nameProblem(name)
  if (problem)
    throw new BerthError(
      'bad-name',
      `'${name}' cannot be the name of a task: ${problem}`,
      callPutRight(args, name, slugOf(name)),
    )
  only.name = name
}

function flagFields(options: RunOptions): TaskFields {
  const given: [FieldKey, unknown][] = [
    ['engine', options.engine],
    ['model', options.model],
    ['kind', options.kind],
    ['labels', options.label],
    ['priority', options.priority],
    ['after', options.after],
    ['gates', options.gate],
    ['touches', options.touches],
    ['land', options.land],
    ['timeout', options.timeout],
    ['budget', options.budget],
    ['command', options.command],
  ]
  return given.reduce((fields: TaskFields, [key, value]) => {
    if (value === undefined) return fields
    const read = readField(key, value)
    if (read.is === 'wrong') throw new BerthError('usage', read.reason)
    return joinFields(fields, read.fields)
  }, {})
}

const noAccount = (task: FileTask, account: string, file = '-'): BerthError =>
  new BerthError(
    'not-found',
    `'${task.name ?? task.title}' names the account '${account}', and there is none of that name`,
    wayTo(file, task.line),
  )
