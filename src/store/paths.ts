// Where everything that Berth keeps lies: the state directory and one function per question about it.

import { join, resolve } from 'node:path'
import { type ProjectId, type RunId, type TaskName } from '../core/event.ts'

/** What names the operating system account's own data directory, whatever HOME says. */
export type AccountStorage = { accountDataDir(): string }

/**
 * The state directory: `BERTH_STATE_DIR`, else the data directory of the account that runs Berth. HOME and
 * XDG_DATA_HOME are not asked: inside a run they are the task's own (docs/decisions/0011).
 */
export function stateDirOf(env: { [name: string]: string | undefined }, account: AccountStorage): string {
  const told = env['BERTH_STATE_DIR']
  return told === undefined || told === '' ? account.accountDataDir() : resolve(told)
}

/** Every place inside the state directory `dir`. Names only: nothing is looked up or made. */
export function statePaths(dir: string) {
  const inside = (...parts: string[]) => join(dir, ...parts)
  return {
    dir,
    /** {stateId, schema, madeAt} */
    id: inside('id.json'),
    database: inside('berth.db'),
    /** How database and segments were left by the last writer that closed them. */
    sealed: inside('sealed.json'),
    /** Whoever holds it is the loop. */
    lock: inside('lock.db'),
    /** {socket, pid, version, contract, stateId} */
    daemon: inside('daemon.json'),
    facts: inside('facts'),
    damaged: inside('damaged'),
    /** Given up when the disk is full (docs/decisions/0010). */
    reserve: inside('reserve'),
    /** What must stay exact and is never exported; 0700. */
    private: inside('private'),
    brief: (project: ProjectId, task: TaskName, sha256: string) =>
      inside('private', 'briefs', project, task, `${sha256}.md`),
    /** What one run was told: the brief, and what its engine is told besides. */
    prompt: (project: ProjectId, task: TaskName, run: RunId) =>
      inside('private', 'prompts', project, task, `${run}.md`),
    archive: (project: ProjectId, task: TaskName, saved: string) =>
      inside('private', 'archives', project, task, `${saved}.tar`),
    runs: inside('runs'),
    run: (run: RunId) => inside('runs', run),
    home: (project: ProjectId, task: TaskName) => inside('homes', project, task),
    supervisor: (version: string, hash8: string) => inside('supervisor', `${version}-${hash8}.cjs`),
    /** An empty directory, for `core.hooksPath`. */
    emptyHooks: inside('empty-hooks'),
    /** Put first on a run's PATH; holds the `berth` shim. */
    bin: inside('bin'),
    /** The managed root where the repository's neighbourhood does not do (docs/decisions/0034). */
    worktrees: (project: ProjectId) => inside('worktrees', project),
  }
}

export type StatePaths = ReturnType<typeof statePaths>
