// The verbs of `berth` and their flags: what is offered, in the order of help. Each verb's code is loaded when it
// is used.

import { Command, type Help, Option } from 'commander'
import { version } from '../core/version.ts'
import { type Command as Verb, type Common, type Io } from './io.ts'
import * as read from './flags.ts'

type Load = () => Promise<Verb<never>>
type Given = { args: string[]; options: object & Common }

/** Runs a verb: given its name, how its code is loaded, and what the person typed. */
export type Invoke = (verb: string, load: () => Promise<Verb<object>>, given: Given) => Promise<void>

export type Program = { root: Command; exit: number }

/**
 * Builds the command line: all of it, or `only` one verb, which is all that most calls need. Without `invoke` it is
 * for reading: completion, docs.
 */
export function buildProgram(invoke?: Invoke, io?: Pick<Io, 'print'>, only?: string): Program {
  const root = new Command('berth')
  const output = {
    writeOut: (text: string) => io?.print.out(text.trimEnd()),
    writeErr: () => {},
    getOutHasColors: () => false,
    getErrHasColors: () => false,
    ...(io?.print.width !== undefined && { getOutHelpWidth: () => Math.min(110, io.print.width!) }),
  }
  root
    .description(
      'Runs a fleet of coding agents on one git repository, lands their work and leaves nothing behind.',
    )
    .usage('VERB [ARGUMENTS] [--json] [--repo DIR]')
    .version(version, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print help')
    .helpCommand('help [verb]', 'print help, of all or of a verb')
    .enablePositionalOptions()
    .exitOverride()
    .configureOutput(output)
    .action(() => {})
    .allowExcessArguments(false)
  // `berth help` is offered, and not listed: `--help` is.
  // Of a word that is no verb there is no help: commander would print that of all.
  root.addHelpText('before', () => {
    const [word = 'help'] = root.args
    if (word !== 'help' && !word.startsWith('-')) root.error('', { code: 'commander.unknownCommand' })
    return ''
  })
  root.configureHelp({ subcommandTerm, visibleCommands: command => [...command.commands] })
  common(root)
  const add: Add = (name, summary, load, shape) => {
    if (only !== undefined && name.split(' ')[0] !== only) return
    const command = root.command(name.split(' ')[0]!)
    const rest = name.split(' ').slice(1).join(' ')
    if (rest) command.arguments(rest)
    command.description(summary).exitOverride().configureOutput(output).helpOption('-h, --help', 'print help')
    shape?.(command)
    common(command)
    command.action(async () => {
      const given = { args: command.args, options: { ...root.opts<Common>(), ...command.opts<Common>() } }
      await invoke?.(command.name(), load as () => Promise<Verb<object>>, given)
    })
  }
  const groups: [string, (add: Add) => void][] = [
    ['Work:', working],
    ['Look:', reading],
    ['Control:', changing],
    ['Keep in order:', keeping],
    ['Inside a run:', insideRuns],
  ]
  for (const [title, verbs] of groups) {
    root.commandsGroup(title)
    verbs(add)
  }
  // No such verb: the error names the nearest of all.
  return only !== undefined && root.commands.length === 0 ? buildProgram(invoke, io) : { root, exit: 0 }
}

/** A verb in the list of verbs: its name and arguments, without the word that every verb would have. */
const subcommandTerm: Help['subcommandTerm'] = command =>
  [command.name(), ...command.registeredArguments.map(argument => shownArgument(argument))].join(' ')

function shownArgument(argument: Command['registeredArguments'][number]): string {
  const word = argument.name().toUpperCase() + (argument.variadic ? '...' : '')
  return argument.required ? word : `[${word}]`
}

type Add = (name: string, summary: string, load: Load, shape?: (command: Command) => unknown) => void

const common = (command: Command) =>
  command
    .option('--json', 'one JSON document on stdout, or JSON Lines')
    .option('--repo <dir>', 'the repository, if not here')

function working(add: Add): void {
  add('init', 'write a commented berth.toml', async () => (await import('./commands/init.ts')).init)
  add(
    'run [brief...]',
    'work on tasks until each rests: landed, ready, failed or needing you',
    async () => (await import('./commands/run.ts')).run,
    runFlags,
  )
  add(
    'answer <item> [answer...]',
    'answer an item: its id, or a task that has one; then a choice or text',
    async () => (await import('./commands/answer.ts')).answer,
    command => command.option('--decline', 'give no answer; the agent is told so'),
  )
}

function runFlags(command: Command): void {
  command
    .option('-f, --file <file>', 'a task file: Markdown, YAML or JSON; - is stdin')
    .option('--name <name>', 'the name of the task (one brief only)')
    .option('--engine <name>', 'claude, codex, gemini, opencode, command, or a name of berth.toml')
    .option('--model <model>', 'the model, as the engine calls it')
    .option('--kind <kind>', 'one word for what kind of work it is')
    .option('--label <label>', 'a label; repeatable', read.words('--label'))
    .option('--priority <n>', 'a whole number; higher goes first', read.field('--priority', 'priority'))
    .option('--after <task>', 'wait until this task has landed; repeatable', read.words('--after'))
    .option(
      '--gate <command>',
      'a shell line that must pass, instead of the gates of berth.toml; repeatable',
      read.lines,
    )
    .option(
      '--touches <path>',
      'a path or glob it will change; repeatable',
      read.words('--touches', 'touches'),
    )
    .option(
      '--land <when>',
      'auto, ask, or never: only `berth land NAME` lands it',
      read.field('--land', 'land'),
    )
    .option('--jobs <n>', 'runs that may work at the same time', read.count('--jobs'))
    .option('--base <ref>', 'start from this revision instead of the target')
    .option('--timeout <duration>', 'of one run, like 90s, 30m or 2h', read.field('--timeout', 'timeout'))
    .option('--budget <amount>', 'like 2.50usd or 200ktok', read.field('--budget', 'budget'))
    .option('--command <command>', 'a shell line to run as the agent, the brief on its stdin')
    .option('--dry-run', 'list the tasks and start nothing')
    .option('--detach', 'hand the tasks to the daemon and return')
    .option(
      '--no-detach',
      'at the end stop runs that wait for an answer, instead of leaving them to the background',
    )
    .option('--trust', 'run what this repository makes Berth run, without asking')
    .addHelpText(
      'after',
      `\n${[
        'Without a task it goes on with what is open in this repository. `-` reads a task file from stdin.',
        "A task's own field in a file goes before a flag, a flag before the file's defaults.",
      ].join('\n')}`,
    )
}

function reading(add: Add): void {
  add(
    'ls',
    'tasks, with status and the reason for it',
    async () => (await import('./commands/ls.ts')).ls,
    command => command.option('-a, --all', 'landed and dropped tasks too'),
  )
  add(
    'inbox',
    'what needs a person, most important first',
    async () => (await import('./commands/inbox.ts')).inbox,
  )
  add('show <task>', 'everything about one task', async () => (await import('./commands/show.ts')).show)
  add(
    'log',
    'the timeline: who did what, in what order',
    async () => (await import('./commands/log.ts')).log,
    command =>
      command
        .option('--task <task>', 'of one task')
        .option('--run <run>', 'of one run: its id, or a name like login#1')
        .option('--file <path>', 'what touched this path or glob')
        .option(
          '--kind <kind>',
          'facts of this kind, like run.exited or run.*; repeatable',
          read.words('--kind'),
        )
        .option('--since <time>', 'from this time, or this long ago, like 2h')
        .option('--until <time>', 'up to this time')
        .option('--limit <n>', 'the last so many', read.count('--limit'))
        .option('-f, --follow', 'go on with what is recorded from now')
        .option('--format <format>', 'text, md or jsonl'),
  )
  add(
    'transcript <task>',
    'what an agent said and did',
    async () => (await import('./commands/transcript.ts')).transcript,
    command =>
      command
        .option('--run <n>', 'of this attempt instead of the last', read.count('--run'))
        .option('--format <format>', 'text, md or json'),
  )
  add(
    'diff <task>',
    'what a task changed since it branched off',
    async () => (await import('./commands/diff.ts')).diff,
    command => command.option('--stat', 'counts by file').option('--name-only', 'paths alone'),
  )
}

function changing(add: Add): void {
  add(
    'stop <task...>',
    'end runs with their whole trees; workspaces stay',
    async () => (await import('./commands/stop.ts')).stop,
  )
  add(
    'retry <task...>',
    'try again from where a task is',
    async () => (await import('./commands/retry.ts')).retry,
  )
  add('pause', 'start nothing new', async () => (await import('./commands/pause.ts')).pause)
  add(
    'resume [task...]',
    'go on after a pause, an interruption or a restart',
    async () => (await import('./commands/resume.ts')).resume,
  )
  add(
    'land [task...]',
    'land what is ready',
    async () => (await import('./commands/land.ts')).land,
    command => command.option('--dry-run', 'say what would land, and land nothing'),
  )
  add(
    'rm [task...]',
    'remove tasks with their workspaces; refuses what would lose work',
    async () => (await import('./commands/rm.ts')).rm,
    command =>
      command
        .option('--save', 'keep what would be lost under refs/berth/saved first')
        .option('--discard', 'lose it')
        .option('--stop', 'end a live run first')
        .option('--branch', 'delete the branch too, if its content is integrated or nothing is lost by it')
        .option('--unlock', 'go on over a lock that somebody else set')
        .option('--all', 'all tasks of the repository')
        .option('--landed', 'with --all: the landed ones only')
        .option('--wait', 'return when the files are deleted too'),
  )
  add(
    'saved [action] [id...]',
    'saved work; `show ID` says what is in one, `rm ID` removes one, `prune` old ones',
    async () => (await import('./commands/saved.ts')).saved,
    command =>
      command
        .option(
          '--older-than <duration>',
          'what `prune` takes for old; 30d if left out',
          read.duration('--older-than'),
        )
        .option('--yes', 'with `prune`: remove, not list; with `rm`: files too that no commit holds'),
  )
  add(
    'restore <id>',
    'bring saved work back',
    async () => (await import('./commands/restore.ts')).restore,
    command =>
      command
        .option('--to <branch>', 'as this new branch')
        .option('--task <task>', "into this task's workspace"),
  )
}

function keeping(add: Add): void {
  add(
    'reconcile',
    'compare records with git, disk and processes',
    async () => (await import('./commands/reconcile.ts')).reconcile,
    command => command.option('--fix', 'set right what is provably ours'),
  )
  add(
    'doctor',
    'git, engines, platform, limits of this machine',
    async () => (await import('./commands/doctor.ts')).doctor,
  )
  add(
    'daemon <action>',
    'start, stop, status or install',
    async () => (await import('./commands/daemon.ts')).daemon,
    command =>
      command
        .option('--stop-runs', 'with stop: end the live runs too')
        .addOption(new Option('--keep', 'with run: stay when there is nothing to do').hideHelp()),
  )
  add(
    'config',
    'effective values, and where each came from',
    async () => (await import('./commands/config.ts')).config,
  )
  add(
    'purge',
    'list all that Berth made for this repository; with --yes remove it',
    async () => (await import('./commands/purge.ts')).purge,
    command => command.option('--yes', 'remove it'),
  )
  add(
    'demo',
    'a small fleet of scripted agents on a throw-away repository; needs no account and no network',
    async () => (await import('./commands/demo.ts')).demo,
    command =>
      command
        .option('--keep', 'leave the throw-away folder')
        .option('--dir <folder>', 'an empty folder to work in, instead of a temporary one'),
  )
  add(
    'completion <shell>',
    'a script for bash, zsh or fish',
    async () => (await import('./commands/completion.ts')).completion,
  )
}

function insideRuns(add: Add): void {
  add(
    'ask <question>',
    'inside a run: ask a person, wait, print the answer',
    async () => (await import('./commands/ask.ts')).ask,
    command =>
      command
        .option('--choice <choice>', 'a possible answer; repeatable', read.lines)
        .option('--timeout <duration>', 'wait at most this long', read.duration('--timeout')),
  )
  add(
    'report <activity> [note...]',
    'inside a run: working, blocked, done, limited or signed-out',
    async () => (await import('./commands/report.ts')).report,
    command => command.option('--until <time>', 'with limited: when the limit resets'),
  )
}
