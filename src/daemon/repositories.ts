// The repositories that this loop serves: opened once, with what is asked of each only now and then.

import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { BerthError } from '../core/errors.ts'
import { type ProjectId } from '../core/event.ts'
import { type Fleet } from '../core/fleet.ts'
import { gitEnvironment } from '../git/git.ts'
import { openRepository, type Repository } from '../git/open.ts'
import { type FetchState } from '../git/target.ts'
import { privateDir } from '../store/files.ts'
import { type StatePaths } from '../store/paths.ts'
import { type Environment } from '../workspace/environment.ts'
import { readPerson } from '../workspace/home.ts'
import { type Person } from '../workspace/site.ts'

export type Repositories = {
  /** The repository that `dir` lies in. Throws BerthError (docs/decisions/0034). */
  at(dir: string, caller: Environment): Promise<Repository>
  /** Of a known project, with the caller's environment. */
  of(project: ProjectId, fleet: Fleet, caller: Environment): Promise<Repository>
  /** `now`: ms. Throws BerthError if git cannot read the person's settings. */
  person(repo: Repository, caller: Environment, now: number): Promise<Person>
  fetchState(project: ProjectId): FetchState
}

/** What of the person's own set-up a task gets is asked once per person and repository, and kept this long. */
const personMs = 60_000

export function openRepositories(paths: StatePaths): Repositories {
  const hooksDir = privateDir(paths.emptyHooks)
  const known = new Map<ProjectId, Repository>()
  const persons = new Map<string, Kept>()
  const fetches = new Map<ProjectId, FetchState>()
  const places = new Map<string, { repo: Repository; sign: string }>()
  const at = async (dir: string, caller: Environment): Promise<Repository> => {
    const key = JSON.stringify([dir, caller.HOME, caller.XDG_CONFIG_HOME])
    const before = places.get(key)
    if (before && (await signOf(dir, before.repo)) === before.sign)
      return { ...before.repo, env: gitEnvironment(caller) }
    const repo = await openRepository(dir, { hooksDir, env: caller })
    known.set(repo.id, repo)
    places.set(key, { repo, sign: await signOf(dir, repo) })
    return repo
  }
  return {
    at,
    of: async (id, fleet, caller) => {
      const before = known.get(id)
      if (before) return { ...before, env: gitEnvironment(caller) }
      const project = fleet.projects.get(id)
      if (!project) throw new BerthError('not-found', `no repository '${id}' is known`)
      const repo = await at(project.root, caller)
      if (repo.id !== id)
        throw new BerthError('not-found', `'${project.root}' is another repository now`, 'berth reconcile')
      return repo
    },
    person: (repo, caller, now) => personOf(persons, { repo, caller, now }),
    fetchState: id => {
      const state = fetches.get(id) ?? {}
      fetches.set(id, state)
      return state
    },
  }
}

/** Changes when the place is another, belongs to another, or its configuration was written: then git is asked again. */
async function signOf(dir: string, { gitDir, commonDir }: Repository): Promise<string> {
  const stats = await Promise.all(
    [dir, gitDir, commonDir, join(commonDir, 'config')].map(path => stat(path).catch(() => undefined)),
  )
  return stats
    .map((one, i) => (one ? [one.dev, one.ino, one.uid, i === 3 ? one.mtimeMs : ''].join(':') : 'none'))
    .join(' ')
}

type Kept = { at: number; person: Promise<Person> }

function personOf(
  persons: Map<string, Kept>,
  { repo, caller, now }: { repo: Repository; caller: Environment; now: number },
): Promise<Person> {
  const { HOME, USERPROFILE, XDG_CONFIG_HOME } = caller
  const key = JSON.stringify([repo.commonDir, HOME, USERPROFILE, XDG_CONFIG_HOME])
  const before = persons.get(key)
  if (before && now - before.at < personMs) return before.person
  const person = readPerson(repo, caller)
  persons.set(key, { at: now, person })
  person.catch(() => persons.delete(key))
  return person
}
