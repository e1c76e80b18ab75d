import { test } from 'vitest'
import { type Platform, platform } from '../../src/platform/platform.ts'
import { runNow } from '../../src/platform/exec.ts'
import { makePosix } from '../../src/platform/posix.ts'
import { makePsSource } from '../../src/platform/ps.ts'
import { common, posixOnly } from './conformance.ts'

/** The way of macOS, on any system that has `ps` and `lsof`; only the flag that shows environments differs. */
const byTools = makePosix(
  makePsSource({
    tool: (file, args) => runNow(file, args, { timeoutMs: 20_000, maxBytes: 50_000_000 }),
    bootId: platform.bootId,
    environmentArgs: ['axewwo', 'pid=,command='],
  }),
)

const hasTools = ['ps', 'lsof'].every(
  name => runNow(name, ['-v'], { timeoutMs: 5_000, maxBytes: 1_000_000 }).code !== null,
)

const suites: [string, Platform, boolean][] = [
  ['this system', platform, true],
  ['ps and lsof', byTools, hasTools],
]

for (const [name, subject, there] of suites) {
  for (const one of [...common, ...posixOnly])
    test.skipIf(!there)(`${name}: ${one.name}`, () => one.run(subject))
}
