// What a caller asks for, made whole with the project's defaults, and whether its engine can work at all.

import { type Requests, type Submission } from '../../core/api.ts'
import { type ProjectPolicy } from '../../core/config.ts'
import { BerthError } from '../../core/errors.ts'
import { type TaskSpec } from '../../core/event.ts'
import { nearest } from '../../core/nearest.ts'
import { engineFor } from '../../engines/index.ts'
import { type Repository } from '../../git/open.ts'
import { type Environment } from '../../workspace/environment.ts'
import { findProgram, missingText } from '../perform/launch.ts'

type Flags = Requests['submit']['params']['flags']

export function specOf({ spec }: Submission, policy: ProjectPolicy, flags: Flags): TaskSpec {
  const base = spec.base ?? flags.base
  return {
    title: spec.title,
    kind: spec.kind ?? 'task',
    labels: spec.labels ?? [],
    priority: spec.priority ?? 0,
    after: spec.after ?? [],
    touches: spec.touches ?? [],
    engine: spec.engine ?? (spec.command === undefined ? policy.defaultEngine : 'command'),
    land: spec.land ?? flags.land ?? policy.land,
    changes: spec.changes ?? 'required',
    stdin: spec.stdin ?? 'prompt',
    pty: spec.pty ?? false,
    ...(base === undefined ? {} : { base }),
    ...(spec.gates === undefined ? {} : { gates: spec.gates }),
    ...(spec.model === undefined ? {} : { model: spec.model }),
    ...(spec.account === undefined ? {} : { account: spec.account }),
    ...(spec.budget === undefined ? {} : { budget: spec.budget }),
    ...(spec.timeoutMs === undefined ? {} : { timeoutMs: spec.timeoutMs }),
    ...(spec.command === undefined ? {} : { command: spec.command }),
    ...(spec.cwd === undefined ? {} : { cwd: spec.cwd }),
  }
}

/** Throws `unknown-engine`, `engine-missing`, `empty-brief`, or `usage` for a command without a command line. */
export function requireEngine(
  spec: TaskSpec,
  policy: ProjectPolicy,
  { env, repo, brief }: { env: Environment; repo: Repository; brief: string },
): void {
  if (brief.trim() === '') throw new BerthError('empty-brief', `the brief of '${spec.title}' is empty`)
  const engine = policy.engines[spec.engine]
  if (!engine) {
    const names = Object.keys(policy.engines)
    const near = nearest(spec.engine, names)
    const hint = near === undefined ? `known engines: ${names.join(' ')}` : `did you mean '${near}'?`
    throw new BerthError('unknown-engine', `unknown engine '${spec.engine}'`, hint)
  }
  const adapter = engineFor(engine)
  if (engine.type === 'command' && spec.command !== undefined) return
  const program = engine.argv[0] ?? adapter.program
  if (program === '')
    throw new BerthError(
      'usage',
      `the engine '${spec.engine}' needs a command line`,
      `berth run --command 'CMD' "BRIEF"`,
    )
  // A relative path is seen from the worktree, which is not there yet.
  if (program.includes('/') && !program.startsWith('/')) return
  if (findProgram(program, { PATH: env['PATH'], cwd: repo.root }) !== undefined) return
  throw new BerthError('engine-missing', missingText(engine, adapter), adapter.install || undefined)
}
