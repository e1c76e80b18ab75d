// Task files as text: Markdown with one level-2 heading a task (docs/decisions/0033). Pure; briefs come back
// byte for byte.

import { type ErrorCode } from './errors.ts'
import { fieldKeys, isFieldKey, joinFields, readField, repeatable, type TaskFields } from './fields.ts'
import { namePattern, nameProblem, slugOf } from './names.ts'
import { nearest } from './nearest.ts'

/** A task as a file gives it. `name` is undefined where only the title is known. Lines count from 1. */
export type FileTask = { name?: string; title: string; brief: string; fields: TaskFields; line: number }

export type TaskFile = {
  is: 'tasks'
  defaults: TaskFields
  tasks: FileTask[]
  /** What the person may not have meant, in words. */
  notices: string[]
}

/** Line and column count from 1. */
export type Mistake = {
  is: 'mistake'
  code: ErrorCode
  line: number
  column: number
  message: string
  /** What would be right, in words. */
  advice?: string
}

/** One line of the text: where it starts, and its content without the line ending. */
type Line = { number: number; start: number; text: string }

type Block = { heading: Line; title: string; body: Line[]; end: number }

/**
 * Parses a Markdown task file. Text before the first level-2 heading is a preface and no part of a brief. One
 * blank line after the heading or its fields separates; the brief is all that follows, up to the next task.
 */
export function parseMarkdown(text: string): TaskFile | Mistake {
  const lines = linesOf(text)
  const front = frontMatter(lines)
  if (front.is === 'mistake') return front
  const blocks = blocksOf(lines.slice(front.used), text.length)
  if ('is' in blocks) return blocks
  const tasks: FileTask[] = []
  const notices: string[] = []
  for (const block of blocks) {
    const task = taskOf(block, text, front.headings, notices)
    if ('is' in task) return task
    tasks.push(task)
  }
  const first = lines[0]?.number ?? 1
  if (tasks.length === 0) {
    return mistake(first, 1, 'there is no task in it', "write '## name: title' and the brief below it")
  }
  return { is: 'tasks', defaults: front.defaults, tasks, notices }
}

const bom = '\uFEFF'

/** Splits at `\n` and `\r\n`, and at a lone `\r`, which Markdown takes for a line ending too. */
function linesOf(text: string): Line[] {
  const lines: Line[] = []
  const skipped = text.startsWith(bom) ? 1 : 0
  for (const match of text.slice(skipped).matchAll(/([^\r\n]*)(\r\n|\n|\r|$)/g)) {
    if (match[0] === '') break
    lines.push({ number: lines.length + 1, start: skipped + match.index, text: match[1]! })
  }
  return lines
}

type Front = { is: 'front'; defaults: TaskFields; headings: boolean; used: number }

/** `key: value` lines between two `---` at the very top. */
function frontMatter(lines: Line[]): Front | Mistake {
  const front: Front = { is: 'front', defaults: {}, headings: false, used: 0 }
  if (lines[0]?.text.trimEnd() !== '---') return front
  const end = lines.findIndex((line, index) => index > 0 && /^(---|\.\.\.)\s*$/.test(line.text))
  if (end === -1)
    return mistake(1, 1, "the front matter that '---' opens is never closed", "close it with '---'")
  const seen = new Set<string>()
  for (const line of lines.slice(1, end)) {
    if (/^\s*(#.*)?$/.test(line.text)) continue
    const pair = /^([A-Za-z][\w-]*)\s*:(?:\s+(.*))?$/.exec(line.text)
    if (!pair) return mistake(line.number, 1, `'${line.text.trim()}' is not 'key: value'`)
    const [key, value] = [pair[1]!, (pair[2] ?? '').trim()]
    if (key === 'headings') {
      if (value !== 'tasks') return mistake(line.number, 1, `'headings' must be 'tasks', not '${value}'`)
      front.headings = true
      continue
    }
    const read = fieldOf(key, bareValue(key, value), line, seen)
    if ('is' in read) return read
    front.defaults = joinFields(front.defaults, read.fields)
  }
  front.used = end + 1
  return front
}

function fieldOf(
  key: string,
  value: string,
  line: Line,
  seen: Set<string>,
): { fields: TaskFields } | Mistake {
  if (!isFieldKey(key)) return unknownKey(key, line.number, 1, [...fieldKeys, 'headings'])
  if (seen.has(key) && !repeatable.has(key)) return mistake(line.number, 1, `'${key}' is given twice`)
  seen.add(key)
  const read = readField(key, value)
  if (read.is === 'read') return { fields: read.fields }
  return mistake(line.number, line.text.indexOf(':') + 2, read.reason)
}

/** An unknown key of front matter, YAML or JSON. */
export function unknownKey(key: string, line: number, column: number, known: string[]): Mistake {
  const near = nearest(key, known)
  return mistake(
    line,
    column,
    `unknown key '${key}'`,
    near ? `did you mean '${near}'?` : `known keys: ${known.join(' ')}`,
  )
}

/** YAML habits: quotes around a value. A shell line keeps its own. */
const bareValue = (key: string, value: string): string =>
  key === 'gates' || key === 'command' ? value : value.replace(/^(["'])(.*)\1$/, '$2')

const fenceStart = /^ {0,3}(`{3,}(?=[^`]*$)|~{3,})/
const headingForm = /^ {0,3}##(?:[ \t]+(.*))?$/

/** Cuts the lines at every level-2 heading outside fenced code. */
function blocksOf(lines: Line[], length: number): Block[] | Mistake {
  const blocks: Block[] = []
  let fence: { mark: string; line: Line; heading?: Line } | undefined
  for (const line of lines) {
    const heading = headingForm.exec(line.text)
    if (fence) {
      const close = /^ {0,3}(`{3,}|~{3,})[ \t]*$/.exec(line.text)?.[1]
      if (close && close[0] === fence.mark[0] && close.length >= fence.mark.length) fence = undefined
      else if (heading) fence.heading ??= line
    } else {
      const mark = fenceStart.exec(line.text)?.[1]
      if (mark) fence = { mark, line }
    }
    const last = blocks.at(-1)
    if (heading && !fence) {
      if (last) last.end = line.start
      const title = (heading[1] ?? '').replace(/(?:^|[ \t]+)#+[ \t]*$/, '')
      blocks.push({ heading: line, title, body: [], end: length })
    } else last?.body.push(line)
  }
  if (fence?.heading) {
    const where = `fenced code that '${fence.mark}' opens is never closed, and swallows line ${fence.heading.number}`
    return mistake(
      fence.line.number,
      fence.line.text.indexOf(fence.mark) + 1,
      where,
      `close it with '${fence.mark}'`,
    )
  }
  return blocks
}

/** One task of a heading and what is below it. */
function taskOf(block: Block, text: string, headings: boolean, notices: string[]): FileTask | Mistake {
  const { heading } = block
  const column = heading.text.indexOf('#') + 1
  const named = /^([^\s:]+):[ \t]+(.*\S.*)$/.exec(block.title)
  const name = named && namePattern.test(named[1]!) ? named[1]! : undefined
  if (!name && !headings) return notATask(heading, column, block.title)
  if (!name && block.title.trim() === '')
    return mistake(heading.number, column, 'the heading of a task is empty')
  const bad = name && badName(name, { line: heading.number, column })
  if (bad) return bad
  const fields = fieldsOf(block.body)
  if ('is' in fields) return fields
  if (fields.doubt) notices.push(fields.doubt)
  const first = block.body[fields.used]
  const brief = first ? text.slice(first.start, block.end) : ''
  const title = name ? named![2]! : block.title
  if (brief.trim() === '') {
    const empty = mistake(
      heading.number,
      column,
      `the brief of '${name ?? title}' is empty`,
      'write it below the heading',
    )
    return { ...empty, code: 'empty-brief' }
  }
  return { ...(name && { name }), title, brief, fields: fields.fields, line: heading.number }
}

function notATask(heading: Line, column: number, title: string): Mistake {
  const colon = title.indexOf(':')
  const [before, after] = colon < 0 ? [title, ''] : [title.slice(0, colon), title.slice(colon + 1)]
  const form = `## ${slugOf(before)}: ${after.trim() || title.trim() || 'title'}`
  const advice = `write '${form}' for a task, or '### ${title}' inside a brief`
  return mistake(heading.number, column, `the heading '## ${title}' is not a task`, advice)
}

type Fields = { fields: TaskFields; used: number; doubt?: string }

/** The `key: value` lines directly below a heading; `used` lines belong to them, one blank line included. */
function fieldsOf(body: Line[]): Fields | Mistake {
  let fields: TaskFields = {}
  const seen = new Set<string>()
  for (const [index, line] of body.entries()) {
    if (line.text.trim() === '') return { fields, used: index + 1 }
    const pair = /^([A-Za-z][\w-]*):(?:[ \t]+(.*))?$/.exec(line.text)
    if (!pair || !isFieldKey(pair[1]!)) {
      const near = pair && nearest(pair[1]!, fieldKeys)
      const doubt =
        near &&
        `line ${line.number}: '${pair[1]}' is no field, so the brief begins there; did you mean '${near}'?`
      return { fields, used: index, ...(doubt && { doubt }) }
    }
    const read = fieldOf(pair[1], (pair[2] ?? '').trim(), line, seen)
    if ('is' in read) return read
    fields = joinFields(fields, read.fields)
  }
  return { fields, used: body.length }
}

/** A name that no task can have: the mistake, or undefined. */
export function badName(name: string, at: { line: number; column: number }): Mistake | undefined {
  const problem = nameProblem(name)
  if (problem === undefined) return undefined
  const message = `'${name}' cannot be the name of a task: ${problem}`
  return { is: 'mistake', code: 'bad-name', ...at, message, advice: `name it '${slugOf(name)}'` }
}

/** Builds a mistake of a task file. */
export function mistake(line: number, column: number, message: string, advice?: string): Mistake {
  return { is: 'mistake', code: 'task-file', line, column, message, ...(advice && { advice }) }
}
