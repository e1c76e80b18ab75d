// Writes docs/cli.md and docs/schemas anew from the code: the test that holds them equal, told to update them.
import { run } from './tool.mjs'

process.exitCode = run('vitest/vitest.mjs', ['run', '--project', 'unit', 'test/docs', '--update'])
