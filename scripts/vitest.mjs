// Runs vitest with the shim for the oldest supported Node; arguments are passed on.
import { run } from './tool.mjs'

process.exitCode = run('vitest/vitest.mjs', process.argv.slice(2))
