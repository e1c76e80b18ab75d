// The home of a task: its directories, its git settings, and which tool homes outside it are shared.

import { type Environment } from './environment.ts'
import { type Repository } from './site.ts'

/** The person's effective global git settings, without identity, credentials, signing and hooks. */
export type PersonGit = {
  all: { key: string; value: string | null }[]
  passed: { key: string; value: string }[]
}

/** Makes the home (0700) and its `.gitconfig`; an existing home keeps everything else. */
export async function makeHome(_input: { home: string; task: string; git: PersonGit }): Promise<void> {
  throw new Error('not built')
}

/** Asks git with the person's own HOME, once per preparation (docs/decisions/0012). */
export async function readPersonGit(_repo: Repository, _caller: Environment): Promise<PersonGit> {
  throw new Error('not built')
}

/** Tool homes and caches that exist: variable to place. */
export async function findToolHomes(
  _caller: Environment,
  _windows: boolean,
): Promise<{ [name: string]: string }> {
  throw new Error('not built')
}
