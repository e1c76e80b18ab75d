// Names of tasks, branches and folders: one rule on every platform, so that no two ever fold into one (case 03).

/** At most this many characters, so that a folder stays short of every limit (Windows paths too). */
export const nameLimit = 48

/** What `--name` and a task file may say. The same text is a folder's name. */
export const namePattern = /^[a-z0-9][a-z0-9._-]*$/

/** A name from a title: lower case ASCII, digits, `.`, `_` and `-`; never empty. */
export function slugOf(title: string): string {
  const plain = title
    .normalize('NFKD')
    .replace(/\p{M}+/gu, '')
    .toLowerCase()
    .replace(/ß/g, 'ss')
    .replace(/['’]/g, '')
    .replace(/[^a-z0-9._]+/g, '-')
    .replace(/\.{2,}/g, '.')
    .replace(/[-._]*-[-._]*/g, '-')
  return safeName(trimmed(plain.slice(0, nameLimit))) || 'task'
}

/** The slug itself, or with `-2`, `-3`, … until none of `taken` folds to it. */
export function uniqueName(slug: string, taken: Iterable<string>): string {
  const folded = new Set([...taken].map(foldName))
  if (!folded.has(foldName(slug))) return slug
  for (let count = 2; ; count++) {
    const tail = `-${count}`
    const name = `${trimmed(slug.slice(0, nameLimit - tail.length))}${tail}`
    if (!folded.has(foldName(name))) return name
  }
}

/** Why a name that a person chose cannot be one, or undefined if it can. */
export function nameProblem(name: string): string | undefined {
  if (!namePattern.test(name))
    return 'use a-z, 0-9, dot, underscore and dash, beginning with a letter or digit'
  if (name.length > nameLimit) return `use at most ${nameLimit} characters`
  if (/\.\.|\.$|\.lock$/.test(name)) return "'..', a dot at the end and '.lock' at the end are not allowed"
  if (isReserved(name)) return 'Windows reserves this name for a device'
  return undefined
}

/** Whether a path or glob of a repository is relative and leads out of nothing. */
export const staysInside = (path: string): boolean =>
  path.trim() !== '' && !/^([\\/]|[a-z]:)/i.test(path) && !path.split(/[\\/]/).includes('..')

/** The branch of a task: the prefix and the name. */
export const branchOf = (prefix: string, name: string): string => `${prefix}${name}`

/** The folder of a task under the managed root. Names are folders: nothing is replaced, so none collide. */
export const folderOf = (name: string): string => name

/** What two names have in common when a file system cannot tell them apart. */
export const foldName = (name: string): string => name.normalize('NFC').toLowerCase().normalize('NFC')

const devices = /^(con|prn|aux|nul|com[0-9]|lpt[0-9]|conin\$|conout\$|clock\$)(\.|$)/

/** Windows' device names, with or without an extension. */
const isReserved = (name: string): boolean => devices.test(name.toLowerCase())

const trimmed = (text: string): string => text.replace(/^[-._]+/, '').replace(/[-._]+$/, '')

function safeName(name: string): string {
  const unlocked = name.replace(/\.lock$/, '-lock')
  return isReserved(unlocked) ? `task-${unlocked}`.slice(0, nameLimit) : unlocked
}

/** Whether a pattern of files to copy, git's own kind, leads out of the repository however it is read. */
export function leadsOut(pattern: string): boolean {
  const plain = pattern.replace(/^!/, '')
  return (
    plain.split(/[\\/]/).includes('..') ||
    plain.startsWith('~') ||
    /^([A-Za-z]:|\\)/.test(plain) ||
    /[\0\n]/.test(plain)
  )
}
