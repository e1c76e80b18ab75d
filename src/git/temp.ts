// A private folder for a temporary index or objects, gone when the work is done, or when its owner was killed at it.

import { lstat, mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import { platform } from '../platform/platform.ts'

/** Makes the folder (0700), runs `fn` and removes it whatever happens. */
export async function withTempFolder<T>(fn: (folder: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), `${mark}${process.pid}-${self()}-`))
  try {
    return await fn(folder)
  } finally {
    await rm(folder, { recursive: true, force: true }).catch(() => undefined)
  }
}

/** Removes such folders whose process has died. Its name says whose it is; what cannot be told stays. */
export async function clearTempFolders(): Promise<void> {
  const own = self()
  const uid = userInfo().uid
  const names = await readdir(tmpdir()).catch((): string[] => [])
  for (const name of names) {
    const [, pid = '', start = ''] = folderName.exec(name) ?? []
    // Of another boot or another namespace of pids: nothing is known of its process.
    if (pid === '' || own === '' || hostOf(start) !== hostOf(own) || platform.alive(Number(pid), start))
      continue
    const folder = join(tmpdir(), name)
    const found = await lstat(folder).catch(() => undefined)
    if (found?.isDirectory() && (found.uid === uid || uid < 0))
      await rm(folder, { recursive: true, force: true }).catch(() => undefined)
  }
}

const mark = 'berth-git-'
const folderName = /^berth-git-(\d+)-([\w.]+)-\w{6}$/

let known: string | undefined
/** Of this process; empty where the system does not say. */
const self = (): string => (known ??= platform.identity(process.pid) ?? '')

const hostOf = (start: string): string => start.slice(0, start.lastIndexOf('.'))
