// What a caller asks for, made whole with the project's defaults, and whether its engine can work at all.

import { type Requests, type Submission } from '../../core/api.ts'
import { type ProjectPolicy } from '../../core/config.ts'
import { BerthError } from '../../core/errors.ts'
import { type TaskSpec } from '../../core/event.ts'
import { engineFor } from '../../engines/index.ts'
import { type Repository } from '../../git/open.ts'
import { type Environment } from '../../workspace/environment.ts'
import { type Configured, settingError, unknownEngine } from '../configure.ts'
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
  { policy, placeOf }: Pick<Configured, 'policy' | 'placeOf'>,
  { env, repo, brief }: { env: Environment; repo: Repository; brief: string },
): void {
  if (brief.trim() === '')
    throw new BerthError(
      'empty-brief',
      `the brief of '${spec.title}' is empty`,
      'berth run "what is to be done"',
    )
  const engine = policy.engines[spec.engine]
  if (!engine)
    throw new BerthError(
      'unknown-engine',
      unknownEngine(spec.engine, Object.keys(policy.engines)),
      'berth doctor',
    )
  const adapter = engineFor(engine)
  if (engine.type === 'command' && spec.command !== undefined) return
  const program = engine.argv[0] ?? adapter.program
  if (program === '')
    throw settingError('usage', `the engine '${spec.engine}' needs a command line`, {
      place: placeOf(['engines', spec.engine]),
      hint: `berth run --command 'CMD' "BRIEF"`,
    })
  // A relative path is seen from the worktree, which is not there yet.
  if (program.includes('/') && !program.startsWith('/')) return
  if (findProgram(program, { PATH: env['PATH'], cwd: repo.root }) !== undefined) return
  throw settingError('engine-missing', missingText(engine, adapter), {
    place: placeOf(['engines', spec.engine, 'argv', 0]),
    hint: adapter.install || 'berth doctor',
  })
}
