// Effect `start`: an attempt is started at most once; after a crash it is first found out how far the last try came.

import { type Effect } from '../../core/effect.ts'
import { type Fact } from '../../core/event.ts'
import { noUsage, type Usage } from '../../core/outcome.ts'
import { neverStarted, type Run } from '../../core/run.ts'
import { type Task } from '../../core/task.ts'
import { engineFor, engines } from '../../engines/index.ts'
import { headOf, type HeadState } from '../../git/changes.ts'
import { inDirectory } from '../../git/git.ts'
import { platform } from '../../platform/platform.ts'
import { readExit, readSpawn, type SpawnRecord } from '../../process/record.ts'
import { startSupervisor } from '../../process/spawn.ts'
import { placeOfWorktree } from '../../workspace/missing.ts'
import { type Site } from '../../workspace/site.ts'
import { isSecretName } from '../secrets.ts'
import { markerOf, type OfRun, type Shell } from '../shell.ts'
import { prepareLaunch } from './launch.ts'
import { lackOfSpace } from './prepare.ts'
import { runOf, siteOf } from './site.ts'

const huntLimits = { graceMs: 2_000, limitMs: 20_000 }
const spawnLimitMs = 15_000
const spawnStepMs = 50

export async function performStart(
  shell: Shell,
  effect: Effect & { do: 'start' },
  { signal }: { signal: AbortSignal },
): Promise<Fact[]> {
  const { record, at: _at, ...site } = await siteOf(shell, effect)
  const { project, task, run: id } = effect
  const of: OfRun = { project, task, run: id }
  const run = runOf(record, id)
  if (!run || record.workspace?.phase !== 'ready') return [{ kind: 'run.lost', ...of, reason: neverStarted }]
  const before = readSpawn(shell.paths.run(id))
  if (before.is !== 'none') return adopt(shell, { of, record, run, site })
  if (effect.adopt) return [{ kind: 'run.lost', ...of, reason: neverStarted }]
  const { path } = record.workspace
  const place = await placeOfWorktree(site, path)
  if (place.is === 'away' || place.is === 'cut') return [refused(of, 'exit', place.reason)]
  if (place.is === 'gone')
    return [
      { kind: 'run.lost', ...of, reason: neverStarted },
      { kind: 'workspace.missing', project, task, reason: `'${path}' is gone` },
    ]
  const lacking = lackOfSpace(site.policy.root, site.policy.diskFreeMinBytes)
  if (lacking !== undefined)
    return [
      { kind: 'run.lost', ...of, reason: neverStarted },
      { kind: 'task.held', project, task, reason: 'disk', detail: lacking },
    ]
  const missing = lostKeys(record, site)
  if (missing.length > 0) return signedOut(of, record, missing)
  return begin(shell, { of, record, run, site, signal })
}

/** Keys that the call had and nobody knows any more: values are kept in memory only (docs/decisions/0014). */
const lostKeys = (record: Task, { caller }: Site): string[] =>
  (record.passed?.names ?? []).filter(name => isSecretName(name) && caller[name] === undefined)

function signedOut(of: OfRun, { spec }: Task, missing: string[]): Fact[] {
  const { project, task, run } = of
  const evidence = `'${missing.join("', '")}' is not known any more: give it and 'berth run' the task again`
  return [
    { kind: 'run.lost', ...of, reason: neverStarted },
    {
      kind: 'account.signed-out',
      engine: spec.engine,
      account: spec.account ?? '',
      evidence,
      project,
      task,
      run,
    },
  ]
}

type Ground = { of: OfRun; record: Task; run: Run; site: Site }

async function begin(shell: Shell, ground: Ground & { signal: AbortSignal }): Promise<Fact[]> {
  const { of, record, run, site, signal } = ground
  if (record.workspace?.phase !== 'ready') return []
  const { workspace } = record
  const head = headBefore(record, site, workspace)
  const launch = await prepareLaunch({ shell, site, task: record, run, workspace })
  const found = await head
  if (launch.is === 'refused') return [refused(of, launch.code, launch.reason)]
  if (found.is !== 'head')
    return [refused(of, 'exit', `the worktree '${workspace.path}' has no commit to start from`)]
  const started = await startSupervisor(launch.spec, { supervisorFile: shell.supervisorFile, signal })
  if (started.is === 'failed') {
    if (signal.aborted) return []
    return [refused(of, started.missing ? 'engine-missing' : 'exit', started.reason)]
  }
  shell.spares.used()
  // It is watched once its start is recorded (adopt.ts): nothing of it is ever recorded before.
  return [
    {
      kind: 'run.started',
      ...of,
      pid: started.pid,
      startedAt: started.startedAt,
      supervisor: started.supervisor,
      base: found.commit,
      ...(launch.session === undefined ? {} : { session: launch.session }),
    },
  ]
}

/** Where the worktree stands. A first attempt in a workspace that only Berth has touched begins at its base. */
async function headBefore(
  record: Task,
  site: Site,
  workspace: Task['workspace'] & { phase: 'ready' },
): Promise<HeadState> {
  const fresh = record.runs.length === 1 && workspace.tookUp === 0 && site.policy.setup.length === 0
  if (fresh) return { is: 'head', commit: workspace.base, branch: workspace.branch }
  return headOf(inDirectory(site.repo, workspace.path))
}

/** What an earlier try left: it runs, it ended, or nobody can say (docs/decisions/0038). */
async function adopt(shell: Shell, { of, record, site }: Ground): Promise<Fact[]> {
  const dir = shell.paths.run(of.run)
  const spawn = await settled(dir)
  switch (spawn.is) {
    case 'none':
      return [{ kind: 'run.lost', ...of, reason: neverStarted }]
    case 'failed':
      return [refused(of, spawn.missing ? 'engine-missing' : 'exit', spawn.reason)]
    case 'spawning':
      await platform.endTree({ marker: markerOf(shell, of.run) }, huntLimits)
      return [{ kind: 'run.lost', ...of, reason: 'it was being started when Berth was killed' }]
    case 'spawned': {
      const base = record.workspace?.phase === 'ready' ? await baseOf(site, record.workspace) : ''
      return [
        {
          kind: 'run.started',
          ...of,
          pid: spawn.pid,
          startedAt: spawn.start,
          supervisor: spawn.supervisor.pid,
          base,
        },
      ]
    }
  }
}

/** A supervisor that lives and has not spawned yet is about to. */
async function settled(dir: string): Promise<SpawnRecord> {
  for (let waited = 0; ; waited += spawnStepMs) {
    const spawn = readSpawn(dir)
    const busy = spawn.is === 'spawning' && spawn.lockHeld
    if (!busy || waited >= spawnLimitMs || readExit(dir)) return spawn
    await new Promise(resolve => setTimeout(resolve, spawnStepMs))
  }
}

// The agent may have committed by now: what its branch began at is what its work is counted from.
async function baseOf(site: Site, workspace: { path: string; base: string }): Promise<string> {
  const found = await headOf(inDirectory(site.repo, workspace.path))
  return found.is === 'head' && found.commit === workspace.base ? found.commit : workspace.base
}

/** Attaches to a run, in the background: whatever becomes of it is recorded. */
export function watch(
  shell: Shell,
  input: { of: OfRun; record: Task; site: Pick<Site, 'policy'>; mark: number; session?: string },
): Promise<void> {
  const policy = input.site.policy.engines[input.record.spec.engine]
  const engine = policy ? engineFor(policy) : engines.command
  return shell.watch.follow({
    ...input.of,
    engine,
    quietMs: input.site.policy.quietMs,
    terminal: input.record.spec.pty,
    mark: input.mark,
    earlier: earlierUsage(input.record, input.of.run),
    speaks: engine !== engines.command,
    ...(input.session === undefined ? {} : { session: input.session }),
  })
}

/** Of the runs before it whose session it continues: some programs count a session as a whole. */
function earlierUsage(record: Task, id: string): Usage {
  const resume = runOf(record, id)?.resume
  return record.runs
    .filter(run => run.id !== id && resume !== undefined && run.session === resume)
    .map(run => run.usage)
    .reduce(
      (sum, { usd, inputTokens, outputTokens }) => ({
        usd: sum.usd + usd,
        inputTokens: sum.inputTokens + inputTokens,
        outputTokens: sum.outputTokens + outputTokens,
      }),
      noUsage,
    )
}

const refused = (of: OfRun, reason: 'engine-missing' | 'exit', evidence: string): Fact => ({
  kind: 'run.exited',
  ...of,
  code: null,
  signal: null,
  usage: noUsage,
  end: { is: 'failed', reason: reason === 'exit' ? evidence : reason, evidence, transient: false },
})
