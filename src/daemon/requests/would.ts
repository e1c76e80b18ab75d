// What `berth land --dry-run` says: what each task would do, its merge with the target tried and nothing written.

import { type Requests } from '../../core/api.ts'
import { isMendable } from '../../core/action.ts'
import { type Fleet, type Project } from '../../core/fleet.ts'
import { landingOrder } from '../../core/schedule.ts'
import { type Stage, stageOf } from '../../core/stage.ts'
import { type Task } from '../../core/task.ts'
import { list } from '../../core/words.ts'
import { tipOf } from '../../git/branch.ts'
import { type Foreseen, foreseeMerges } from '../../git/foresee.ts'
import { type Repository } from '../../git/open.ts'
import { resolveBase } from '../../git/target.ts'
import { targetOf } from '../perform/teardown.ts'

type Known = Project & { repo: Repository }
type Candidate = { task: Task; stage: Stage; target: string; commit: string | undefined }

/** In the order of their landing. Nothing is fetched: the target is what is known of it here. */
export async function wouldLand(
  fleet: Fleet,
  project: Known,
  tasks: readonly Task[],
): Promise<Requests['land']['answer']['queued']> {
  const candidates = await Promise.all(
    tasks.toSorted(landingOrder).map(async (task): Promise<Candidate> => {
      const stage = stageOf(fleet, task)
      const target = targetOf(task, project.policy?.target).replace(/^refs\/heads\//, '')
      return { task, stage, target, commit: await commitOf(project.repo, task, stage) }
    }),
  )
  const foreseen = await foreseeAll(project, candidates)
  return candidates.map(each => ({ task: each.task.name, would: wouldText(each, foreseen.get(each.task)) }))
}

/** What would be merged; undefined for what a person must see to first. */
async function commitOf(repo: Repository, task: Task, stage: Stage): Promise<string | undefined> {
  if (stage.is === 'verifying') return stage.commit
  if (stage.is === 'ready') return stage.block === undefined ? stage.verification.commit : undefined
  if (!isMendable(task, stage) || task.workspace === undefined) return undefined
  const tip = await tipOf(repo, `refs/heads/${task.workspace.branch}`)
  return tip.is === 'tip' ? tip.commit : undefined
}

async function foreseeAll(
  { repo, policy }: Known,
  candidates: readonly Candidate[],
): Promise<Map<Task, Foreseen>> {
  const found = new Map<Task, Foreseen>()
  const { remote = 'origin', mode = 'local' } = policy ?? {}
  for (const target of new Set(candidates.map(each => each.target).filter(Boolean))) {
    const base = await resolveBase(repo, { target, remote, mode })
    if (base.is !== 'base') continue
    const those = candidates.filter(each => each.target === target && each.commit !== undefined)
    const answers = await foreseeMerges(
      repo,
      base.commit,
      those.map(each => each.commit ?? ''),
    )
    for (const [index, { task }] of those.entries()) found.set(task, answers[index]!)
  }
  return found
}

function wouldText({ task, stage, target, commit }: Candidate, foreseen: Foreseen | undefined): string {
  if (foreseen?.is === 'conflict') {
    const after = foreseen.after ? ' once those before it have landed' : ''
    return `conflict with '${target}' in ${list(foreseen.paths)}${after}`
  }
  if (stage.is === 'ready' && stage.block) return stage.block.sentence
  const unsure = foreseen?.is === 'unknown' ? `; whether it merges is not known: ${foreseen.reason}` : ''
  if (isMendable(task, stage)) return `verify it as it is now, and land it if its gates pass${unsure}`
  const short = (commit ?? task.verification?.commit ?? '').slice(0, 10)
  if (stage.is === 'verifying') return `land ${short} when its gates have passed${unsure}`
  return `land ${short}${target === '' ? '' : ` on '${target}'`}${unsure}`
}
