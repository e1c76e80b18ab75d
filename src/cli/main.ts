#!/usr/bin/env node
// Where `berth` begins. `--version` answers from here; everything else is loaded when it is needed.

import module from 'node:module'
import { version } from '../core/version.ts'

const args = process.argv.slice(2)
if (args.length === 1 && (args[0] === '--version' || args[0] === '-V')) process.stdout.write(`${version}\n`)
else void begin()

async function begin(): Promise<void> {
  // Node 22.1 and newer keep the compiled code.
  ;(module as { enableCompileCache?: () => void }).enableCompileCache?.()
  const { start } = await import('./start.ts')
  const { stdout, stderr, stdin } = process
  process.exitCode = await start(args, {
    now: () => Date.now(),
    newId: () => crypto.randomUUID(),
    stdout,
    stderr,
    stdin,
  })
}
