// Whether a worktree was touched since a moment: the system tells, nobody looks. A hint for caches, no proof.

import { type FSWatcher, watch } from 'node:fs'

export type TreeWatch = {
  /** Nothing was touched since the watch began. */
  isUntouched(): boolean
  close(): void
}

/** Over all trees: the system's own limit is shared with the person's editor and tools. */
const foldersMax = 16_384
let watched = 0

/**
 * Watches these folders, not what lies below them. The first touch ends the watch, so that an agent at work costs
 * one event. Undefined if it would be too many, or the system refuses.
 */
export function watchFolders(folders: readonly string[]): TreeWatch | undefined {
  if (watched + folders.length > foldersMax) return undefined
  const watchers: FSWatcher[] = []
  let touched = false
  const close = (): void => {
    watched -= watchers.length
    for (const watcher of watchers.splice(0)) watcher.close()
  }
  const touch = (): void => {
    touched = true
    close()
  }
  try {
    for (const folder of folders) {
      const watcher = watch(folder, { persistent: false }, touch)
      watcher.on('error', touch)
      watchers.push(watcher)
      watched++
    }
  } catch {
    close()
    return undefined
  }
  return { isUntouched: () => !touched, close }
}
