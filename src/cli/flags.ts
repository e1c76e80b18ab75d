// How the values of flags are read; a wrong one is an error of usage that names the flag.

import { type FieldKey, forms, readField } from '../core/fields.ts'
import { parseDuration } from '../core/quantity.ts'
import { flagValue } from './usage.ts'

/** Gathers a repeatable flag; commas separate too. One that is also a field of task files must read as that. */
export const words =
  (flag: string, key?: FieldKey) =>
  (text: string, before: string[] | undefined): string[] => {
    const more = text
      .split(',')
      .map(word => word.trim())
      .filter(Boolean)
    const isGood = more.length > 0 && (key === undefined || readField(key, more).is === 'read')
    const form = key === undefined ? 'a word' : forms[key]
    return [...(before ?? []), ...flagValue(flag, text, () => (isGood ? more : undefined), form)]
  }

/** Gathers a repeatable flag whose values are taken whole. */
export const lines = (text: string, before: string[] | undefined): string[] => [...(before ?? []), text]

/** A flag that is also a field of task files: the text is checked here and read again with the others. */
export const field =
  (flag: string, key: FieldKey) =>
  (text: string): string =>
    flagValue(flag, text, given => (readField(key, given).is === 'read' ? given : undefined), forms[key])

export const count =
  (flag: string) =>
  (text: string): number =>
    flagValue(
      flag,
      text,
      given => (/^[1-9]\d{0,5}$/.test(given) ? Number(given) : undefined),
      'a whole number of at least 1',
    )

export const duration =
  (flag: string) =>
  (text: string): number =>
    flagValue(flag, text, given => parseDuration(given) || undefined, "a duration like '90s', '30m' or '2h'")
