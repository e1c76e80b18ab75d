// The token by which a program inside a run proves which run it is (docs/decisions/0003).

import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { join } from 'node:path'
import { type RunId } from '../core/event.ts'
import { exclusiveCreate, privateDir, readIfThere } from '../store/files.ts'
import { type StatePaths } from '../store/paths.ts'

export type Tokens = {
  of(run: RunId): string
  is(run: RunId, token: string): boolean
}

/** Derived from a secret of the state directory, so that it survives a restart and nothing is kept per run. */
export function openTokens(paths: StatePaths): Tokens {
  const file = join(privateDir(paths.private), 'token-key')
  if (readIfThere(file) === undefined) exclusiveCreate(file, randomBytes(32))
  const key = readIfThere(file) ?? randomBytes(32)
  const of = (run: RunId): string => createHmac('sha256', key).update(run).digest('hex').slice(0, 40)
  return {
    of,
    is: (run, token) => {
      const [wanted, given] = [Buffer.from(of(run)), Buffer.from(token)]
      return wanted.length === given.length && timingSafeEqual(wanted, given)
    },
  }
}
