// Effect `teardown`: what a task owns on disk is removed, step by step.

import { type Effect } from '../../core/effect.ts'
import { type Fact } from '../../core/event.ts'
import { latestRun, type Task } from '../../core/task.ts'
import { nothingOfOurs } from '../../workspace/refuse.ts'
import { teardown, type TeardownInput } from '../../workspace/teardown.ts'
import { type Site, type Voice } from '../../workspace/site.ts'
import { type Shell } from '../shell.ts'
import { runRecords, secretsOf, siteOf, workspaceOf } from './site.ts'

export async function performTeardown(
  shell: Shell,
  effect: Effect & { do: 'teardown' },
  voice: Voice,
): Promise<Fact[]> {
  const { record, at: _at, ...site } = await siteOf(shell, effect)
  const { project, task, mode } = effect
  const known = removalRecord(shell, site, record)
  if (!known || (await wasNeverMade(site, record, known)))
    return [{ kind: 'workspace.removed', project, task, named: [] }]
  const cwd = shell.typedAt.get(record.key)
  const gone = record.workspace?.phase === 'removed'
  const facts = await teardown(
    { ...site, ...known, mode, gone, ...(cwd === undefined ? {} : { cwd }) },
    voice,
  )
  shell.typedAt.delete(record.key)
  return facts
}

/** Its making failed, and nothing of it is there: what lies at its path, and its branch, are somebody else's. */
async function wasNeverMade(site: Site, { workspace, runs }: Task, known: Known): Promise<boolean> {
  const isOver = workspace?.phase === 'failed' || workspace?.phase === 'removed'
  return isOver && runs.length === 0 && known.workspace.base === undefined && nothingOfOurs(site, known)
}

type Known = Pick<TeardownInput, 'task' | 'workspace' | 'runs' | 'commit' | 'target' | 'trash' | 'secrets'>

/** What the records say about a removal; undefined where nothing was ever made. */
export function removalRecord(shell: Shell, site: Site, record: Task): Known | undefined {
  const workspace = workspaceOf(record)
  if (!workspace) return undefined
  const trash = trashOf(shell, record)
  const commit = commitOf(record) ?? keptAt(shell, record)
  return {
    task: record.name,
    workspace,
    runs: runRecords(shell, record),
    target: targetOf(record, site.policy.target),
    secrets: secretsOf(site, record),
    ...(trash === undefined ? {} : { trash }),
    ...(commit === undefined ? {} : { commit }),
  }
}

/** Where an earlier attempt at this removal moved the directory. */
function trashOf(shell: Shell, record: Task): string | undefined {
  const moved = lastOf(shell, record, 'workspace.aside', record.workspace?.since.seq)
  return moved?.kind === 'workspace.aside' ? moved.trash : undefined
}

/** Where the branch stood when its workspace was removed. */
function keptAt(shell: Shell, record: Task): string | undefined {
  if (record.workspace?.phase !== 'removed') return undefined
  const kept = lastOf(shell, record, 'branch.kept', record.submitted.seq)
  return kept?.kind === 'branch.kept' && kept.commit !== '' ? kept.commit : undefined
}

function lastOf(
  shell: Shell,
  { project, name }: Task,
  kind: Fact['kind'],
  from: number | undefined,
): Fact | undefined {
  if (from === undefined) return undefined
  const query = { project, task: name, kinds: [kind], from, newestFirst: true, limit: 1 }
  for (const event of shell.store.read(query)) return event
  return undefined
}

/** The last commit that Berth recorded for the branch. */
export function commitOf(task: Task): string | undefined {
  if (task.verification) return task.verification.commit
  if (task.landing) return task.landing.commit
  const run = latestRun(task)
  return run?.state.phase === 'collected' && run.state.outcome.is === 'done'
    ? run.state.outcome.commit
    : undefined
}

export function targetOf({ workspace, landing }: Task, configured: string | null | undefined): string {
  const known = workspace && 'target' in workspace ? workspace.target : undefined
  return known ?? landing?.target ?? configured ?? ''
}
