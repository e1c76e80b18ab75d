// What goes into the archive of saved work: what no commit can hold.

import { lstat, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type ArchiveItem } from './archive.ts'
import { type Git } from './git.ts'
import { operationState } from './gitdir.ts'
import { fsPath } from './path.ts'
import { storeOf } from './submodule.ts'
import { type Survey } from './survey.ts'
import { walk } from './walk.ts'

/** Inside an archive: the state of an operation in progress. Never unpacked, there for a person. */
export const operationFolder = '.berth-operation'

/**
 * Ignored files, files whose exact bytes git does not give back, whole repositories inside the worktree, and the
 * state of an operation in progress. A submodule's store, which lies in git's entry, becomes its `.git` folder.
 */
export async function itemsToArchive(
  worktree: Git,
  { survey, odd }: { survey: Survey; odd: readonly string[] },
): Promise<ArchiveItem[]> {
  const root = worktree.dir
  const { found, gitDir } = survey
  const files = [...found.ignored, ...odd].map(path => ({ path, from: join(root, path) }))
  const items: ArchiveItem[] = [...files]
  for (const path of new Set([...found.nested, ...found.submodules]))
    items.push(...(await repositoryItems(root, path)))
  if (found.operation !== null) items.push(...(await operationItems(gitDir)))
  return items
}

async function repositoryItems(root: string, path: string): Promise<ArchiveItem[]> {
  const store = await storeOf(root, path)
  const own = store === undefined ? '' : `${path}/.git`
  const items = (await walk(root, path))
    .filter(item => item.path !== own)
    .map(item => ({ path: item.path, from: join(root, item.path) }))
  const first = { path, from: join(root, path) }
  if (store === undefined) return [first, ...items]
  const inside = (await walk(store, '')).map(item => ({
    path: `${own}/${item.path}`,
    from: join(store, item.path),
  }))
  const config = inside.find(item => item.path === `${own}/config`)
  if (config) Object.assign(config, { bytes: await withoutWorktree(config.from) })
  return [first, ...items, { path: own, from: store }, ...inside]
}

/** A submodule's configuration without the place of its worktree: the copy stands by itself. */
async function withoutWorktree(file: string): Promise<Buffer> {
  const text = await readFile(file, 'latin1')
  return Buffer.from(text.replace(/^[ \t]*worktree[ \t]*=.*\n?/gim, ''), 'latin1')
}

async function operationItems(gitDir: string): Promise<ArchiveItem[]> {
  const items: ArchiveItem[] = []
  for (const name of await operationState(gitDir)) {
    items.push({ path: `${operationFolder}/${name}`, from: join(gitDir, name) })
    if (!(await lstat(fsPath(join(gitDir, name)))).isDirectory()) continue
    const below = await walk(gitDir, name)
    items.push(
      ...below.map(item => ({ path: `${operationFolder}/${item.path}`, from: join(gitDir, item.path) })),
    )
  }
  return items
}
