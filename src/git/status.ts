// One `git status`, read in full: what differs, what git does not know, what it ignores, and where HEAD is.

import { type Git, git, reasonOf } from './git.ts'
import { splitNul } from './path.ts'

export type StatusEntry = {
  path: string
  /** Index against HEAD, and disk against index: letters of porcelain v2, `.` for none. */
  index: string
  disk: string
  unmerged: boolean
  /** `N...` for none, else what git says of the submodule. */
  submodule: string
  modes: { head: string; index: string; disk: string }
  /** All that git says of it, to compare. */
  record: string
}

export type Status = {
  is: 'status'
  head: string | null
  branch: string | null
  changed: StatusEntry[]
  /** Files; a folder with a `/` at its end is a repository of its own. */
  untracked: string[]
  /** Files, and folders (`/` at the end) that an ignore pattern names as a whole. */
  ignored: string[]
}

export type StatusOptions = {
  ignored?: boolean
  config?: readonly string[]
  env?: { [name: string]: string }
  index?: string
  signal?: AbortSignal | undefined
}

/**
 * Everything that differs in a worktree. Submodules are looked into. A folder that git could not read makes the
 * answer unknown, although git calls that a success (law 1).
 */
export async function readStatus(
  worktree: Git,
  options: StatusOptions = {},
): Promise<Status | { is: 'unknown'; reason: string }> {
  const args = ['status', '--porcelain=v2', '--branch', '-z', '--untracked-files=all', '--no-renames']
  const flags = [
    `--ignored=${options.ignored ? 'matching' : 'no'}`,
    '--ignore-submodules=none',
    '--no-ahead-behind',
  ]
  const result = await git(worktree, [...args, ...flags], {
    ...(options.config ? { config: options.config } : {}),
    ...(options.env ? { env: options.env } : {}),
    ...(options.index ? { index: options.index } : {}),
    ...(options.signal ? { signal: options.signal } : {}),
  })
  if (result.code !== 0 || result.truncated) return { is: 'unknown', reason: reasonOf(result) }
  const warning = /^warning: (could not open directory .*|unable to access .*)$/m.exec(result.err)?.[1]
  if (warning !== undefined) return { is: 'unknown', reason: warning }
  return parseStatus(result.out)
}

/** Parses porcelain v2 with `-z`. */
export function parseStatus(out: Buffer): Status | { is: 'unknown'; reason: string } {
  const status: Status = { is: 'status', head: null, branch: null, changed: [], untracked: [], ignored: [] }
  for (const field of splitNul(out)) {
    switch (field[0]) {
      case '#':
        readHeader(status, field)
        break
      case '1':
        status.changed.push(entryOf(field, 8))
        break
      case 'u':
        status.changed.push({ ...entryOf(field, 10), unmerged: true })
        break
      case '?':
        status.untracked.push(field.slice(2))
        break
      case '!':
        status.ignored.push(field.slice(2))
        break
      default:
        return { is: 'unknown', reason: `the status cannot be read: '${field.slice(0, 60)}'` }
    }
  }
  return status
}

function readHeader(status: Status, field: string): void {
  const oid = /^# branch\.oid ([0-9a-f]+)$/.exec(field)?.[1]
  if (oid !== undefined) status.head = oid
  const branch = /^# branch\.head (.+)$/s.exec(field)?.[1]
  if (branch !== undefined && branch !== '(detached)') status.branch = branch
}

/** `1 XY sub mH mI mW hH hI path`; unmerged: `u XY sub m1 m2 m3 mW h1 h2 h3 path`. */
function entryOf(field: string, spaces: number): StatusEntry {
  const parts: string[] = []
  let from = 0
  for (let count = 0; count < spaces; count++) {
    const end = field.indexOf(' ', from)
    parts.push(field.slice(from, end))
    from = end + 1
  }
  const [, xy = '..', submodule = 'N...', head = '', index = '', disk = ''] = parts
  return {
    path: field.slice(from),
    index: xy[0] ?? '.',
    disk: xy[1] ?? '.',
    unmerged: false,
    submodule,
    modes: { head, index, disk: spaces === 10 ? (parts[6] ?? '') : disk },
    record: field,
  }
}
