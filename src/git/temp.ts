// A private folder for a temporary index or objects, gone when the work is done.

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Makes the folder (0700), runs `fn` and removes it whatever happens. */
export async function withTempFolder<T>(fn: (folder: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'berth-git-'))
  try {
    return await fn(folder)
  } finally {
    await rm(folder, { recursive: true, force: true }).catch(() => undefined)
  }
}
