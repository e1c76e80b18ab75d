// Refs as git's own files say them, at no process's cost. Whatever is unusual is left for git to answer.

import { readFile } from 'node:fs/promises'
import { join } from 'node:path'

/** Undefined: only git can tell. */
export type RefAnswer = { is: 'found'; value: string } | { is: 'none' } | undefined

/** The full name that a symbolic ref of the repository holds; `HEAD` is that of the main worktree. */
export async function symbolicRef(commonDir: string, name: string): Promise<RefAnswer> {
  if (!(await keepsFiles(commonDir))) return undefined
  const text = await contentOf(join(commonDir, name))
  if (text === 'failed') return undefined
  if (text === 'missing') return { is: 'none' }
  const named = /^ref:\s*(\S+)\s*$/.exec(text)?.[1]
  if (named !== undefined) return { is: 'found', value: named }
  return objectId.test(text) ? { is: 'none' } : undefined
}

/** The commit of a full ref name: its own file, else the packed refs. */
export async function refTip(commonDir: string, ref: string): Promise<RefAnswer> {
  if (!/^refs\/[^\s\\~^:?*[]+$/.test(ref) || ref.includes('..')) return undefined
  if (!(await keepsFiles(commonDir))) return undefined
  const loose = await contentOf(join(commonDir, ref))
  if (loose === 'failed') return undefined
  if (loose !== 'missing') return objectId.test(loose) ? { is: 'found', value: loose.trim() } : undefined
  const packed = await contentOf(join(commonDir, 'packed-refs'))
  if (packed === 'failed') return undefined
  const line = packed === 'missing' ? -1 : packed.indexOf(` ${ref}\n`)
  if (line < 0) return { is: 'none' }
  const value = packed.slice(packed.lastIndexOf('\n', line) + 1, line)
  return objectId.test(value) ? { is: 'found', value } : undefined
}

const objectId = /^(?:[0-9a-f]{40}|[0-9a-f]{64})\s*$/

/** Other storages keep a HEAD that names no branch, so that older programs stay away. */
async function keepsFiles(commonDir: string): Promise<boolean> {
  const head = await contentOf(join(commonDir, 'HEAD'))
  return head !== 'missing' && head !== 'failed' && !head.startsWith('ref: refs/heads/.invalid')
}

async function contentOf(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8')
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    return code === 'ENOENT' || code === 'ENOTDIR' || code === 'EISDIR' ? 'missing' : 'failed'
  }
}
