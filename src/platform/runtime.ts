// The folder for sockets: short, private, never a link (decisions 4). The checks are the same wherever there are uids.

import { chmodSync, lstatSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { BerthError } from '../core/errors.ts'
import { shellWord } from '../core/shellword.ts'

/** Measured: Node cuts longer paths silently, and two servers then share one name. */
const socketPathBytes = 100

type Env = { [name: string]: string | undefined }

/** `$XDG_RUNTIME_DIR` if it is sound, else `/tmp/berth-<uid>`. Throws BerthError `path-refused`. */
export function posixRuntimeDir(env: Env, uid: number): string {
  const told = env['XDG_RUNTIME_DIR']
  if (told?.startsWith('/') && problemOf(told, uid) === undefined) return told
  const own = `/tmp/berth-${uid}`
  ensurePrivate(own, uid)
  return own
}

/** Makes the folder of this state directory, and gives the socket's path. Throws BerthError `socket-path`. */
export function posixSocketPath(runtimeDir: string, stateId: string, what: string, uid: number): string {
  const folder = join(runtimeDir, `berth-${hex8(stateId)}`)
  const path = join(folder, `${what === 'daemon' ? what : hex8(what)}.sock`)
  const bytes = Buffer.byteLength(path)
  if (bytes > socketPathBytes) {
    const message = `the socket path '${path}' has ${bytes} bytes, more than ${socketPathBytes}`
    throw new BerthError('socket-path', message, 'unset XDG_RUNTIME_DIR')
  }
  ensurePrivate(folder, uid)
  return path
}

/** The first eight hex digits of an id: enough for a name, never for a kill. */
export const hex8 = (id: string) => id.replaceAll('-', '').slice(0, 8)

function ensurePrivate(folder: string, uid: number) {
  try {
    mkdirSync(folder, { mode: 0o700 })
    // The mode above is cut by the umask, never widened.
    chmodSync(folder, 0o700)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') {
      throw new BerthError('path-refused', `cannot make '${folder}': ${(error as Error).message}`)
    }
  }
  const problem = problemOf(folder, uid)
  if (problem) throw new BerthError('path-refused', `'${folder}' ${problem}`, `ls -ld ${shellWord(folder)}`)
}

function problemOf(folder: string, uid: number): string | undefined {
  try {
    const stat = lstatSync(folder)
    if (stat.isSymbolicLink()) return 'is a link'
    if (!stat.isDirectory()) return 'is not a folder'
    if (stat.uid !== uid) return `belongs to uid ${stat.uid}`
    if ((stat.mode & 0o077) !== 0) return 'is open to others'
    return undefined
  } catch (error) {
    return `cannot be looked at: ${(error as Error).message}`
  }
}
