// The store as a reader sees it: opened read-only beside a loop or without one, with the names that facts leave out.

import { hostname } from 'node:os'
import { BerthError } from '../core/errors.ts'
import { type Event } from '../core/event.ts'
import { apply, emptyFleet, type Fleet, replay } from '../core/fleet.ts'
import { platform } from '../platform/platform.ts'
import { refuseMoved } from './moved.ts'
import { repositoryAt } from './place.ts'
import { stateDirOf } from '../store/paths.ts'
import { openStore, type Query, type Store } from '../store/store.ts'

export type History = {
  fleet: Fleet
  read(query: Query): Iterable<Event>
  /** Calls `onEvent` for what is recorded after `seq`, until the signal. */
  follow(seq: number, onEvent: (event: Event) => void, signal: AbortSignal): Promise<void>
  close(): void
}

type Environment = { [name: string]: string | undefined }

/** Undefined: nothing was ever recorded in this state directory. */
export function openHistory(env: Environment, now: () => number): History | undefined {
  const store = opened(stateDirOf(env, platform), now)
  if (!store) return undefined
  const fleet = replay(store.state(), emptyFleet())
  return {
    fleet,
    read: query => store.read(query),
    follow: (seq, onEvent, signal) => follow(store, { fleet, seq, onEvent, signal }),
    close: () => store.close(),
  }
}

/** Whether Berth ever recorded anything about the repository that `dir` lies in. Throws as `repositoryAt`. */
export async function isRecorded(dir: string, env: Environment, now: () => number): Promise<boolean> {
  const repo = await repositoryAt(dir, env)
  const history = openHistory(env, now)
  if (!history) return false
  history.close()
  await refuseMoved(repo, history.fleet)
  return history.fleet.projects.has(repo.id)
}

function opened(dir: string, now: () => number): Store | undefined {
  try {
    const isNetworkFileSystem = (path: string) => platform.isNetworkFileSystem(path)
    return openStore(dir, { readOnly: true, now, host: hostname(), isNetworkFileSystem })
  } catch (error) {
    if (error instanceof BerthError && error.code === 'not-found') return undefined
    throw error
  }
}

/** A reader gets no notice of a writer in another process: it looks this often. */
const lookMs = 200

type Following = { fleet: Fleet; seq: number; onEvent: (event: Event) => void; signal: AbortSignal }

async function follow(store: Store, { fleet, seq, onEvent, signal }: Following): Promise<void> {
  let last = seq
  while (!signal.aborted) {
    if (store.changedSince(last)) {
      for (const event of store.read({ from: last + 1 })) {
        last = event.seq
        if (event.seq > fleet.seq) apply(fleet, event)
        onEvent(event)
      }
    }
    await new Promise(resolve => setTimeout(resolve, lookMs))
  }
}
