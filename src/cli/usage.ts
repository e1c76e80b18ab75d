// Wrong usage in our own words: the nearest verb or flag, and the command to type.

import { type Command, type CommanderError } from 'commander'
import { BerthError } from '../core/errors.ts'
import { nearest } from '../core/nearest.ts'
import { callOf, callPutRight } from '../core/shellword.ts'

/** What commander found wrong, as an error of ours. */
export function usageError(error: CommanderError, root: Command, args: readonly string[]): BerthError {
  const verb = verbOf(root)
  const name = verb ? `berth ${verb.name()}` : 'berth'
  const quoted = (before: string) =>
    new RegExp(`${before} '([\\s\\S]*)'(?:\\n|\\.|$| )`).exec(error.message)?.[1] ?? ''
  switch (error.code) {
    case 'commander.unknownCommand':
      return unknownVerb(root.args[0] ?? '', { root, args })
    case 'commander.unknownOption':
      if (!verb && args[0]?.startsWith('-') === false) return unknownVerb(args[0], { root, args })
      return unknownFlag(quoted('unknown option'), { command: verb ?? root, name, args })
    // `berth help VERB`, and there is none.
    case 'commander.help':
      return unknownVerb(root.args[1] ?? '', { root, args })
    case 'commander.missingArgument':
      return new BerthError(
        'usage',
        `'${name}' needs ${quoted('missing required argument').toUpperCase()}`,
        `${name} --help`,
      )
    case 'commander.optionMissingArgument': {
      const flag = quoted('option')
      return new BerthError(
        'usage',
        `'${/--[\w-]+/.exec(flag)?.[0] ?? flag}' needs a value, as in '${flag.replace(/^-\w, /, '')}'`,
        `${name} --help`,
      )
    }
    case 'commander.excessArguments': {
      if (!verb) return unknownVerb(root.args[0] ?? '', { root, args })
      const extra = verb.args.at(-1) ?? ''
      return new BerthError('usage', `'${extra}' is one argument too many for '${name}'`, `${name} --help`)
    }
    default:
      return new BerthError('usage', error.message.replace(/^error: /, '').split('\n')[0]!, `${name} --help`)
  }
}

/** The verb that was typed, behind the flags of all verbs. */
export const verbOf = (root: Command): Command | undefined =>
  root.commands.find(command => command.name() === root.args[0])

type Call = { args: readonly string[] }

/** The whole call, with this text behind the `--` that ends the flags. */
function textLast(args: readonly string[], text: string): string {
  const [before, after] = [args.slice(0, args.indexOf(text)), args.slice(args.indexOf(text) + 1)]
  return callOf([...before, ...after.filter(word => word !== '--'), '--', text])
}

/** Verbs of other programs, and what does the same here. */
const otherNames: { [verb: string]: string } = {
  status: 'ls',
  list: 'ls',
  ps: 'ls',
  logs: 'log',
  remove: 'rm',
  delete: 'rm',
  merge: 'land',
  cancel: 'stop',
  kill: 'stop',
}

function unknownVerb(verb: string, { root, args }: Call & { root: Command }): BerthError {
  const known = root.commands.map(command => command.name())
  const near = (Object.hasOwn(otherNames, verb) ? otherNames[verb] : undefined) ?? nearest(verb, known)
  const hint = near === undefined ? 'berth --help' : callPutRight(args, verb, near)
  return new BerthError('unknown-verb', `unknown verb '${verb}'`, hint)
}

function unknownFlag(
  flag: string,
  { command, name, args }: Call & { command: Command; name: string },
): BerthError {
  const word = flag.split('=')[0]!
  const flags = command.options.flatMap(option => option.long ?? [])
  const near = word.startsWith('--')
    ? nearest(
        word.slice(2),
        [...flags, '--help'].map(known => known.slice(2)),
      )
    : undefined
  const asText = /\s/.test(flag) || !/^--?[a-z]/i.test(flag)
  // Of `--flag=value` commander names the whole.
  const hint = near
    ? callPutRight(args, flag, `--${near}${flag.slice(word.length)}`)
    : asText
      ? textLast(args, flag)
      : `${name} --help`
  return new BerthError(
    'unknown-flag',
    `unknown flag '${asText ? flag.split('\n')[0] : word}' of '${name}'`,
    hint,
  )
}

/** Reads a value of a flag, or throws `usage` in the same words everywhere. */
export function flagValue<T>(
  flag: string,
  text: string,
  read: (text: string) => T | undefined,
  form: string,
): T {
  const value = read(text)
  if (value === undefined) throw new BerthError('usage', `'${flag}' must be ${form}, not '${text}'`)
  return value
}

/** Refuses what stands for a text in help and hints, given as that text: it would be taken at its word. */
export function refuseStandIn(text: string, meant: string, hint: string): void {
  if (/^(…|\.\.\.|BRIEF|ANSWER|TEXT)$/.test(text.trim()))
    throw new BerthError('usage', `'${text}' only stands for ${meant}`, hint)
}

/** One of a few words, or throws `usage` with the nearest; `before` is the command up to that word. */
export function wordOf<T extends string>(
  subject: string,
  text: string,
  words: readonly T[],
  before: string,
): T {
  const word = words.find(known => known === text)
  if (word !== undefined) return word
  const hint = `${before} ${nearest(text, words) ?? words[0]!}`
  throw new BerthError('usage', `${subject} must be one of '${words.join("', '")}', not '${text}'`, hint)
}
