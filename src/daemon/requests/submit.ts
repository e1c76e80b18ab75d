// Request `submit`: every task is checked before anything is recorded, then all are recorded in one batch.

import { createHash } from 'node:crypto'
import { dirname } from 'node:path'
import { type Requests, type Submission, type SubmitAnswer } from '../../core/api.ts'
import { BerthError } from '../../core/errors.ts'
import { type Fact, type TaskSpec } from '../../core/event.ts'
import { accountKey } from '../../core/fleet.ts'
import { nameProblem, slugOf, uniqueName } from '../../core/names.ts'
import { redactText } from '../../core/redact.ts'
import { isGone, keyOf, liveRun, type Task } from '../../core/task.ts'
import { statusOf } from '../../core/status.ts'
import { listProblem } from '../../core/tasklist.ts'
import { type Repository } from '../../git/open.ts'
import { namedBase } from '../../git/target.ts'
import { atomicWrite, privateDir } from '../../store/files.ts'
import { type Environment } from '../../workspace/environment.ts'
import { requireGatePrograms } from '../gateprograms.ts'
import { handedNames } from '../perform/site.ts'
import { secretValues } from '../secrets.ts'
import { type Caller } from '../server.ts'
import { fleetOf, type Shell } from '../shell.ts'
import { consentFacts, type Opened, openProject, projectFacts } from './project.ts'
import { requireEngine, specOf } from './spec.ts'

type Params = Requests['submit']['params']

/** Checks all, then records all; two racing submissions of one task never both make it. */
export async function submit(shell: Shell, params: Params, caller: Caller): Promise<SubmitAnswer> {
  const { env, tasks: submissions, flags } = params
  const jobs = flags.jobs === undefined ? {} : { jobs: flags.jobs }
  const opened = await openProject(shell, { dir: params.repo, env, flags: jobs })
  const { repo, configured } = opened
  const consent = consentFacts(shell, opened, { trust: params.trust, must: true })
  requireGatePrograms(configured.policy.gates, env, at => configured.placeOf(['gates', at]))
  const specs = submissions.map(each => specOf(each, configured.policy, flags))
  requireGatePrograms(
    specs.flatMap(({ gates = [] }) => gates.map(run => ({ name: run, run }))),
    env,
  )
  for (const [i, spec] of specs.entries())
    requireEngine(spec, configured, { env, repo, brief: submissions[i]!.brief })
  for (const base of new Set(specs.flatMap(spec => spec.base ?? []))) await requireRevision(repo, base)
  // From here on nothing waits: what is found free is taken before anyone else can ask.
  const plan = planOf(shell, { ...params, project: repo.id }, specs, caller)
  const fresh = plan.filter(each => each.state === 'submitted')
  if (fresh.length > 0) shell.spares.expect(Math.min(fresh.length, fleetOf(shell).limits.jobs))
  shell.passed.put(params.call, env)
  shell.loop.record([
    ...projectFacts(shell, opened),
    ...consent,
    ...limitFacts(shell, opened, flags.jobs),
    ...(fleetOf(shell).admission === 'closed' ? [{ kind: 'admission.opened', by: 'run' } as const] : []),
    ...plan.flatMap(each => factsOf(shell, each, params, opened)),
  ])
  const mine = plan.filter(each => each.state !== 'already-running')
  const keys = mine.map(({ name }) => keyOf({ project: repo.id, task: name }))
  shell.calls.attend(caller, params.call, keys)
  return { tasks: plan.map(each => answerOf(each)), notices: opened.notices }
}

type Planned = {
  submission: Submission
  spec: TaskSpec
  name: string
  digest: string
  sha256: string
  state: SubmitAnswer['tasks'][number]['state']
  /** The live task that it is, if it is there already. */
  task?: Task
}

function planOf(
  shell: Shell,
  { tasks: submissions, project, call }: Params & { project: string },
  specs: readonly TaskSpec[],
  caller: Caller,
): Planned[] {
  const own = [...fleetOf(shell).tasks.values()].filter(task => task.project === project)
  const byName = new Map(own.map(task => [task.name, task]))
  const taken = new Set(submissions.flatMap(({ name }) => name ?? []))
  const plan: Planned[] = []
  for (const [i, submission] of submissions.entries()) {
    const spec = specs[i]!
    const sha256 = sha256Of(submission.brief)
    const digest = digestOf(submission, sha256)
    const seen = plan.map(({ name }) => name)
    const free = (): string => uniqueName(slugOf(spec.title), [...taken, ...byName.keys(), ...seen])
    const same = submission.name === undefined ? sameAsBefore(byName, spec, digest, seen) : undefined
    const name = submission.name ?? same ?? free()
    requireName(name, seen)
    const task = byName.get(name)
    const wanted = { spec, name, digest, sha256 }
    plan.push({ submission, ...wanted, ...stateOf(shell, task, { ...wanted, call, caller }) })
  }
  requireOrder(plan, [...byName.keys()])
  return plan
}

/** A brief without a name of its own that was given before is the same task, if its name follows from its title. */
function sameAsBefore(
  byName: Map<string, Task>,
  spec: TaskSpec,
  digest: string,
  seen: readonly string[],
): string | undefined {
  const slug = slugOf(spec.title)
  for (const [name, task] of byName)
    if (task.digest === digest && !seen.includes(name) && (name === slug || /^.*-\d+$/.test(name)))
      return name
  return undefined
}

function requireName(name: string, seen: readonly string[]): void {
  const problem = nameProblem(name)
  if (problem !== undefined)
    throw new BerthError(
      'bad-name',
      `'${name}' cannot be the name of a task: ${problem}`,
      `berth run --name ${slugOf(name)} "BRIEF"`,
    )
  if (seen.includes(name))
    throw new BerthError('bad-name', `two tasks have the name '${name}'`, 'berth ls --all')
}

async function requireRevision(repo: Repository, base: string): Promise<void> {
  const found = await namedBase(repo, base)
  if (found.is === 'missing') throw new BerthError('not-found', found.what, found.hint)
}

function requireOrder(plan: readonly Planned[], known: string[]): void {
  const list = plan.map(({ name, submission, spec }) => ({ ...submission, name, after: spec.after }))
  const problem = listProblem(list, known)
  if (problem) throw new BerthError(problem.code, problem.message, 'berth ls --all')
}

function stateOf(
  shell: Shell,
  task: Task | undefined,
  { digest, call, caller, ...wanted }: Wanted & { digest: string; call: string; caller: Caller },
): Pick<Planned, 'state' | 'task'> {
  if (!task) return { state: 'submitted' }
  const landed = task.landing?.phase === 'landed'
  if (landed && task.digest === digest) return { state: 'landed', task }
  if (isGone(task)) return { state: 'submitted' }
  if (task.digest !== digest) throw nameTaken(task, wanted)
  const mine = task.call === call
  return {
    state: mine ? 'submitted' : shell.calls.isAttended(task.key, caller) ? 'already-running' : 'joined',
    task,
  }
}

type Wanted = Pick<Planned, 'spec' | 'sha256'>

/** Another task has the name: what is not the same in it, and the way out. */
function nameTaken(task: Task, { spec, sha256 }: Wanted): BerthError {
  const keys = [...new Set([...Object.keys(task.spec), ...Object.keys(spec)])] as (keyof TaskSpec)[]
  const others = keys.filter(
    key => key !== 'title' && JSON.stringify(task.spec[key]) !== JSON.stringify(spec[key]),
  )
  const isSame = task.brief.sha256 === sha256
  const what = [
    ...(isSame ? [] : ['brief']),
    ...others.map(key => key.replace(/Ms$|(?<=label|gate|change)s$/, '')),
  ]
  const other = what.length === 0 ? 'other flags' : `another ${what.join(', another ')}`
  const message = `a task '${task.name}' with ${other} is there already; remove it, or give this one another name`
  return new BerthError('name-taken', message, `berth ${isSame ? 'rm' : 'show'} ${task.name}`)
}

function factsOf(
  shell: Shell,
  planned: Planned,
  { call, env }: Params,
  { repo, configured }: Opened,
): Fact[] {
  const { name, spec, digest, sha256, submission, task } = planned
  const of = { project: repo.id, task: name }
  if (task) return planned.state === 'joined' ? goOnFacts(shell, task, env) : []
  const bytes = Buffer.byteLength(submission.brief)
  const file = shell.paths.brief(repo.id, name, sha256)
  privateDir(dirname(file))
  atomicWrite(file, submission.brief)
  const names = handedNames(spec.engine, configured.policy).filter(each => env[each] !== undefined)
  return [
    {
      kind: 'task.submitted',
      ...of,
      spec: { ...spec, title: redactText(spec.title, secretValues(env)) },
      brief: { file, bytes, sha256 },
      call,
      passed: { path: env['PATH'] ?? '', names },
      digest,
    },
  ]
}

/** `run` again of a task that rests: it goes on. */
function goOnFacts(shell: Shell, task: Task, env: Environment): Fact[] {
  const of = { project: task.project, task: task.name }
  // Its keys are here again (docs/decisions/0014).
  shell.passed.put(task.call, env)
  const { engine, account = '' } = task.spec
  if (fleetOf(shell).signedOut.has(accountKey(engine, account)))
    return [{ kind: 'account.signed-in', engine, account, by: 'run' }]
  if (task.stopped !== undefined || task.awaitsResume || task.held !== undefined)
    return [{ kind: 'task.resumed', by: 'run', ...of }]
  const { status } = statusOf(fleetOf(shell), task, shell.loop.clock())
  return status === 'failed' && liveRun(task) === undefined
    ? [{ kind: 'task.retried', by: 'run', ...of }]
    : []
}

function limitFacts(shell: Shell, { configured }: Opened, jobs: number | undefined): Fact[] {
  const fleet = fleetOf(shell)
  const wanted = configured.limits
  const idle = fleet.live.size === 0
  if (jobs === undefined && !idle) return []
  if (JSON.stringify(wanted) === JSON.stringify(fleet.limits)) return []
  return [{ kind: 'limits.set', limits: wanted }]
}

function answerOf({ name, state, task }: Planned): SubmitAnswer['tasks'][number] {
  if (task === undefined || state === 'submitted') return { task: name, state }
  // The workspace of what has landed is gone.
  const isLanded = state === 'landed'
  const since = isLanded ? (task.landing?.since ?? task.submitted) : task.submitted
  return {
    task: name,
    state,
    since: new Date(since.at).toISOString(),
    ...(task.workspace === undefined || isLanded ? {} : { where: task.workspace.path }),
  }
}

const sha256Of = (text: string): string => createHash('sha256').update(text).digest('hex')

/** Of what was asked for, whatever the defaults were at the time. */
const digestOf = ({ spec }: Submission, sha256: string): string =>
  sha256Of(JSON.stringify([sha256, Object.entries(spec).sort(([a], [b]) => (a < b ? -1 : 1))]))
