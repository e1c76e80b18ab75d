// The timeline's forms: one line a fact for a person, Markdown that no agent's text can break out of, JSON Lines.

import { type Event } from './event.ts'
import { type Fleet } from './fleet.ts'
import { linesOf, sentenceOf } from './sentence.ts'

/** What the facts themselves do not repeat, looked up by run and task. */
export type Names = { [K in 'run' | 'engine' | 'worktree' | 'task']: string | null } & { name: string }

/** Of any fact, also of earlier lives of its task: `login#1`, or `login`, or nothing. */
export function namesOf(fleet: Fleet, event: Event): Names {
  const run = 'run' in event && event.run !== undefined ? event.run : null
  const known = run === null ? undefined : fleet.runs.get(run)
  const task = 'task' in event && event.task !== undefined ? event.task : null
  if (known !== undefined) {
    return {
      run,
      task: known.task,
      engine: known.engine,
      worktree: known.worktree,
      name: `${known.task}#${known.attempt}`,
    }
  }
  const workspace =
    'project' in event && task !== null ? fleet.tasks.get(`${event.project}/${task}`)?.workspace : undefined
  const engine = 'engine' in event && typeof event.engine === 'string' ? event.engine : null
  return { run, task, engine, worktree: workspace?.path ?? null, name: task ?? '' }
}

/** `seq  time  name  sentence`, one line, without control characters. Time is ISO 8601 UTC. */
export function textLine(event: Event, names: Names): string {
  const name = names.name === '' ? '-' : names.name
  return `${String(event.seq).padStart(6)}  ${timeOf(event)}  ${name.padEnd(16)}  ${oneLine(sentenceOf(event))}`
}

/** A list entry, with the output that belongs to it as an indented fenced block. */
export function markdownEntry(event: Event, names: Names): string {
  const who = names.name === '' ? '' : ` **${escapeMarkdown(names.name)}**`
  const head = `- \`${timeOf(event)}\` #${event.seq}${who} ${escapeMarkdown(oneLine(sentenceOf(event)))}`
  const lines = linesOf(event)
  return lines.length === 0 ? head : `${head}\n\n${indent(fenced(lines.map(plain)))}\n`
}

/** One fact a line (product.md, `log --format jsonl`). Unresolved fields are null. */
export function jsonLine(event: Event, names: Names): string {
  const { seq, at, host, ...rest } = event
  const project = 'project' in event ? event.project : null
  const { task, run, engine, worktree } = names
  return JSON.stringify({
    seq,
    at: new Date(at).toISOString(),
    host,
    project,
    task,
    run,
    engine,
    worktree,
    ...rest,
  })
}

const timeOf = ({ at }: Event): string => new Date(at).toISOString()

/** Text on one line: line ends become `⏎`, escape sequences and other control characters go. */
export const oneLine = (text: string): string =>
  plain(text.replaceAll(/\s*(?:\r\n|\n|\r|\u2028|\u2029)\s*/g, ' ⏎ ')).trim()

// CSI and OSC sequences whole, then every other control character, and the marks that reorder text.
// oxlint-disable-next-line no-control-regex
const escapes = /\u001b\[[0-?]*[ -/]*[@-~]|\u001b\][^\u0007\u001b]*(?:\u0007|\u001b\\)?|\u001b[@-_]/g
// oxlint-disable-next-line no-control-regex
const controls = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g

const plain = (text: string): string =>
  text.replaceAll(escapes, '').replaceAll('\t', '  ').replaceAll(controls, '')

/** Every character that Markdown or HTML gives a meaning, made plain. */
export const escapeMarkdown = (text: string): string =>
  text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll(/[\\`*_{}[\]()#+\-.!|~:@$^=]/g, mark => `\\${mark}`)

/** A block whose fence is longer than any run of backticks in it. */
export function fenced(lines: readonly string[]): string {
  const text = lines.join('\n')
  const longest = Math.max(0, ...[...text.matchAll(/`+/g)].map(([ticks]) => ticks.length))
  const fence = '`'.repeat(Math.max(3, longest + 1))
  return `${fence}text\n${text}\n${fence}`
}

const indent = (text: string): string =>
  text
    .split('\n')
    .map(line => `  ${line}`)
    .join('\n')
