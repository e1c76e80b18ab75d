// The last step of a removal: ports, temp folders and the home are given back; the engine's sessions are kept.

import { type Dirent } from 'node:fs'
import { lstat, mkdir, readdir, readFile, rm } from 'node:fs/promises'
import { dirname, join, relative } from 'node:path'
import { type Holder, type TaskName } from '../core/event.ts'
import { makeRedactor } from '../core/redact.ts'
import { platform } from '../platform/platform.ts'
import { readSocket } from '../process/record.ts'
import { atomicWrite } from '../store/files.ts'
import { forgetLedger } from './copies.ts'
import { removeTemps } from './place.ts'
import { heldPorts, releasePorts } from './ports.ts'
import { holdersFrom, type RunRecord, type Site, type WorkspaceRecord } from './site.ts'
import { removeTree } from './walker.ts'

/** Gives back all that a workspace held besides its worktree. Why not, if something is left: ports in use stay. */
export async function release(
  site: Site,
  request: { task: TaskName; workspace: WorkspaceRecord; runs: RunRecord[]; secrets: string[] },
): Promise<{ reason?: string; holders: Holder[]; sessions: number }> {
  const { task, workspace, runs, secrets } = request
  const held = await heldPorts(workspace.ports)
  if (held.length === 0) await releasePorts(site, task)
  await removeTemps(site, task)
  for (const { dir } of runs) await removeSocket(site, dir)
  const last = runs.at(-1)
  const sessions =
    last === undefined ? 0 : await keepSessions(workspace.home, join(last.dir, 'sessions'), secrets)
  const reason = await removeHome(site, workspace.home)
  await forgetLedger(site, task)
  if (reason !== undefined) return { sessions, reason, holders: [] }
  if (held.length === 0) return { sessions, holders: [] }
  const ports = held.length === 1 ? `port ${held[0]} is` : `ports ${held.join(', ')} are`
  return { sessions, reason: `${ports} still in use`, holders: holdersOfPorts(held) }
}

/** A supervisor removes its socket itself, unless it was killed. */
async function removeSocket({ runtimeDir }: Site, runDir: string): Promise<void> {
  const socket = readSocket(runDir)
  if (socket !== undefined && dirname(socket) === runtimeDir) await rm(socket, { force: true })
}

/** Not ended: they belong to no run that could be told. */
const holdersOfPorts = (ports: number[]): Holder[] =>
  platform
    .listenersOn(ports)
    .flatMap(each =>
      holdersFrom([each], 'unknown').map(holder => ({ ...holder, what: `listens on port ${each.port}` })),
    )

/** Removes a task's home, if it is one of this state directory's. Why not, if not. */
export async function removeHome(
  site: Pick<Site, 'state' | 'project'>,
  home: string,
): Promise<string | undefined> {
  const homes = dirname(dirname(site.state.home(site.project, 'any')))
  if ((await lstat(homes).catch(() => undefined)) === undefined) return undefined
  const removed = await removeTree(home, {
    under: homes,
    budgetMs: homeMs,
    clock: () => platform.monotonicMs(),
    windows: platform.name === 'windows',
  })
  if (removed.is === 'gone') return undefined
  const [first] = removed.left
  return `the home '${home}' could not be removed: ${first?.path ?? ''} ${first?.reason ?? ''}`
}

/** Where engines keep what was said, below the home (measured; engines.md, 6). */
const sessionFolders = ['.claude/projects', '.codex/sessions', '.gemini/tmp', '.local/share/opencode/storage']

const homeMs = 60_000
const fileBytes = 20_000_000
const totalBytes = 100_000_000

/**
 * Copies session files beside the run's output, known secrets taken out on the way: text alone, bounded, no links
 * followed. A copy that fails leaves nothing of that file: sessions are a convenience, the output is the record.
 */
async function keepSessions(home: string, to: string, secrets: string[]): Promise<number> {
  let left = totalBytes
  let copied = 0
  for (const folder of sessionFolders) {
    for (const file of await textFiles(join(home, ...folder.split('/')))) {
      const stat = await lstat(file).catch(() => undefined)
      if (stat?.isFile() !== true || stat.size > fileBytes || stat.size > left) continue
      const target = join(to, relative(home, file))
      const done = await copyRedacted(file, target, secrets).then(
        () => true,
        () => false,
      )
      if (done) copied += 1
      if (done) left -= stat.size
    }
  }
  return copied
}

async function textFiles(folder: string): Promise<string[]> {
  const stat = await lstat(folder).catch(() => undefined)
  if (stat?.isDirectory() !== true) return []
  const entries: Dirent[] = await readdir(folder, { withFileTypes: true }).catch(() => [])
  const found = await Promise.all(
    entries.map(entry => {
      const path = join(folder, entry.name)
      if (entry.isDirectory()) return textFiles(path)
      return entry.isFile() && /\.(jsonl?|md|txt)$/.test(entry.name) ? [path] : []
    }),
  )
  return found.flat()
}

async function copyRedacted(from: string, to: string, values: string[]): Promise<void> {
  const redactor = makeRedactor({ values })
  const bytes = Buffer.concat([redactor.push(await readFile(from)), redactor.end()])
  await mkdir(dirname(to), { recursive: true, mode: 0o700 })
  atomicWrite(to, bytes)
}
