// Consent to what a repository makes Berth run (docs/decisions/0016): asked once per content, on a terminal.

import { BerthError } from '../core/errors.ts'
import { callWith } from '../core/shellword.ts'
import { visible } from './columns.ts'
import { type Io } from './io.ts'

/** What the daemon tells with `consent-needed`. */
export type ConsentDetails = { lines: string[]; source: string }

type Options = { trust?: boolean; json?: boolean }

/** Whether the caller consents to whatever it is: by `--trust` or BERTH_TRUST=1. */
export const trusts = (io: Io, options: Options): boolean =>
  options.trust === true || io.env['BERTH_TRUST'] === '1'

/**
 * Tries `work` without consent, and with it once a person has given it: beforehand, or here. The hint of the refusal
 * is the call itself with `--trust`.
 */
export async function consented<T>(
  io: Io,
  options: Options,
  work: (trust: boolean) => Promise<T>,
): Promise<T> {
  try {
    return await work(trusts(io, options))
  } catch (error) {
    if (!(error instanceof BerthError) || error.code !== 'consent-needed') throw error
    const asks = io.question && !options.json
    if (asks && !(await agreed(io, error.details as ConsentDetails | undefined)))
      throw new BerthError(error.code, 'you did not agree: nothing was started', 'berth config')
    if (!asks) throw new BerthError(error.code, error.message, callWith(io.args, '--trust'))
    return work(true)
  }
}

async function agreed(io: Io, details: ConsentDetails | undefined): Promise<boolean> {
  const { bold } = io.print.notePaint
  io.print.note(
    bold(`This repository makes Berth run or copy (${visible(details?.source ?? 'berth.toml')}):`),
  )
  for (const line of details?.lines ?? []) io.print.note(`  ${visible(line)}`)
  const answer = await io.question!('Agree, for as long as these lines stay the same? [y/N] ')
  return /^y(es)?$/i.test(answer.trim())
}
