// Effect `prepare`: a workspace is made, unless the disk is too full for one.

import { existsSync } from 'node:fs'
import { dirname } from 'node:path'
import { type Effect } from '../../core/effect.ts'
import { type Fact } from '../../core/event.ts'
import { type Task } from '../../core/task.ts'
import { platform } from '../../platform/platform.ts'
import { prepare, type Start } from '../../workspace/prepare.ts'
import { type Voice } from '../../workspace/site.ts'
import { fleetOf, type Shell } from '../shell.ts'
import { passNames, portsTaken, secretsOf, siteOf } from './site.ts'

export async function performPrepare(
  shell: Shell,
  effect: Effect & { do: 'prepare' },
  voice: Voice,
): Promise<Fact[]> {
  const { record, at: _at, ...site } = await siteOf(shell, effect)
  const { workspace } = record
  if (!workspace) return []
  const lacking = lackOfSpace(site.policy.root, site.policy.diskFreeMinBytes)
  const { project, task } = effect
  if (lacking !== undefined) return [{ kind: 'task.held', project, task, reason: 'disk', detail: lacking }]
  // A supervisor takes longer to start than most workspaces to be made.
  shell.spares.expect(1)
  const { path, branch, home } = workspace
  return prepare(
    {
      ...site,
      task,
      spec: record.spec,
      start: startOf(shell, record),
      path,
      branch,
      home,
      since: workspace.since.at,
      portsTaken: portsTaken(shell, record),
      ports: [],
      secrets: secretsOf(site, record),
      pass: passNames(record, site.policy),
    },
    voice,
  )
}

/** Why nothing may start for want of space, or undefined (docs/decisions/0010). */
export function lackOfSpace(root: string, minBytes: number): string | undefined {
  const free = platform.freeBytes(nearestFolder(root))
  if (free >= minBytes) return undefined
  const mega = (bytes: number): string => `${Math.floor(bytes / 1_000_000)} MB`
  return `'${root}' has ${mega(free)} free, and ${mega(minBytes)} are asked for (diskFreeMin)`
}

/** From where it starts: docs/decisions/0018. */
function startOf(shell: Shell, { spec, project, workspace }: Task): Start {
  const { base, baseRule: rule, target } = workspace?.origin ?? {}
  if (base !== undefined && rule !== undefined && target !== undefined)
    return { is: 'again', base, rule, target }
  if (spec.base !== undefined) return { is: 'revision', revision: spec.base }
  const commits = spec.after.flatMap(name => {
    const other = fleetOf(shell).tasks.get(`${project}/${name}`)
    if (other?.spec.land !== 'never' || other.landing?.phase === 'landed') return []
    return other.verification?.is === 'ready' ? [{ task: name, commit: other.verification.commit }] : []
  })
  return commits.length > 0 ? { is: 'dependencies', commits } : { is: 'target' }
}

function nearestFolder(path: string): string {
  let folder = path
  while (!existsSync(folder) && dirname(folder) !== folder) folder = dirname(folder)
  return folder
}
