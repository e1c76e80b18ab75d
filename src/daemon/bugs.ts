// What should not happen, kept for whoever reports it: a file in the state directory, redacted and bounded.

import { appendFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { redactText } from '../core/redact.ts'

const bytesMax = 1024 * 1024

/** Never throws: what it is told of is bad enough. */
export const makeBugs =
  (dir: string, now: () => number) =>
  (error: unknown): void => {
    const file = join(dir, 'bugs.log')
    try {
      if ((statSync(file, { throwIfNoEntry: false })?.size ?? 0) > bytesMax) return
      const text = error instanceof Error ? (error.stack ?? error.message) : String(error)
      appendFileSync(file, `${new Date(now()).toISOString()} ${redactText(text)}\n`, { mode: 0o600 })
    } catch {
      // Nowhere to say it.
    }
  }
