// Where a program of a task runs, and with what: environment, marks, temp folder; and one command run there.

import { mkdir, readdir } from 'node:fs/promises'
import { isAbsolute, join, relative, resolve, sep } from 'node:path'
import { type CommandPolicy } from '../core/config.ts'
import { BerthError } from '../core/errors.ts'
import { type TaskName } from '../core/event.ts'
import { platform } from '../platform/platform.ts'
import { type CommandResult, runCommand } from '../process/command.ts'
import { privateDir } from '../store/files.ts'
import { buildEnv, identityOf } from './environment.ts'
import { digest, type Site, tempOf, tempPrefix, workspaceMark } from './site.ts'
import { removeTree } from './walker.ts'

export type Place = {
  task: TaskName
  /** The worktree. */
  path: string
  home: string
  ports: number[]
  base: string
  /** Short name of the branch that its work lands on. */
  target: string
  attempt: number
  /** Names of the caller's variables that are passed through, besides the project's. */
  pass: string[]
  /** Values that must not reach any output. */
  secrets: string[]
}

/** What runs: a run of an engine, or one command of the repository's. `id` is a run id, or shaped as one. */
export type Running = { id: string; token?: string; promptFile?: string; set?: { [name: string]: string } }

/** The complete environment of `running`. Its temp folder is named, not made (`makeTemp`). */
export function environmentFor(site: Site, place: Place, running: Running): { [name: string]: string } {
  return buildEnv({
    caller: site.caller,
    windows: platform.name === 'windows',
    home: place.home,
    temp: tempOf(site, { task: place.task, id: running.id }),
    binDir: site.state.bin,
    identity: identityOf(place.task),
    git: site.person.git.passed,
    toolHomes: site.person.toolHomes,
    pass: [...site.policy.pass, ...place.pass],
    set: running.set ?? {},
    engineNames: site.engineNames,
    task: {
      task: place.task,
      markers: [workspaceMark(site, place.task), `${site.stateId}:${running.id}`],
      attempt: place.attempt,
      repo: site.repo.root,
      base: place.base,
      target: place.target,
      stateDir: site.state.dir,
      worktree: place.path,
      ports: place.ports,
      ...(running.token === undefined ? {} : { token: running.token }),
      ...(running.promptFile === undefined ? {} : { promptFile: running.promptFile }),
    },
  })
}

type TempSite = Pick<Site, 'runtimeDir' | 'project'>

/** Makes the temp folder of a run or a command: 0700, named by the first 8 digits of the task's and of its own id. */
export function makeTemp(site: TempSite, of: { task: TaskName; id: string }): string {
  privateDir(site.runtimeDir)
  return privateDir(tempOf(site, of))
}

/** Removes it. What cannot be removed is left to the removal of the workspace: it holds nothing of the work. */
export const removeTemp = (site: TempSite, of: { task: TaskName; id: string }): Promise<void> =>
  removeFolder(site, tempOf(site, of))

/** Removes all temp folders of a task, also those of commands that were cut off with the Berth that ran them. */
export async function removeTemps(site: TempSite, task: TaskName): Promise<void> {
  const prefix = tempPrefix(site, task)
  const names = await readdir(site.runtimeDir).catch(() => [])
  for (const name of names.filter(each => each.startsWith(prefix)))
    await removeFolder(site, join(site.runtimeDir, name))
}

async function removeFolder({ runtimeDir }: TempSite, path: string): Promise<void> {
  await removeTree(path, {
    under: runtimeDir,
    budgetMs: 10_000,
    clock: () => platform.monotonicMs(),
    windows: platform.name === 'windows',
  }).catch(() => undefined)
}

/** Where a command runs inside the worktree: never outside, whatever the configuration says. */
export function insideOf(worktree: string, cwd: string | null | undefined): string {
  if (cwd === null || cwd === undefined || cwd === '') return worktree
  const place = resolve(worktree, cwd)
  const way = relative(worktree, place)
  if (way === '..' || way.startsWith(`..${sep}`) || isAbsolute(way))
    throw new BerthError('config', `'${cwd}' lies outside the worktree`, 'berth config')
  return place
}

/**
 * Runs one shell line in a place to its end, with everything it started: no stdin, output redacted into `outFile`,
 * its own temp folder, which is gone afterwards.
 */
export async function runInPlace(
  site: Site,
  place: Place,
  request: { command: CommandPolicy; outFile: string; signal: AbortSignal },
): Promise<CommandResult> {
  const { command, outFile, signal } = request
  const id = commandId(site, place, command.run)
  const { task } = place
  makeTemp(site, { task, id })
  await mkdir(join(outFile, '..'), { recursive: true, mode: 0o700 })
  try {
    return await runCommand({
      command: { shell: command.run },
      cwd: insideOf(place.path, site.policy.cwd),
      env: environmentFor(site, place, { id }),
      marker: `${site.stateId}:${id}`,
      timeoutMs: command.timeoutMs,
      graceMs: site.policy.graceMs,
      outFile,
      secrets: place.secrets,
      redact: site.policy.redact.map(pattern => new RegExp(pattern, 'g')),
      // Neither an agent nor another command is at work in the place: what is found there came from this one.
      since: site.now(),
      signal,
    })
  } finally {
    await removeTemp(site, { task, id })
  }
}

/** Shaped as a run id; unlike that of any command that runs at the same time. */
function commandId(site: Site, place: Place, command: string): string {
  const hex = digest([site.stateId, place.path, command, site.now(), platform.monotonicMs()].join('\n'), 32)
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-')
}
