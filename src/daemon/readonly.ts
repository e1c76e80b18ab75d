// Reading without a loop: the store as it stands, compared with git and the disk in memory. Nothing is recorded.

import { hostname } from 'node:os'
import { type Verb } from '../core/api.ts'
import { clockOf } from '../core/clock.ts'
import { BerthError } from '../core/errors.ts'
import { emptyFleet, type Fleet, replay } from '../core/fleet.ts'
import { engines } from '../engines/index.ts'
import { openRepository, type Repository } from '../git/open.ts'
import { platform } from '../platform/platform.ts'
import { statePaths } from '../store/paths.ts'
import { openStore, type Store } from '../store/store.ts'
import { makeRepositoryLock, type Site } from '../workspace/site.ts'
import { openLooks } from './looks.ts'
import { foldMeanwhile } from './meanwhile.ts'
import { type Channel } from './remote.ts'
import { read } from './requests.ts'
import { type Reader } from './requests/views.ts'

type Input = { env: { [name: string]: string | undefined }; now: () => number }

/** Reading never waits for a writer of the repository. */
const lockMs = 1_000

/** Answers what only reads; anything else is `daemon-down`. Throws BerthError `state-*`. */
export function openReadOnly(dir: string, input: Input): Channel {
  return {
    request: async (verb, params) => {
      const store = openIfThere(dir, input.now)
      try {
        return await readWith(dir, input, store, { verb, params })
      } finally {
        store?.close()
      }
    },
    close: () => Promise.resolve({ moved: false }),
  }
}

async function readWith(
  dir: string,
  input: Input,
  store: Store | undefined,
  { verb, params }: { verb: Verb; params: object },
): Promise<unknown> {
  const fleet = store ? replay(store.state()) : emptyFleet()
  const asked = params as { dryRun?: boolean; fix?: boolean; yes?: boolean }
  if (verb === 'status' || (verb === 'land' && !asked.dryRun)) throw noLoop()
  const { run: runDir } = statePaths(dir)
  foldMeanwhile(fleet, { runDir, host: hostname(), now: input.now() })
  return read(readerOf(dir, input, fleet, store?.id ?? ''), verb, params as never)
}

const noLoop = (): BerthError => new BerthError('daemon-down', 'no daemon runs', 'berth daemon start')

function openIfThere(dir: string, now: () => number): Store | undefined {
  try {
    return openStore(dir, {
      readOnly: true,
      now,
      host: hostname(),
      isNetworkFileSystem: platform.isNetworkFileSystem,
    })
  } catch (error) {
    if (error instanceof BerthError && error.code === 'not-found') return undefined
    throw error
  }
}

function readerOf(dir: string, { env, now }: Input, fleet: Fleet, stateId: string): Reader {
  const clock = clockOf(fleet, { wall: now(), monotonic: platform.monotonicMs(), boot: platform.bootId() })
  const paths = statePaths(dir)
  const at = (folder: string): Promise<Repository> =>
    openRepository(folder, { env, hooksDir: paths.emptyHooks })
  const site = async (id: string): Promise<Site> => {
    const project = fleet.projects.get(id)
    if (!project?.policy)
      throw new BerthError('config', 'its repository has not been configured', 'berth config')
    return {
      repo: await at(project.root),
      lock: makeRepositoryLock(lockMs),
      state: paths,
      stateId,
      runtimeDir: '',
      project: id,
      policy: project.policy,
      caller: env,
      person: { git: { all: [], passed: [] }, toolHomes: {} },
      engineNames: Object.values(engines).flatMap(each => each.ownNames),
      fetchState: {},
      now,
    }
  }
  return {
    fleet,
    clock,
    host: hostname(),
    live: false,
    looks: openLooks({
      fleet: () => fleet,
      now: platform.monotonicMs,
      watches: false,
      site: project => site(project.id),
    }),
    at,
    site,
  }
}
