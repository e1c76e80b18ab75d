// Consent to what a repository makes Berth run (docs/decisions/0016): asked once per content, on a terminal.

import { BerthError } from '../core/errors.ts'
import { visible } from './columns.ts'
import { type Io } from './io.ts'

/** What the daemon tells with `consent-needed`. */
export type ConsentDetails = { lines: string[]; source: string }

/** Tries `work` without consent, and with it once a person has given it: by `--trust`, BERTH_TRUST=1, or here. */
export async function consented<T>(
  io: Io,
  options: { trust?: boolean; json?: boolean },
  work: (trust: boolean) => Promise<T>,
): Promise<T> {
  try {
    return await work(options.trust === true || io.env['BERTH_TRUST'] === '1')
  } catch (error) {
    if (!(error instanceof BerthError) || error.code !== 'consent-needed') throw error
    if (!io.question || options.json || !(await agreed(io, error.details as ConsentDetails | undefined)))
      throw error
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
