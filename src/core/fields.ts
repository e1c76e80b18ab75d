// The fields that a person may give a task in a task file: their names, their forms, and how each is read.

import { type TaskSpec } from './event.ts'
import { staysInside } from './names.ts'
import { parseBudget, parseDuration } from './quantity.ts'

/** What a task file or a flag may say of a task besides its title. */
export type TaskFields = Partial<Omit<TaskSpec, 'title'>>

export type FieldKey = keyof typeof forms

type Read = { is: 'read'; fields: TaskFields } | { is: 'wrong'; reason: string }

/** Every field's form, in the words of a message. Published in docs/cli.md. */
export const forms = {
  engine: 'a name of an engine',
  model: 'a name of a model',
  account: 'a name of an account',
  kind: 'one word',
  labels: 'words with commas between them',
  priority: 'a whole number, higher goes first',
  after: 'names of tasks with commas between them',
  gates: 'one shell line; the key may be repeated',
  touches: 'paths or globs inside the repository, with commas between them',
  land: "'auto', 'ask' or 'never'",
  budget: "an amount like '2.50usd' or '200ktok'",
  timeout: "a duration like '90s', '30m' or '2h'",
  command: 'one shell line',
  changes: "'required' or 'optional'",
  stdin: "'prompt' or 'none'",
  pty: "'true' or 'false'",
  cwd: 'a folder inside the repository',
} as const

export const fieldKeys = Object.keys(forms) as FieldKey[]

/** Fields that may stand on several lines of one task; the values are put together. */
export const repeatable: ReadonlySet<string> = new Set(['labels', 'after', 'gates', 'touches'])

export const isFieldKey = (key: string): key is FieldKey => Object.hasOwn(forms, key)

/** Reads one field from a line's text, or from a value of YAML or JSON. */
export function readField(key: FieldKey, value: unknown): Read {
  const wrong: Read = { is: 'wrong', reason: `'${key}' must be ${forms[key]}, not '${shown(value)}'` }
  const read = (fields: TaskFields | undefined): Read => (fields ? { is: 'read', fields } : wrong)
  switch (key) {
    case 'engine':
    case 'model':
    case 'account':
    case 'kind':
    case 'command':
      return read(given(nonEmpty(value), text => ({ [key]: text })))
    case 'cwd':
      return read(given(insidePath(value), cwd => ({ cwd })))
    case 'labels':
    case 'after': {
      const words = list(value)
      return read(words && { [key]: words })
    }
    case 'touches': {
      const paths = list(value)
      return read(paths?.every(staysInside) ? { touches: paths } : undefined)
    }
    case 'gates': {
      const lines = lineList(value)
      return read(lines && { gates: lines })
    }
    case 'priority': {
      const number = typeof value === 'string' && /^[+-]?\d+$/.test(value.trim()) ? Number(value) : value
      return read(Number.isSafeInteger(number) ? { priority: number as number } : undefined)
    }
    case 'budget': {
      const budget = typeof value === 'string' ? parseBudget(value) : undefined
      return read(budget && { budget })
    }
    case 'timeout': {
      const timeoutMs = typeof value === 'string' ? parseDuration(value) : undefined
      return read(timeoutMs ? { timeoutMs } : undefined)
    }
    case 'land':
      return read(choice(value, ['auto', 'ask', 'never'] as const, land => ({ land })))
    case 'changes':
      return read(choice(value, ['required', 'optional'] as const, changes => ({ changes })))
    case 'stdin':
      return read(choice(value, ['prompt', 'none'] as const, stdin => ({ stdin })))
    case 'pty': {
      const pty = typeof value === 'string' ? { true: true, false: false }[value.trim()] : value
      return read(typeof pty === 'boolean' ? { pty } : undefined)
    }
  }
}

/** Puts a repeated field's values behind those before it; everything else replaces. */
export function joinFields(before: TaskFields, more: TaskFields): TaskFields {
  const joined: TaskFields = { ...before, ...more }
  for (const key of ['labels', 'after', 'gates', 'touches'] as const) {
    const [first, second] = [before[key], more[key]]
    if (first && second) joined[key] = [...first, ...second]
  }
  return joined
}

const given = (text: string | undefined, give: (text: string) => TaskFields): TaskFields | undefined =>
  text === undefined ? undefined : give(text)

function shown(value: unknown): string {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? String(value))
  return text.length > 60 ? `${text.slice(0, 57)}...` : text
}

function nonEmpty(value: unknown): string | undefined {
  const text = typeof value === 'string' ? value.trim() : ''
  return text === '' || text.includes('\0') ? undefined : text
}

/** A relative path that stays inside. */
function insidePath(value: unknown): string | undefined {
  const path = nonEmpty(value)
  return path && staysInside(path) ? path.replaceAll('\\', '/') : undefined
}

function choice<T extends string>(value: unknown, of: readonly T[], give: (word: T) => TaskFields) {
  const word = of.find(known => known === (typeof value === 'string' ? value.trim() : value))
  return word && give(word)
}

/** `a, b`, `[a, b]`, or a list of YAML or JSON. */
function list(value: unknown): string[] | undefined {
  if (Array.isArray(value))
    return strings(value)
      ?.map(word => word.trim())
      .filter(Boolean)
  if (typeof value !== 'string') return undefined
  const text = value.trim()
  const bare = text.startsWith('[') && text.endsWith(']') ? text.slice(1, -1) : text
  return bare.split(',').map(unquoted).filter(Boolean)
}

/** A shell line is taken whole, commas included; several only as a JSON list, or on several lines. */
function lineList(value: unknown): string[] | undefined {
  if (Array.isArray(value)) return strings(value)
  if (typeof value !== 'string') return undefined
  const text = value.trim()
  const many = text.startsWith('[') ? jsonList(text) : undefined
  return many ?? (text === '' ? undefined : [text])
}

function jsonList(text: string): string[] | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return Array.isArray(value) ? strings(value) : undefined
  } catch {
    return undefined
  }
}

const strings = (values: unknown[]): string[] | undefined =>
  values.every(value => typeof value === 'string') ? (values as string[]) : undefined

const unquoted = (word: string): string => word.trim().replace(/^(["'])(.*)\1$/, '$2')
