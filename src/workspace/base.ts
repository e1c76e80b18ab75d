// The commit a task starts from: the target's tip, a revision, or the ready commits of its dependencies.

import { type Fact, type TaskName } from '../core/event.ts'
import { gitCall } from '../core/shellword.ts'
import { count } from '../core/words.ts'
import { findTarget, resolveBase } from '../git/target.ts'
import { type Site } from './site.ts'
import { mergeCommits } from './mergespace.ts'

/** From where the task starts (docs/decisions/0018). */
export type Start =
  | { is: 'target' }
  | { is: 'revision'; revision: string }
  /** Where it once began, with how that was decided. */
  | { is: 'again'; base: string; rule: string; target: string }
  /** The ready commits of its dependencies, under `--land never`. */
  | { is: 'dependencies'; commits: { task: TaskName; commit: string }[] }

export type Base =
  | { is: 'base'; commit: string; rule: string; target: string; notices: string[] }
  /** It cannot start: these facts say why. Nothing was made. */
  | { is: 'none'; facts: Fact[] }

/** Asks for the target and resolves the base; fetches at most once a minute where the policy says so. */
export async function findBase(site: Site, task: TaskName, start: Start, signal: AbortSignal): Promise<Base> {
  if (start.is === 'again') {
    const { base: commit, rule, target } = start
    return { is: 'base', commit, rule, target, notices: [] }
  }
  const { repo, policy } = site
  const of = { project: site.project, task }
  const failed = (what: string, hint: string): Base => ({
    is: 'none',
    facts: [{ kind: 'workspace.failed', ...of, step: 'base', reason: what, hint }],
  })
  const { target: configured, remote, mode, fetchTimeoutMs: timeoutMs } = policy
  const target = await findTarget(repo, { target: configured, remote, timeoutMs, signal })
  if (target.is === 'missing') return failed(target.what, target.hint)
  const { branch, notices } = target
  if (start.is === 'dependencies' && start.commits.length > 0) {
    const merged = await mergeCommits(site, start.commits, signal)
    if (merged.is === 'merged')
      return { is: 'base', commit: merged.commit, rule: 'dependency', target: branch, notices }
    const step = merged.is === 'conflict' ? 'conflict' : 'base'
    return { is: 'none', facts: [{ kind: 'workspace.failed', ...of, step, reason: merged.reason }] }
  }
  const base = await resolveBase(repo, {
    target: branch,
    remote,
    mode,
    signal,
    ...(start.is === 'revision' ? { base: start.revision } : {}),
    ...(policy.fetch ? { fetch: { state: site.fetchState, now: site.now(), timeoutMs } } : {}),
  })
  if (base.is === 'missing') return failed(base.what, base.hint)
  if (base.is === 'unknown') return failed(base.reason, gitCall(site.repo.root, 'status'))
  if (base.is === 'diverged') {
    const { ahead, behind, local, remote: there } = base
    const detail =
      `'${branch}' and its remote branch have diverged: ${count(ahead, 'commit')} only here (${local.slice(0, 12)}), ` +
      `${behind} only there (${there.slice(0, 12)})`
    return { is: 'none', facts: [{ kind: 'task.held', ...of, reason: 'diverged', detail }] }
  }
  const rule = start.is === 'revision' ? 'option' : target.rule
  return { is: 'base', commit: base.commit, rule, target: branch, notices: [...notices, ...base.notices] }
}
