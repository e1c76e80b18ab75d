// Patterns of files to copy, as they stand in `berth.toml`, the user's configuration and `.worktreeinclude`: one that
// leads out of the repository is refused where it is written, before anything is made.

import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { BerthError } from '../core/errors.ts'
import { leadsOut } from '../core/names.ts'
import { lineOf } from '../core/settings.ts'

/** A text with its name for people, and the command that leads to one of its lines. */
export type Source = { shown: string; text: string; way: (line: number) => string }

/** The patterns of a `.worktreeinclude`, of which there may be none. Throws `config` with its line. */
export function includedPatterns(root: string, source: Source | undefined): string[] {
  if (source === undefined) return []
  const lines = source.text.split(/\r\n|\n/).map(line => line.trim())
  const isPattern = (line: string): boolean => line !== '' && !line.startsWith('#')
  for (const [index, line] of lines.entries())
    if (isPattern(line)) refuseOutside(root, line, { source, line: index + 1 })
  return lines.filter(isPattern)
}

/** Refuses a list of patterns under `copies`. Throws `config` with its line. */
export function checkCopies(root: string, copies: readonly string[], source: Source): void {
  for (const [index, pattern] of copies.entries())
    refuseOutside(root, pattern, { source, line: lineOf(source.text, ['copies', index]), key: 'copies' })
}

type Where = { source: Source; line: number; key?: string }

function refuseOutside(root: string, pattern: string, { source, line, key }: Where): void {
  if (!leadsOut(pattern) && !isElsewhere(root, pattern)) return
  const named = key === undefined ? '' : `'${key}': `
  const message = `${named}'${pattern}' leads out of the repository; name files from its root`
  throw new BerthError('config', `'${source.shown}', line ${line}: ${message}`, source.way(line))
}

/** To git a leading `/` is the root of the repository: it is no path of the machine unless only there it is found. */
function isElsewhere(root: string, pattern: string): boolean {
  const plain = pattern.replace(/^!/, '')
  const fixed = plain.split('/').slice(0, firstGlob(plain)).join('/')
  return fixed.startsWith('/') && fixed !== '/' && existsSync(fixed) && !existsSync(join(root, fixed))
}

/** How many parts of a pattern, counted from its start, are plain names. */
function firstGlob(plain: string): number | undefined {
  const at = plain.split('/').findIndex(part => /[*?[\]\\]/.test(part))
  return at < 0 ? undefined : at
}
