// From a folder that a caller names to a project: opened, recorded when it is new, its configuration read anew.

import { type Fact } from '../../core/event.ts'
import { type Project } from '../../core/fleet.ts'
import { BerthError } from '../../core/errors.ts'
import { noTask } from '../../core/notask.ts'
import { type Repository } from '../../git/open.ts'
import { type Environment } from '../../workspace/environment.ts'
import { basename } from 'node:path'
import { type Configured, configure, consentNeeded, consentTo, type Flags } from '../configure.ts'
import { managedRoot } from '../managedroot.ts'
import { refuseMoved } from '../moved.ts'
import { fleetOf, type Shell } from '../shell.ts'

export type Opened = { repo: Repository; configured: Configured; notices: string[] }

/** The repository and what its configuration says now. Throws BerthError; records nothing. */
export async function openProject(
  shell: Shell,
  { dir, env, flags }: { dir: string; env: Environment; flags?: Flags },
): Promise<Opened> {
  const repo = await shell.repositories.at(dir, env)
  await refuseMoved(repo, fleetOf(shell))
  const { root, notice } = managedRoot(repo, shell.paths)
  const configured = await configure(repo, { env, root, ...(flags === undefined ? {} : { flags }) })
  const known = fleetOf(shell).projects.has(repo.id)
  const used = configured.policy.root === root
  const { unread } = configured
  const notices = [...(notice !== undefined && used && !known ? [notice] : []), ...(unread ? [unread] : [])]
  return { repo, configured, notices }
}

/** What about the project is not recorded yet. */
export function projectFacts(shell: Shell, { repo, configured }: Opened): Fact[] {
  const before = fleetOf(shell).projects.get(repo.id)
  const { policy, source } = configured
  const hash = consentHash(configured)
  const facts: Fact[] = []
  if (before?.root !== repo.root || before.commonDir !== repo.commonDir)
    facts.push({
      kind: 'project.seen',
      project: repo.id,
      root: repo.root,
      commonDir: repo.commonDir,
      name: basename(repo.root).replace(/\.git$/, ''),
    })
  const same =
    before?.refused === undefined &&
    before?.hash === hash &&
    before.source === source &&
    JSON.stringify(before.policy) === JSON.stringify(policy)
  if (!same) facts.push({ kind: 'project.configured', project: repo.id, policy, source, hash })
  return facts
}

/** Empty: the repository makes Berth run nothing. */
export const consentHash = ({ consent, hash }: Configured): string => (consent.length === 0 ? '' : hash)

/** The project of a folder, as recorded. Throws `not-found` if Berth never saw it; `names`: tasks that are meant. */
export async function knownProject(
  shell: Shell,
  dir: string,
  [name]: readonly string[] = [],
): Promise<Project & { repo: Repository }> {
  const repo = await shell.repositories.at(dir, shell.env)
  const project = fleetOf(shell).projects.get(repo.id)
  await refuseMoved(repo, fleetOf(shell))
  if (!project && name !== undefined) throw noTask(fleetOf(shell), repo.id, { name, call: 'berth show' })
  if (!project)
    throw new BerthError('not-found', `Berth knows no task of '${repo.root}'`, 'berth run "BRIEF"')
  return { ...project, repo }
}

/** The consent that is given now, by `trust` or by the user's configuration. Throws `consent-needed` if `must`. */
export function consentFacts(
  shell: Shell,
  { repo, configured }: Opened,
  { trust, must }: { trust: boolean; must: boolean },
): Fact[] {
  const before = fleetOf(shell).projects.get(repo.id)?.consented ?? []
  const consent = consentTo(configured, { trust, before })
  if (consent === 'missing' && must) throw consentNeeded(configured)
  return consent === 'now'
    ? [{ kind: 'consent.given', project: repo.id, hash: configured.hash, by: 'person' }]
    : []
}

/**
 * Reads the configuration again before something goes on; a mistake in it is recorded, and holds the project. With
 * `trust` what it makes Berth run is consented to.
 */
export async function refreshProject(shell: Shell, dir: string, trust = false): Promise<Fact[]> {
  try {
    // That the loop was started with BERTH_TRUST says nothing about who asks now.
    const opened = await openProject(shell, { dir, env: { ...shell.env, BERTH_TRUST: undefined } })
    return [...projectFacts(shell, opened), ...consentFacts(shell, opened, { trust, must: false })]
  } catch (error) {
    if (!(error instanceof BerthError)) throw error
    const repo = await shell.repositories.at(dir, shell.env)
    const hint = error.hint === undefined ? {} : { hint: error.hint }
    return [{ kind: 'project.refused', project: repo.id, reason: error.message, ...hint }]
  }
}
