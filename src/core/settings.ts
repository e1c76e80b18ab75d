// What `berth.toml` and the user's configuration may say: the keys, their forms, and where a mistake stands.

import { z } from 'zod'
import { staysInside } from './names.ts'
import { nearest } from './nearest.ts'

const sentence = (form: string) => ({ error: `must be ${form}` })
const text = z.string(sentence('text'))
const words = z.array(text, sentence('a list of texts'))
const flag = z.boolean(sentence("'true' or 'false'"))
const count = z.int(sentence('a whole number of at least 1')).min(1, sentence('a whole number of at least 1'))
const durationForm = sentence("a duration like '90s', '30m' or '2h'")
const duration = z.string(durationForm).regex(/^(\d+(\.\d+)?(ms|s|m|h|d))+$/, durationForm)
const sizeForm = sentence("a size like '200MB' or '2GB'")
const bytes = z.string(sizeForm).regex(/^\d+(\.\d+)? ?[kKmMgGtT]?i?[bB]$/, sizeForm)
const pattern = text.refine(isPattern, sentence('a regular expression'))
const engineName = z.string().regex(/^[A-Za-z0-9][\w-]*$/, sentence('a name of letters, digits, _ and -'))
const oneOf = <const T extends readonly [string, ...string[]]>(...of: T) =>
  z.enum(of, sentence(of.map(word => `'${word}'`).join(', ')))

const setup = z
  .strictObject(
    { run: text.describe('One shell line.'), timeout: duration.optional() },
    sentence('a shell line or a table'),
  )
  .describe('A command run in every new workspace, before its agent.')

const gate = z.strictObject(
  {
    name: text.describe('How it is called in messages; the shell line if left out.').optional(),
    run: text.describe('One shell line.'),
    timeout: duration.optional(),
    paths: words.describe('Globs: the gate runs only for tasks that changed one of these paths.').optional(),
    mayWrite: flag.describe('A gate that changes the worktree fails unless this is true.').optional(),
  },
  sentence('a shell line or a table'),
)

const engine = z.strictObject(
  {
    type: oneOf('command', 'claude', 'codex', 'gemini', 'opencode').describe('How it is driven.').optional(),
    argv: words.describe('Program and flags, no shell.').optional(),
    model: text.optional(),
    reads: oneOf('text', 'claude', 'codex', 'gemini', 'opencode')
      .describe('How the output of a command is read.')
      .optional(),
    pass: words.describe('Names of your variables that it gets.').optional(),
    env: z
      .record(z.string(), text, sentence('a table of texts'))
      .describe('Variables set for it.')
      .optional(),
    permission: oneOf('auto', 'ask')
      .describe("'auto' acts without asking within its worktree, 'ask' waits for you.")
      .optional(),
  },
  sentence('a table'),
)

function isPattern(source: string): boolean {
  try {
    return new RegExp(source) instanceof RegExp
  } catch {
    return false
  }
}

/** Named groups of keys. */
const tables = {
  limits: z
    .strictObject(
      {
        jobs: count.describe('Runs that may work at the same time.').optional(),
        maxAlive: count
          .describe('Runs that may be alive at the same time, waiting ones included.')
          .optional(),
        perEngine: z
          .record(z.string(), count, sentence('a table of numbers'))
          .describe('Per engine, by its name.')
          .optional(),
        savedBytes: bytes
          .describe('Ignored files saved without asking when a landed task is removed.')
          .optional(),
        diskFreeMin: bytes.describe('Nothing starts with less free space than this.').optional(),
        outputHead: bytes.describe("Kept of the start of one run's output.").optional(),
        outputTail: bytes.describe("Kept of the end of one run's output.").optional(),
      },
      sentence('a table'),
    )
    .describe('How much at the same time, and how much is kept.'),
  timeouts: z
    .strictObject(
      {
        run: duration.describe('Of one run; the time it waits for an answer does not count.').optional(),
        quiet: duration.describe('Without a word for this long, an agent is called quiet.').optional(),
        grace: duration.describe('Between asking a process to end and ending it.').optional(),
        fetch: duration.describe('Of the fetch before a task starts.').optional(),
        command: duration.describe('Of setup commands and gates that name none.').optional(),
        quota: duration.describe('How long a usage limit holds that names no time.').optional(),
      },
      sentence('a table'),
    )
    .describe('When waiting ends.'),
  recovery: z
    .strictObject(
      {
        attempts: count.describe('Of one task, before it is failed.').optional(),
        backoff: duration.describe('Before the second attempt; doubled for each after it.').optional(),
        backoffMax: duration.optional(),
        landingTries: count.describe('Of a landing whose target moved meanwhile.').optional(),
      },
      sentence('a table'),
    )
    .describe('What happens when an agent fails.'),
}

const both = {
  target: text.describe("The branch that work lands on; the remote's default branch if left out.").optional(),
  remote: text
    .describe("The remote asked for the target; 'origin', or the only one there is, if left out.")
    .optional(),
  landing: oneOf('local').describe('How a landing moves the target: here, and nowhere else.').optional(),
  land: oneOf('auto', 'ask', 'never')
    .describe("'auto' lands what passed, 'ask' waits for `berth land`, 'never' for `berth land NAME`.")
    .optional(),
  worktrees: text
    .describe('The folder for worktrees, seen from the repository; a sibling of it if left out.')
    .optional(),
  branchPrefix: text.describe("Put before a task's name for its branch.").optional(),
  fetch: flag.describe('Fetch the target before a task starts.').optional(),
  engine: text.describe('The engine of tasks that name none.').optional(),
  cwd: text
    .refine(staysInside, sentence('a folder inside the repository'))
    .describe('The folder inside the repository where agents start.')
    .optional(),
  copies: words.describe('Files that git ignores and every workspace needs, as paths or globs.').optional(),
  rebuildable: words
    .describe("Ignored folders that are never saved, added to Berth's own list; '!name' takes one out.")
    .optional(),
  protected: words.describe('Globs: a change to these is never landed without a person.').optional(),
  redact: z
    .array(pattern, sentence('a list of texts'))
    .describe('Regular expressions of further secrets.')
    .optional(),
  pass: words.describe('Names of your variables that every agent gets.').optional(),
  setup: z
    .array(z.union([text, setup]), sentence('a list of shell lines or tables'))
    .describe('Run in every new workspace.')
    .optional(),
  gates: z
    .array(z.union([text, gate]), sentence('a list of shell lines or tables'))
    .describe('Must pass before a task may land.')
    .optional(),
  engines: z
    .record(engineName, engine, sentence('a table of engines'))
    .describe('Engines by name.')
    .optional(),
  limits: tables.limits.optional(),
  timeouts: tables.timeouts.optional(),
  recovery: tables.recovery.optional(),
}

/** `berth.toml` of a repository. */
const settingsShape = z.strictObject(both)

/** The user's own configuration: the same, and what only the user may say. */
export const userShape = z.strictObject({
  ...both,
  trust: words
    .describe('Repositories whose commands run without asking: paths, with all below them.')
    .optional(),
})

export type Settings = z.infer<typeof settingsShape>

/** The JSON Schema of `berth.toml`, for editors. */
export const settingsSchema = (): object => z.toJSONSchema(settingsShape, { io: 'input' })
export type UserSettings = z.infer<typeof userShape>

/** `line` counts from 1. */
export type SettingsMistake = { is: 'mistake'; line: number; message: string; advice?: string }

/** Checks a parsed TOML document; `source` is its text, for the line of a mistake. */
export function checkSettings(
  document: unknown,
  source: string,
  of: 'repository' | 'user',
): { is: 'settings'; settings: UserSettings } | SettingsMistake {
  const shape = of === 'user' ? userShape : settingsShape
  const checked = shape.safeParse(document)
  if (checked.success) return { is: 'settings', settings: checked.data }
  const issue = innermost(checked.error.issues[0]!, [])
  const path = issue.keys?.[0] === undefined ? issue.path : [...issue.path, issue.keys[0]]
  const line = lineOf(source, path)
  if (issue.keys?.[0] !== undefined) return unknownSetting(shape, issue.path, issue.keys[0], line)
  return { is: 'mistake', line, message: `'${shownPath(path)}' ${issue.message}` }
}

type Issue = {
  path: PropertyKey[]
  message: string
  code?: string
  keys?: string[]
  /** Of a union, the mistakes within each form; of a key, what is wrong with it. */
  errors?: Issue[][]
  issues?: Issue[]
}

/** Of a value that may have two forms, the mistake within the form that it has. */
function innermost(
  issue: Issue,
  above: PropertyKey[],
): { path: (string | number)[]; message: string; keys?: string[] } {
  const path = [...above, ...issue.path]
  const inside = issue.errors
    ?.map(errors => errors[0]!)
    .find(one => one.path.length > 0 || one.code === 'unrecognized_keys')
  if (inside) return innermost(inside, path)
  const ofKey = issue.code === 'invalid_key' ? issue.issues?.[0]?.message : undefined
  const message =
    issue.code === 'invalid_union' ? 'must be a shell line or a table' : (ofKey ?? issue.message)
  return { path: path as (string | number)[], message, ...(issue.keys && { keys: issue.keys }) }
}

function unknownSetting(
  shape: z.ZodType,
  path: (string | number)[],
  key: string,
  line: number,
): SettingsMistake {
  const known = keysAt(shape, path)
  const home = Object.entries(tables).find(([, table]) => Object.hasOwn(table.shape, key))?.[0]
  const place = path.length === 0 ? '' : ` in '${shownPath(path)}'`
  const near = nearest(key, known)
  const advice = near
    ? `did you mean '${near}'?`
    : home && path.length === 0
      ? `it belongs into '[${home}]'`
      : `known keys: ${known.join(' ')}`
  return { is: 'mistake', line, message: `unknown key '${key}'${place}`, advice }
}

/** The keys that a table at `path` may have. */
function keysAt(shape: z.ZodType, path: (string | number)[]): string[] {
  let at: unknown = shape
  for (const key of path) at = stepInto(bare(at), key)
  const table = bare(at)
  return table instanceof z.ZodObject ? Object.keys(table.shape as object) : []
}

function stepInto(at: unknown, key: string | number): unknown {
  if (at instanceof z.ZodObject) return (at.shape as { [key: string]: unknown })[String(key)]
  if (at instanceof z.ZodRecord) return at.valueType
  if (at instanceof z.ZodArray) return at.element
  return undefined
}

/** Without `optional`, and of a union the table. */
function bare(at: unknown): unknown {
  if (at instanceof z.ZodOptional) return bare(at.unwrap())
  if (at instanceof z.ZodUnion) return at.options.find(option => option instanceof z.ZodObject)
  return at
}

const shownPath = (path: (string | number)[]): string =>
  path.map((key, index) => (typeof key === 'number' ? `[${key}]` : index === 0 ? key : `.${key}`)).join('')

/**
 * The line, from 1, on which a TOML key stands, or the nearest table around it. Good for what people write:
 * headers, dotted keys, inline tables; of an inline list it is the line of its key.
 */
export function lineOf(source: string, path: (string | number)[]): number {
  const wanted = path.map(String)
  const counts = new Map<string, number>()
  let table: string[] = []
  let best = { line: 1, depth: 0 }
  let quote: string | undefined
  for (const [index, line] of source.split(/\r\n|\n/).entries()) {
    const inside = quote
    quote = openQuote(line, quote)
    if (inside) continue
    const header = /^\s*(\[\[?)\s*([^\]]+?)\s*\]/.exec(line)
    if (header) {
      table = keysOf(header[2]!)
      if (header[1] === '[[') {
        const name = table.join('\0')
        counts.set(name, (counts.get(name) ?? -1) + 1)
      }
      table = withIndexes(table, counts)
    }
    const pair = header
      ? undefined
      : /^\s*((?:[\w-]+|"[^"]*"|'[^']*')(?:\s*\.\s*(?:[\w-]+|"[^"]*"|'[^']*'))*)\s*=/.exec(line)
    const here = header ? table : pair ? [...table, ...keysOf(pair[1]!)] : undefined
    const depth = here?.every((key, at) => key === wanted[at]) ? here.length : 0
    if (depth > best.depth) best = { line: index + 1, depth }
  }
  return best.line
}

const keysOf = (dotted: string): string[] =>
  [...dotted.matchAll(/"([^"]*)"|'([^']*)'|([\w-]+)/g)].map(match => match[1] ?? match[2] ?? match[3]!)

function withIndexes(table: string[], counts: Map<string, number>): string[] {
  return table.flatMap((key, at) => {
    const index = counts.get(table.slice(0, at + 1).join('\0'))
    return index === undefined ? [key] : [key, String(index)]
  })
}

/** Whether a multi-line string is open after this line. */
function openQuote(line: string, open: string | undefined): string | undefined {
  let quote = open
  for (const match of line.matchAll(/"""|'''/g)) {
    if (quote === undefined) quote = match[0]
    else if (quote === match[0]) quote = undefined
  }
  return quote
}
