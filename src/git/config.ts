// The effective git configuration of a repository, read in one call: what decides about filters, hooks and bareness.

import { access, constants, stat } from 'node:fs/promises'
import { delimiter, isAbsolute, join } from 'node:path'
import { BerthError } from '../core/errors.ts'
import { shellWord } from '../core/shellword.ts'
import { failure, type Git, git } from './git.ts'
import { splitNul } from './path.ts'

export type Setting = { scope: string; name: string; value: string }

/** Names are lower case but for their middle part, as git prints them. Last one wins. */
export type Settings = {
  all: Setting[]
  get: (name: string) => string | undefined
  is: (name: string) => boolean
}

/** Reads the configuration that git sees from this directory, repository hooks path included. */
export async function readSettings(at: Git): Promise<Settings> {
  const args = ['config', '--list', '-z', '--show-scope']
  const result = await git(at, args, { timeoutMs: 30_000, hooks: true })
  if (result.code !== 0) throw failure(at, args, result)
  return settingsOf(parseSettings(result.out).filter(setting => setting.scope !== 'command'))
}

/** Parses `git config --list -z --show-scope`: scope NUL name LF value NUL; a bare name is true. */
export function parseSettings(out: Buffer): Setting[] {
  const fields = splitNul(out)
  const settings: Setting[] = []
  for (let at = 0; at + 1 < fields.length; at += 2) {
    const scope = fields[at] ?? ''
    const text = fields[at + 1] ?? ''
    const end = text.indexOf('\n')
    settings.push({
      scope,
      name: end < 0 ? text : text.slice(0, end),
      value: end < 0 ? 'true' : text.slice(end + 1),
    })
  }
  return settings
}

export type MissingFilter = { filter: string; program: string }

/**
 * Filters whose program is not there. `required` ones make a checkout fail; the others would silently leave files as
 * they are in git.
 */
export async function missingFilters(settings: Settings, path: string): Promise<MissingFilter[]> {
  const names = new Set<string>()
  for (const { name } of settings.all) {
    const match = /^filter\.(.+)\.(smudge|process)$/.exec(name)
    if (match?.[1]) names.add(match[1])
  }
  const missing: MissingFilter[] = []
  for (const filter of names) {
    if (!settings.is(`filter.${filter}.required`)) continue
    const command = settings.get(`filter.${filter}.process`) || settings.get(`filter.${filter}.smudge`)
    const program = command ? programOf(command) : undefined
    if (program && !(await isProgram(program, path))) missing.push({ filter, program })
  }
  return missing
}

/** Settings that switch filters off, for reading a worktree whose filter program is not there. */
export const withoutFilters = (filters: readonly string[]): string[] =>
  filters.flatMap(name => [
    `filter.${name}.required=false`,
    `filter.${name}.process=`,
    `filter.${name}.clean=`,
    `filter.${name}.smudge=`,
  ])

/** The error of a required filter that cannot run. */
export const filterError = ({ filter, program }: MissingFilter): BerthError =>
  new BerthError(
    'filter-missing',
    `the program '${program}' is not installed, and files with the attribute 'filter=${filter}' need it; ` +
      'install it, or do without',
    `git config ${shellWord(`filter.${filter}.required`)} false`,
  )

/** The names in `filter=NAME` of attribute lines. */
export function filtersNamed(attributes: string): string[] {
  return [...attributes.matchAll(/(?:^|[ \t])filter=([^\s]+)/gm)].flatMap(match => match[1] ?? [])
}

/** Settings by name. */
export function settingsOf(all: Setting[]): Settings {
  const get = (name: string): string | undefined => all.findLast(setting => setting.name === name)?.value
  return { all, get, is: name => isTrue(get(name)) }
}

const isTrue = (value: string | undefined): boolean =>
  value !== undefined && /^(true|yes|on|[1-9][0-9]*)$/i.test(value)

/** The first word, where it is plainly a program; undefined where only a shell can tell. */
function programOf(command: string): string | undefined {
  if (/[;&|<>$`()\n\\]/.test(command)) return undefined
  const quoted = /^\s*(?:"([^"]+)"|'([^']+)')(?=\s|$)/.exec(command)
  if (quoted) return quoted[1] ?? quoted[2]
  const word = /^\s*([^\s"'~*?[\]#=]+)(?=\s|$)/.exec(command)?.[1]
  return word !== undefined && !shellWords.has(word) ? word : undefined
}

/** Known to every shell, so not to be looked for as a program. */
const shellWords = new Set(
  (
    '. : [ alias break cd command continue eval exec exit export read return set shift source test times ' +
    'trap type ulimit umask unset'
  ).split(' '),
)

async function isProgram(program: string, path: string): Promise<boolean> {
  if (program.includes('/')) return !isAbsolute(program) || (await isFile(program))
  for (const folder of path.split(delimiter)) {
    for (const ending of ['', '.exe', '.cmd', '.bat']) {
      if (folder !== '' && (await isFile(join(folder, program + ending)))) return true
    }
  }
  return false
}

async function isFile(file: string): Promise<boolean> {
  const found = await stat(file).catch(() => undefined)
  if (!found?.isFile()) return false
  return access(file, constants.X_OK).then(
    () => true,
    () => false,
  )
}
