// Effect `teardown`: what a task owns on disk is removed, step by step.

import { type Effect } from '../../core/effect.ts'
import { type Fact } from '../../core/event.ts'
import { latestRun, type Task } from '../../core/task.ts'
import { teardown } from '../../workspace/teardown.ts'
import { type Voice } from '../../workspace/site.ts'
import { type Shell } from '../shell.ts'
import { runRecords, secretsOf, siteOf, workspaceOf } from './site.ts'

export async function performTeardown(
  shell: Shell,
  effect: Effect & { do: 'teardown' },
  voice: Voice,
): Promise<Fact[]> {
  const { record, at, ...site } = await siteOf(shell, effect)
  const workspace = workspaceOf(record)
  const { project, task } = effect
  if (!workspace) return [{ kind: 'workspace.removed', project, task, named: [] }]
  const cwd = shell.typedAt.get(record.key)
  const trash = trashOf(shell, record)
  const commit = commitOf(record)
  const facts = await teardown(
    {
      ...site,
      task,
      mode: effect.mode,
      workspace,
      runs: runRecords(shell, record),
      ...(cwd === undefined ? {} : { cwd }),
      ...(trash === undefined ? {} : { trash }),
      ...(commit === undefined ? {} : { commit }),
      target: targetOf(record, at.policy?.target),
      secrets: secretsOf(site, record),
    },
    voice,
  )
  shell.typedAt.delete(record.key)
  return facts
}

/** Where an earlier attempt at this removal moved the directory. */
function trashOf(shell: Shell, { project, name, workspace }: Task): string | undefined {
  const from = workspace?.since.seq
  if (from === undefined) return undefined
  const moved = shell.store.read({
    project,
    task: name,
    kinds: ['workspace.aside'],
    from,
    newestFirst: true,
    limit: 1,
  })
  for (const event of moved) if (event.kind === 'workspace.aside') return event.trash
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
  const known = workspace?.phase === 'ready' ? workspace.target : undefined
  return known ?? landing?.target ?? configured ?? ''
}
