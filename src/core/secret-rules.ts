// What is looked for: the forms of known secrets, the shapes of tokens, and what stands before a secret.

import { formsOf } from './secret-forms.ts'
import { type Search, makeSearch } from './secret-search.ts'
import { type ByteClass, type Shape, afterKey, shapes } from './secret-shapes.ts'
import {
  type Verdict,
  judgeAddress,
  judgeBearer,
  judgeFlag,
  judgePem,
  judgeValue,
  keyFlags,
  keyNames,
} from './secret-values.ts'
import { utf8 } from './utf8.ts'

export type Rule = {
  /** What the search looks for. */
  literal: Uint8Array
  /** The literal itself is part of the secret, and held back until it is judged. */
  hold: boolean
  /** Of two that begin at the same byte, the first wins. */
  order: number
} & (
  | {
      is: 'known'
      form: Uint8Array
      /** Digits only: a number with more digits is another one. */ alone: boolean
    }
  | { is: 'token'; shape: Shape }
  | {
      is: 'before'
      judge(text: string, whole: boolean): Verdict
      /** Bytes that may come right after it; undefined for any. */
      next?: ByteClass
    }
)

export type Compiled = { search: Search; rules: readonly Rule[] }

/** A form is found by its beginning, and compared whole only there. */
const literalBytes = 8
/** Of one form; longer secrets are also looked for line by line. */
const formBytes = 16_384

export function compileRules(values: readonly string[]): Compiled {
  const known = [...new Set(values)].flatMap(value => formsOf(value))
  const rules: Rule[] = [...known.map(knownRule), ...otherRules].map((rule, order) => ({ ...rule, order }))
  return { rules, search: makeSearch(rules.map(({ literal, hold }) => ({ bytes: literal, hold }))) }
}

function knownRule(form: Uint8Array): Rule {
  const bytes = form.slice(0, formBytes)
  const alone = bytes.every(byte => byte >= 48 && byte <= 57)
  return { is: 'known', form: bytes, literal: bytes.slice(0, literalBytes), hold: true, order: 0, alone }
}

const before = (lead: string, judge: (text: string, whole: boolean) => Verdict, hold = false): Rule => ({
  is: 'before',
  judge,
  literal: utf8(lead),
  hold,
  order: 0,
})

const otherRules: readonly Rule[] = [
  ...shapes.map((shape): Rule => ({ is: 'token', shape, literal: utf8(shape.lead), hold: true, order: 0 })),
  ...keyNames.map(name => ({
    ...before(name, (text, whole) => judgeValue(text, name, whole)),
    next: afterKey,
  })),
  ...keyFlags.map(flag => before(flag, judgeFlag)),
  before('://', judgeAddress),
  before('Bearer ', judgeBearer),
  before('bearer ', judgeBearer),
  before('-----BEGIN ', judgePem, true),
]
