// Task files of YAML or JSON shape, and what is checked of every list of tasks: names, dependencies, cycles.

import { type BerthError } from './errors.ts'
import { fieldKeys, isFieldKey, joinFields, readField, type TaskFields } from './fields.ts'
import { nearest } from './nearest.ts'
import { badName, type FileTask, type Mistake, mistake, type TaskFile, unknownKey } from './taskfile.ts'

/** Where a value stands in the text, by the keys and indexes that lead to it. */
export type Where = (path: (string | number)[]) => { line: number; column: number }

/** Reads the tasks of a parsed YAML or JSON document: defaults beside `tasks`, or a bare list of tasks. */
export function readTasks(document: unknown, where: Where): TaskFile | Mistake {
  const top = Array.isArray(document) ? { tasks: document } : document
  const at = (path: (string | number)[], message: string, advice?: string) => {
    const { line, column } = where(path)
    return mistake(line, column, message, advice)
  }
  if (!isRecord(top) || !Array.isArray(top.tasks)) {
    return at([], "there is no list 'tasks' in it", "write 'tasks: [{name: fix-login, brief: ...}]'")
  }
  const { tasks: list, ...rest } = top
  const base = Array.isArray(document) ? [] : ['tasks']
  const defaults = readFields(rest, [], where, ['tasks'])
  if ('is' in defaults) return defaults
  if (list.length === 0) return at(base, 'there is no task in it')
  const tasks: FileTask[] = []
  for (const [index, value] of list.entries()) {
    const path = [...base, index]
    const task = isRecord(value)
      ? readTask(value, path, where)
      : at(path, `a task must be a map, not '${String(value)}'`)
    if ('is' in task) return task
    tasks.push(task)
  }
  return { is: 'tasks', defaults: defaults.fields, tasks, notices: [] }
}

const isRecord = (value: unknown): value is { [key: string]: unknown } =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

function readTask(
  value: { [key: string]: unknown },
  path: (string | number)[],
  where: Where,
): FileTask | Mistake {
  const { name, title, brief, ...rest } = value
  const at = (key: string, message: string) => {
    const { line, column } = where(key in value ? [...path, key] : path)
    return mistake(line, column, message)
  }
  if (name !== undefined && typeof name !== 'string') return at('name', `'name' must be text`)
  const bad = name === undefined ? undefined : badName(name, where([...path, 'name']))
  if (bad) return bad
  if (title !== undefined && typeof title !== 'string') return at('title', `'title' must be text`)
  if (brief !== undefined && typeof brief !== 'string') return at('brief', `'brief' must be text`)

  const read = readFields(rest, path, where, ['name', 'title', 'brief'])
  if ('is' in read) return read
  if (!brief || brief.trim() === '') {
    return { ...at('brief', `the brief of '${name ?? title ?? 'a task'}' is empty`), code: 'empty-brief' }
  }
  const { line } = where(path)
  return {
    ...(name && { name }),
    title: title?.trim() ? title : titleOf(brief),
    brief,
    fields: read.fields,
    line,
  }
}

function readFields(
  value: { [key: string]: unknown },
  path: (string | number)[],
  where: Where,
  others: string[],
): { fields: TaskFields } | Mistake {
  let fields: TaskFields = {}
  for (const [key, given] of Object.entries(value)) {
    const { line, column } = where([...path, key])
    if (!isFieldKey(key)) return unknownKey(key, line, column, [...fieldKeys, ...others])
    const read = readField(key, given)
    if (read.is === 'wrong') return mistake(line, column, read.reason)
    fields = joinFields(fields, read.fields)
  }
  return { fields }
}

/** The first line with something on it, unaltered. */
export function titleOf(brief: string): string {
  return brief.split(/\r\n|\n|\r/).find(line => line.trim() !== '') ?? ''
}

type Named = { name?: string; after: string[]; line?: number }
type Problem = Pick<BerthError, 'code' | 'message'> & { line?: number }

/**
 * What is wrong among tasks given together: a name twice, a dependency on a task that nobody knows, a cycle.
 * `known`: names of tasks that exist already.
 */
export function listProblem(tasks: Named[], known: Iterable<string>): Problem | undefined {
  const names = new Map<string, number | undefined>()
  for (const { name, line } of tasks) {
    if (name === undefined) continue
    const lines = names.get(name) && line ? `, in lines ${names.get(name)} and ${line}` : ''
    if (names.has(name)) {
      const message = `two tasks have the name '${name}'${lines}`
      return { code: 'task-file', message, ...(line && { line }) }
    }
    names.set(name, line)
  }
  const all = new Set([...names.keys(), ...known])
  for (const { name, after, line } of tasks) {
    const missing = after.find(other => !all.has(other))
    if (missing === undefined) continue
    const near = nearest(missing, all)
    const advice = near ? `; did you mean '${near}'?` : ''
    const message = `${name ? `'${name}'` : 'a task'} waits for '${missing}', which is no task${advice}`
    return { code: 'not-found', message, ...(line && { line }) }
  }
  const cycle = cycleOf(tasks)
  if (!cycle) return undefined
  const line = tasks.find(({ name }) => name === cycle[0])?.line
  return {
    code: 'cycle',
    message: `tasks wait for each other: '${cycle.join(' -> ')}'`,
    ...(line && { line }),
  }
}

/** The first cycle along `after`, its first name repeated at its end: `a -> b -> a`. */
export function cycleOf(tasks: Named[]): string[] | undefined {
  const after = new Map(
    tasks.flatMap(task => (task.name === undefined ? [] : [[task.name, task.after] as const])),
  )
  const clear = new Set<string>()
  for (const start of after.keys()) {
    const path: string[] = []
    const left: { name: string; leave: boolean }[] = [{ name: start, leave: false }]
    while (left.length > 0) {
      const { name, leave } = left.pop()!
      if (leave) {
        clear.add(path.pop()!)
        continue
      }
      if (clear.has(name)) continue
      if (path.includes(name)) return [...path.slice(path.indexOf(name)), name]
      path.push(name)
      left.push({ name, leave: true })
      for (const next of after.get(name)?.toReversed() ?? []) left.push({ name: next, leave: false })
    }
  }
  return undefined
}
