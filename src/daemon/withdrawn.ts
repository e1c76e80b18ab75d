// Ready work that was changed afterwards: no gate has seen it, so it is verified again (docs/decisions/0019).

import { type Fact } from '../core/event.ts'
import { type Project } from '../core/fleet.ts'
import { latestRun, type Task } from '../core/task.ts'
import { type Changes, changesSince } from '../git/changes.ts'
import { inDirectory } from '../git/git.ts'
import { gatesOf, projectSite } from './perform/site.ts'
import { fleetOf, type Shell } from './shell.ts'

type Seen = Changes & { is: 'changes' }

/** The fact, if `seen` is not what was found ready; nothing while it is landing or an effect is at it. */
export function withdrawal(shell: Shell, before: Task, seen: Seen): Fact[] {
  const task = fleetOf(shell).tasks.get(before.key)
  const project = task && fleetOf(shell).projects.get(task.project)
  if (task?.verification?.is !== 'ready' || !project || isBusy(shell, task)) return []
  const { commit } = task.verification
  const reason = reasonOf(task, project, commit, seen)
  return reason === undefined
    ? []
    : [{ kind: 'task.withdrawn', project: task.project, task: task.name, commit, reason }]
}

/** Looks at the worktrees of these tasks now. What cannot be found out withdraws nothing: landing looks again. */
export async function withdrawals(shell: Shell, tasks: readonly Task[]): Promise<Fact[]> {
  const found = await Promise.all(
    tasks.map(async task => {
      const project = fleetOf(shell).projects.get(task.project)
      if (task.workspace?.phase !== 'ready' || !project?.policy) return []
      const { repo } = await projectSite(shell, project, project.policy, shell.env)
      const seen = await changesSince(inDirectory(repo, task.workspace.path), task.workspace.base)
      return seen.is === 'changes' ? withdrawal(shell, task, seen) : []
    }),
  )
  return found.flat()
}

const isBusy = (shell: Shell, task: Task): boolean =>
  (task.removal !== undefined && task.removal.phase !== 'refused') ||
  (task.landing !== undefined && task.landing.phase !== 'failed') ||
  shell.loop.inFlight().some(effect => effect.project === task.project && effect.task === task.name)

function reasonOf(task: Task, project: Project, commit: string, seen: Seen): string | undefined {
  if (seen.head !== commit)
    return `its branch is at ${seen.head.slice(0, 10)}, and ${commit.slice(0, 10)} was ready`
  if (!seen.dirty || hasWithheld(task) || gatesWrote(task, project)) return undefined
  return 'its worktree has changes that are not committed'
}

/** A gate may leave changes, or is red anyhow: neither is work that no gate has seen. */
const gatesWrote = (task: Task, { policy }: Project): boolean =>
  (task.verification?.is === 'ready' && task.verification.red !== undefined) ||
  (policy !== undefined && gatesOf(policy, task).some(gate => gate.mayWrite))

/** What Berth left uncommitted by itself stays so. */
function hasWithheld(task: Task): boolean {
  const state = latestRun(task)?.state
  return state?.phase === 'collected' && state.outcome.is === 'done' && state.outcome.withheld.length > 0
}
