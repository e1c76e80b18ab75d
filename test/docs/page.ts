// docs/cli.md as text, made from the verbs, the tables and the schemas of the code.

import { type Command } from 'commander'
import { z } from 'zod'
import { buildProgram } from '../../src/cli/program.ts'
import { reasonCodes } from '../../src/core/api.ts'
import { exitCodes } from '../../src/core/errors.ts'
import { forms } from '../../src/core/fields.ts'
import { shapes } from '../../src/core/schema.ts'
import { settingsSchema } from '../../src/core/settings.ts'

const row = (cells: string[]): string => `| ${cells.map(cell => cell.replaceAll('|', '\\|')).join(' | ')} |`
const table = (head: string[], rows: string[][]): string =>
  [row(head), row(head.map(() => '---')), ...rows.map(row)].join('\n')
const code = (text: string): string => `\`${text}\``

/** The whole page. */
export function cliPage(): string {
  const { root } = buildProgram()
  return `${[
    '# The command line',
    'Made from the code by `npm run docs`; a test holds it equal.',
    introduction,
    `## Verbs\n\n${verbIndex(root)}`,
    ...root.commands.map(verb),
    exits(),
    reasons(),
    statuses,
    taskFiles(),
    settings(),
    environment,
    json(),
  ].join('\n\n')}\n`
}

const introduction = `\`berth VERB [ARGUMENTS] [--json] [--repo DIR]\`. \`--repo\` names the repository; otherwise it is the one that the current folder lies in.

Results go to stdout, progress and errors to stderr. Colour is used only on a terminal, and not with \`NO_COLOR\`. An error is \`berth: what, with the subject in 'quotes'\`, then \`hint: the command to type\`; with \`--json\` it is \`{"berth":1,"error":{"code","message","hint"}}\` on stdout. Only with \`BERTH_DEBUG\` set does a stack trace follow.

With \`--json\` every verb prints one JSON document. \`log\`, \`transcript\` and \`run\` print JSON Lines; the last line of \`run\` and \`land\` is \`{"kind":"summary","tasks":[…],"exit":n}\`.

Durations are written \`90s\`, \`30m\`, \`2h\`, \`7d\`; budgets \`2.50usd\` or \`200ktok\`; sizes \`200MB\`; times as ISO 8601, or as a duration ago.`

const usage = (command: Command): string => {
  const operands = command.registeredArguments.map(argument => {
    const word = argument.name().toUpperCase() + (argument.variadic ? '...' : '')
    return argument.required ? word : `[${word}]`
  })
  return ['berth', command.name(), ...operands].join(' ')
}

function verbIndex(root: Command): string {
  return table(
    ['verb', 'does'],
    root.commands.map(command => [`[${code(usage(command))}](#berth-${command.name()})`, command.description()]),
  )
}

const sentence = (text: string): string => `${text[0]!.toUpperCase()}${text.slice(1)}.`

const everywhere = new Set(['--json', '--repo', '--help'])

function verb(command: Command): string {
  const options = command.options.filter(option => !option.hidden && !everywhere.has(option.long ?? ''))
  const flags = table(['flag', 'does'], options.map(option => [code(option.flags), option.description]))
  const head = `### berth ${command.name()}\n\n${sentence(command.description())}\n\n\`${usage(command)}\``
  return options.length === 0 ? head : `${head}\n\n${flags}`
}

const exitWords: { [code: number]: string } = {
  1: 'at least one task failed, or a step could not be done',
  2: 'wrong usage, configuration or name',
  3: 'something needs a person',
  4: 'the daemon cannot be reached',
  5: 'already so, or busy',
  130: 'interrupted',
}

function exits(): string {
  const byCode = new Map<number, string[]>()
  for (const [name, exit] of Object.entries(exitCodes)) byCode.set(exit, [...(byCode.get(exit) ?? []), code(name)])
  const rows = [...byCode].toSorted(([a], [b]) => a - b).map(([exit, names]) => [String(exit), exitWords[exit] ?? '', names.join(' ')])
  return `## Exit codes and error codes

0 is: all well. \`run\` and \`land\` judge the tasks of the call; the first that applies of 130, 4, 2, 1, 5, 3, 0. A task that is ready and waits for \`berth land\`, or waits behind one, is well. \`ask\` exits with 0 and the answer, 3 if a person declined, 1 after its timeout, 130 if the run was stopped, 4 without a daemon. \`reconcile\` and \`purge --yes\` exit with 3 if something is left for a person. Several tasks: the worst of them, each reported.

${table(['exit', 'means', 'error codes'], [['0', 'all well', ''], ...rows])}`
}

function reasons(): string {
  const rows = Object.entries(reasonCodes).map(([name, words]) => [code(name), words])
  return `## Reason codes\n\n\`reasonCode\` says why a task has its status.\n\n${table(['code', 'means'], rows)}`
}

const statuses = `## Status

${table(
  ['status', 'means'],
  [
    ['queued', 'not started; with `waitsFor: person` it cannot start yet'],
    ['preparing', 'its workspace is being made'],
    ['running', 'its agent is at work'],
    ['waiting', 'its agent is alive and waits for an answer'],
    ['retrying', 'no agent is alive; the next attempt is planned or held'],
    ['verifying', 'its agent has ended; its work is looked at and its gates run'],
    ['ready', 'its gates passed on exactly this commit, or are red without its work, too'],
    ['landing', 'it is merged with the target, tested and landed'],
    ['landed', 'it is in the target'],
    ['failed', 'its attempts are used up, or it did nothing'],
    ['stopped', 'a person stopped it'],
    ['dropped', 'a person removed it before it landed'],
  ].map(([status, words]) => [code(status!), words!]),
)}

Kinds of attention items: \`decide approve blocked signed-out quiet failed conflict budget trespass leftover gate setup target config disk damaged\`.`

function taskFiles(): string {
  return `## Task files

\`berth run -f FILE\`, or \`berth run -\` for stdin. Markdown:

\`\`\`\`markdown
---
engine: claude
labels: night
---
# Anything before the first task is a preface

## login: Fix the login form
after: schema
gates: npm test

The brief: everything from here to the next task, byte for byte.

### A heading inside the brief

## schema: Add the column
Do that.
\`\`\`\`

A level-2 heading outside fenced code is a task if it has the form \`## name: title\` with a name of \`[a-z0-9][a-z0-9._-]*\`, or any text if the front matter says \`headings: tasks\`. Any other level-2 heading is an error. The fields end at the first line that is not \`key: value\` with a known key, or at a blank line, which belongs to neither. The front matter holds defaults for all tasks. A task's own field goes before a flag of \`berth run\`, a flag before the defaults.

YAML (\`.yaml\`, \`.yml\`) and JSON (\`.json\`) have the same shape: defaults, and a list \`tasks\` of \`{name, title, brief, …fields}\`; \`brief\` is required, \`title\` is its first line if left out.

${table(['field', 'is'], Object.entries(forms).map(([key, form]) => [code(key), form]))}`
}

type Schema = { properties?: { [key: string]: Schema }; additionalProperties?: Schema | boolean; items?: Schema; anyOf?: Schema[]; description?: string; type?: string; enum?: string[]; pattern?: string }

function settings(): string {
  const rows = rowsOf(settingsSchema() as Schema, '')
  return `## berth.toml

In the repository. That of the target branch counts (that of your checkout while the target has none), never that of a task's branch. Over it go your own \`~/.config/berth/config.toml\` (the same keys, and \`trust\`: a list of folders whose repositories may run their commands unasked), then \`BERTH_*\`, then flags. \`berth config\` shows what counts and where it came from. An unknown key is an error with its line. For editors: [berth.toml.schema.json](schemas/berth.toml.schema.json).

Setup commands, gates, copies, engines' commands and what a repository hands to agents need your consent, once per content: on a terminal \`berth run\` asks; elsewhere \`--trust\`, \`BERTH_TRUST=1\` or \`trust\` gives it.

${table(['key', 'form', 'is'], rows)}`
}

function rowsOf(schema: Schema, before: string): string[][] {
  return Object.entries(schema.properties ?? {}).flatMap(([key, one]) => {
    const name = `${before}${key}`
    const list = one.items?.anyOf?.find(each => each.properties) ?? (one.items?.properties ? one.items : undefined)
    const inside = one.properties ? one : typeof one.additionalProperties === 'object' ? one.additionalProperties : undefined
    const own = [code(name), formOf(one), one.description ?? '']
    if (list) return [own, ...rowsOf(list, `${name}[].`)]
    if (one.properties) return rowsOf(one, `${name}.`)
    if (inside?.properties) return [[code(name), 'table', one.description ?? ''], ...rowsOf(inside, `${name}.NAME.`)]
    return [own]
  })
}

function formOf(schema: Schema): string {
  if (schema.enum) return schema.enum.map(word => code(`"${word}"`)).join(' ')
  if (schema.pattern?.includes('ms|s|m')) return 'duration'
  if (schema.pattern?.includes('[bB]')) return 'size'
  if (schema.type === 'array') return schema.items?.anyOf ? 'list of lines or tables' : schema.items?.properties ? 'list of tables' : 'list of texts'
  if (schema.type === 'object') return 'table'
  return { string: 'text', boolean: '`true` or `false`', integer: 'number' }[schema.type ?? ''] ?? schema.type ?? ''
}

const environment = `## Environment

${table(
  ['variable', 'does'],
  [
    ['BERTH_STATE_DIR', 'where Berth keeps what it knows; otherwise the data folder of the account'],
    ['BERTH_ENGINE BERTH_LAND BERTH_LANDING BERTH_WORKTREES', 'over `engine`, `land`, `landing`, `worktrees` of berth.toml'],
    ['BERTH_JOBS', 'over `limits.jobs`'],
    ['BERTH_TRUST', '`1`: as `--trust`'],
    ['BERTH_DEBUG', 'stack traces'],
    ['NO_COLOR', 'no colour'],
    ['BERTH_RUN BERTH_TOKEN BERTH_TASK BERTH_ATTEMPT BERTH_PROMPT_FILE BERTH_REPO BERTH_BASE BERTH_TARGET BERTH_PORT_0…9', 'set by Berth for a program inside a run'],
  ].map(([names, words]) => [names!.split(' ').map(code).join(' '), words!]),
)}`

function json(): string {
  const rows = Object.keys(shapes).map(name => {
    const { description = '' } = z.globalRegistry.get(shapes[name as keyof typeof shapes]) ?? {}
    return [`[${name}](schemas/${name}.schema.json)`, description]
  })
  return `## JSON\n\nEvery document has \`"berth": 1\`, the version of its shape.\n\n${table(['schema', 'of'], rows)}`
}
