// `berth doctor`: what this machine offers, and what is missing.

import { type Check } from '../../daemon/doctor.ts'
import { visible } from '../columns.ts'
import { type Command, type Io, repoOf } from '../io.ts'

export const doctor: Command = async (io, { options }) => {
  const { examine } = await import('../../daemon/doctor.ts')
  const checks = await examine(io.env, { cwd: repoOf(io, options) })
  const ok = checks.every(check => check.state !== 'problem')
  if (options.json) io.print.json({ berth: 1, ok, checks })
  else for (const check of checks) printCheck(io, check)
  return ok ? 0 : 1
}

function printCheck({ print }: Io, { check, state, text, hint }: Check): void {
  const { green, yellow, red, dim } = print.paint
  const mark = { ok: green('ok     '), note: yellow('note   '), problem: red('problem') }[state]
  print.out(`${mark}  ${check.padEnd(16)}  ${visible(text)}`)
  if (hint && state !== 'ok') print.out(`${' '.repeat(27)}${dim(hint)}`)
}
