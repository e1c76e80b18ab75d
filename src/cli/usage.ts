// Wrong usage in our own words: the nearest verb or flag, and the command to type.

import { type Command, type CommanderError } from 'commander'
import { BerthError } from '../core/errors.ts'
import { nearest } from '../core/nearest.ts'

/** What commander found wrong, as an error of ours. */
export function usageError(error: CommanderError, root: Command): BerthError {
  const verb = verbOf(root)
  const name = verb ? `berth ${verb.name()}` : 'berth'
  const quoted = (before: string) =>
    new RegExp(`${before} '([\\s\\S]*)'(?:\\n|\\.|$| )`).exec(error.message)?.[1] ?? ''
  switch (error.code) {
    case 'commander.unknownCommand':
      return unknownVerb(root.args[0] ?? '', root)
    case 'commander.unknownOption':
      return unknownFlag(quoted('unknown option'), verb ?? root, name)
    // `berth help VERB`, and there is none.
    case 'commander.help':
      return unknownVerb(root.args[1] ?? '', root)
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
        `'${flag.split(' ')[0]}' needs a value, as in '${flag}'`,
        `${name} --help`,
      )
    }
    case 'commander.excessArguments': {
      if (!verb) return unknownVerb(root.args[0] ?? '', root)
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

function unknownVerb(verb: string, root: Command): BerthError {
  const near = nearest(
    verb,
    root.commands.map(command => command.name()),
  )
  return new BerthError('unknown-verb', `unknown verb '${verb}'`, near ? `berth ${near}` : 'berth --help')
}

function unknownFlag(flag: string, command: Command, name: string): BerthError {
  const word = flag.split('=')[0]!
  const flags = command.options.flatMap(option => option.long ?? [])
  const near = word.startsWith('--')
    ? nearest(
        word.slice(2),
        [...flags, '--help'].map(known => known.slice(2)),
      )
    : undefined
  const asText = /\s/.test(flag) || !/^--?[a-z]/i.test(flag)
  const hint = near ? `${name} --${near}` : asText ? `${name} -- '...'` : `${name} --help`
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
