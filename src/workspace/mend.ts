// What `reconcile --fix` does: only to what is provably ours, and only if nothing is lost with it.

import { lstat, rename } from 'node:fs/promises'
import { emptyTrash } from './aside.ts'
import { type OnFact } from './keep.ts'
import { forgetMissing } from './missing.ts'
import { readMarker, type Site } from './site.ts'

export type Remedy =
  /** A worktree of ours that a person moved: its own `.git` file still names our entry. */
  | { do: 'move-back'; from: string; to: string }
  /** An entry of ours without directory and record. */
  | { do: 'unregister'; path: string; entryDir: string }
  /** What a removal of ours has moved aside. */
  | { do: 'empty'; root: string; dir: string }

/** Whether it was put right. Asked twice is fine. */
export async function mend(site: Site, remedy: Remedy, onFact: OnFact): Promise<boolean> {
  switch (remedy.do) {
    case 'move-back':
      return moveBack(remedy)
    case 'unregister':
      return takeOut(site, remedy, onFact)
    case 'empty':
      return empty(site, remedy)
  }
}

async function moveBack({ from, to }: { from: string; to: string }): Promise<boolean> {
  if ((await lstat(to).catch(() => undefined)) !== undefined) return false
  return rename(from, to).then(
    () => true,
    () => false,
  )
}

async function takeOut(
  site: Site,
  { path, entryDir }: { path: string; entryDir: string },
  onFact: OnFact,
): Promise<boolean> {
  const found = await readMarker(entryDir)
  if (found.is !== 'marker' || found.marker.stateId !== site.stateId) return false
  return (await forgetMissing(site, { path, entryDir, marker: found.marker }, onFact)).is === 'forgotten'
}

/** Ours, if the copy of git's entry beside it bears our mark: then all that was work had been seen to. */
async function empty(site: Site, { root, dir }: { root: string; dir: string }): Promise<boolean> {
  const trash = { root, dir, entry: `${dir}.git` }
  const found = await readMarker(trash.entry)
  if (found.is !== 'marker' || found.marker.stateId !== site.stateId) return false
  return (await emptyTrash(trash, emptyMs)).is === 'gone'
}

const emptyMs = 60_000
