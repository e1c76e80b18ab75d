// The effective configuration, kept while none of the files that it came from has changed.

import { stat } from 'node:fs/promises'
import { dirname, isAbsolute, join, resolve } from 'node:path'
import { type Setting, type Settings, settingsOf } from './config.ts'
import { failure, type Git, git } from './git.ts'
import { splitNul } from './path.ts'

type Kept = { sign: string; files: string[]; settings: Settings }

const kept = new Map<string, Kept>()
/** Repositories are few; worktrees come and go. */
const keptMax = 200

/** As `readSettings`; git is asked again only when a file of the configuration has changed, come or gone. */
export async function currentSettings(at: Git): Promise<Settings> {
  const key = JSON.stringify([at.dir, at.commonDir, placesIn(at.env)])
  const before = kept.get(key)
  if (before && (await signOf(before.files)) === before.sign) return before.settings
  const args = ['config', '--list', '-z', '--show-scope', '--show-origin']
  const result = await git(at, args, { timeoutMs: 30_000, hooks: true })
  if (result.code !== 0) throw failure(at, args, result)
  const all = parse(result.out)
  const settings = settingsOf(all.filter(({ scope }) => scope !== 'command'))
  kept.delete(key)
  // Whether a conditional part counts can change without any file changing.
  if (all.some(({ name }) => name.startsWith('includeif.'))) return settings
  const files = filesOf(at, all)
  kept.set(key, { sign: await signOf(files), files, settings })
  for (const oldest of kept.keys()) {
    if (kept.size <= keptMax) break
    kept.delete(oldest)
  }
  return settings
}

type Placed = Setting & { origin: string }

/** Scope NUL origin NUL name LF value NUL; a bare name is true. */
function parse(out: Buffer): Placed[] {
  const fields = splitNul(out)
  const all: Placed[] = []
  for (let i = 0; i + 2 < fields.length; i += 3) {
    const [scope = '', origin = '', text = ''] = fields.slice(i, i + 3)
    const end = text.indexOf('\n')
    const name = end < 0 ? text : text.slice(0, end)
    all.push({ scope, origin, name, value: end < 0 ? 'true' : text.slice(end + 1) })
  }
  return all
}

const variables = ['HOME', 'USERPROFILE', 'XDG_CONFIG_HOME', 'GIT_CONFIG_GLOBAL', 'GIT_CONFIG_SYSTEM']

const placesIn = (env: Git['env']): (string | undefined)[] => variables.map(name => env[name])

/** Those that said something, those that they include, and those that could come to say something. */
function filesOf(at: Git, all: readonly Placed[]): string[] {
  const home = at.env['HOME'] ?? at.env['USERPROFILE'] ?? '/'
  const origins = all.flatMap(({ origin, name, value }) => {
    const file = origin.startsWith('file:') ? resolve(at.dir, origin.slice('file:'.length)) : undefined
    if (file === undefined) return []
    if (name !== 'include.path') return [file]
    const included = value.replace(/^~(?=\/|$)/, home)
    return [file, isAbsolute(included) ? included : join(dirname(file), included)]
  })
  const usual = [
    '/etc/gitconfig',
    join(home, '.gitconfig'),
    join(at.env['XDG_CONFIG_HOME'] ?? join(home, '.config'), 'git', 'config'),
    at.env['GIT_CONFIG_GLOBAL'],
    at.env['GIT_CONFIG_SYSTEM'],
    join(at.commonDir, 'config'),
    join(at.commonDir, 'config.worktree'),
  ]
  return [...new Set([...origins, ...usual.filter(file => file !== undefined)])]
}

/** Git writes a file anew, so that its inode changes; an editor may not, so its times count too. */
async function signOf(files: readonly string[]): Promise<string> {
  const stats = await Promise.all(files.map(file => stat(file, { bigint: true }).catch(() => undefined)))
  return stats
    .map(one => (one ? `${one.dev}:${one.ino}:${one.size}:${one.mtimeNs}:${one.ctimeNs}` : '-'))
    .join(' ')
}
