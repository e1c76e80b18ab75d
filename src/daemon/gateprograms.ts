// Whether the programs of gates are there, as far as it can be told before anything runs.

import { accessSync, constants, statSync } from 'node:fs'
import { delimiter, isAbsolute, join } from 'node:path'
import { type GatePolicy } from '../core/config.ts'
import { type SettingPlace, settingError } from './configure.ts'

const shellOwn = new Set(
  (
    '. : [ alias bg break case cd command continue do echo eval exec exit export false fg for getopts hash if ' +
    'jobs kill let printf pwd read readonly return set shift source test time times trap true type ulimit umask ' +
    'unset until wait while'
  ).split(' '),
)

/**
 * Throws `gate-missing` for a gate whose first word is a program that the PATH does not have. Only plain words are
 * judged: what a shell would still change, a builtin, or a path that setup may make is left to the run.
 */
export function requireGatePrograms(
  gates: readonly Pick<GatePolicy, 'name' | 'run'>[],
  env: { [name: string]: string | undefined },
  placeOf: (at: number) => SettingPlace | undefined = () => undefined,
): void {
  for (const [at, gate] of gates.entries()) {
    const program = programOf(gate.run)
    if (program === undefined || isThere(program, env)) continue
    throw settingError('gate-missing', `the gate '${gate.name}' needs '${program}', which is not installed`, {
      place: placeOf(at),
      hint: 'berth run --gate COMMAND "BRIEF"',
    })
  }
}

/** The first word of a simple shell line, after assignments; undefined where it is not plain. */
export function programOf(line: string): string | undefined {
  const [first] = line
    .trim()
    .split(/\s+/)
    .filter(word => !/^[A-Za-z_]\w*=[\w./:,@%+-]*$/.test(word))
  if (first === undefined || !/^[\w./:@%+-]+$/.test(first) || shellOwn.has(first)) return undefined
  if (first.includes('/') && !isAbsolute(first)) return undefined
  return first
}

function isThere(program: string, env: { [name: string]: string | undefined }): boolean {
  if (isAbsolute(program)) return isExecutable(program)
  const names = [
    program,
    ...(env['PATHEXT'] ?? '')
      .split(';')
      .filter(Boolean)
      .map(end => program + end),
  ]
  const folders = (env['PATH'] ?? env['Path'] ?? '').split(delimiter).filter(Boolean)
  return folders.some(folder => names.some(name => isExecutable(join(folder, name))))
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK)
    return statSync(file).isFile()
  } catch {
    return false
  }
}
