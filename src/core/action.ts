// The ways out of an attention item: what a person can choose, and what fact the choice becomes.

import { type Action } from './api.ts'
import { type Item } from './attention.ts'
import { type Fact, type TeardownMode } from './event.ts'
import { nearest } from './nearest.ts'
import { type Astray } from './outcome.ts'
import { gitCall, shellWord } from './shellword.ts'
import { type Stage } from './stage.ts'
import { type Task, isBare, keepsChanging, latestRun } from './task.ts'
import { plainRemoval } from './workspace.ts'

/** An action with the facts that it becomes. */
type Way = Action & { facts(by: string): Fact[] }

export type Answered = { is: 'facts'; facts: Fact[] } | { is: 'refused'; reason: string; hint: string }

export const actionsOf = (item: Item): Action[] =>
  waysOf(item).map(({ key, label, command }) => ({ key, label, command }))

/** What an answer to an item becomes. `null` declines a question. */
export function answerFacts(item: Item, answer: string | null, by: string): Answered {
  const { subject, id, project, task } = item
  const of = { project, ...(task === undefined ? {} : { task: task.name }) }
  const answered: Fact = { kind: 'attention.answered', item: id, answer: answer ?? '', by, ...of }
  if (subject.is === 'question') {
    const { run, question } = subject
    const { choices } = question
    if (answer === '' || (answer !== null && choices.length > 0 && !choices.includes(answer)))
      return refused(item, answer, choices)
    const fact: Fact = {
      kind: 'question.answered',
      project,
      task: subject.task.name,
      run: run.id,
      id: question.id,
      answer,
      by,
    }
    return { is: 'facts', facts: [fact, answered] }
  }
  const ways = waysOf(item)
  const way = ways.find(({ key }) => key === answer)
  if (way === undefined)
    return refused(
      item,
      answer ?? '',
      ways.map(({ key }) => key),
    )
  return { is: 'facts', facts: [...way.facts(by), answered] }
}

function refused(item: Item, answer: string, choices: string[]): Answered {
  const list = choices.map(choice => `'${choice}'`).join(', ')
  const reason =
    answer === ''
      ? `'${item.id}' wants ${choices.length === 0 ? 'an answer' : `one of ${list}`}`
      : `'${answer}' is no answer to '${item.id}': it takes ${list}`
  // A choice that nobody came near to is not put into anybody's mouth.
  const near = nearest(answer, choices)
  const hint = near === undefined ? 'berth inbox' : `berth answer ${item.id} ${shellWord(near)}`
  return { is: 'refused', reason, hint }
}

function waysOf(item: Item): Way[] {
  const { subject } = item
  switch (subject.is) {
    case 'question':
      return subject.question.choices.length > 0
        ? subject.question.choices.map(choice => answerWay(item, choice, choice, []))
        : [
            {
              key: 'text',
              label: 'answer in your own words',
              command: `berth answer ${item.id}`,
              facts: () => [],
            },
          ]
    case 'run':
      return runWays(item, subject.task, subject.run.id)
    case 'task':
      return taskWays(item, subject.task)
    case 'held': {
      const released = subject.tasks.map(
        task => ({ kind: 'task.released', reason: subject.reason, ...of(task) }) as const,
      )
      const opened = subject.reason === 'disk' ? [{ kind: 'admission.opened', by: 'answer' } as const] : []
      return [answerWay(item, 'resume', 'try again', [...opened, ...released])]
    }
    case 'consent': {
      const { id: project, hash } = subject.project
      return [
        byWay(item, 'approve', 'let Berth run these commands', by => [
          { kind: 'consent.given', project, hash, by },
        ]),
      ]
    }
    case 'refused':
      return [{ key: 'config', label: 'see the configuration', command: 'berth config', facts: () => [] }]
    case 'account': {
      const { engine, account } = subject
      return [
        byWay(item, 'done', `signed in again: go on`, by => [
          { kind: 'account.signed-in', engine, account, by },
        ]),
      ]
    }
    case 'disk':
      return [byWay(item, 'resume', 'there is room again: go on', by => [{ kind: 'admission.opened', by }])]
    case 'damaged':
      return [answerWay(item, 'seen', 'noted', [])]
  }
}

const of = (task: Task): { project: string; task: string } => ({ project: task.project, task: task.name })

const byWay = (item: Item, key: string, label: string, facts: (by: string) => Fact[]): Way => ({
  key,
  label,
  command: `berth answer ${item.id} ${shellWord(key)}`,
  facts,
})

const answerWay = (item: Item, key: string, label: string, facts: readonly Fact[]): Way =>
  byWay(item, key, label, () => [...facts])

function runWays(item: Item, task: Task, run: string): Way[] {
  const stop: Way = {
    key: 'stop',
    label: 'stop it, keep the workspace',
    command: `berth stop ${task.name}`,
    facts: by => [{ kind: 'task.stopped', by, ...of(task) }],
  }
  const facts = [
    { kind: 'run.reported', run, activity: 'working', note: '', from: 'clock', ...of(task) } as const,
  ]
  return [answerWay(item, 'wait', 'let it go on', facts), stop]
}

function taskWays(item: Item, task: Task): Way[] {
  switch (item.kind) {
    case 'leftover':
      return task.removal === undefined ? [retryWay(task), removeWay(task, {})] : leftoverWays(task)
    case 'approve':
      return [approveWay(item, task), retryWay(task), removeWay(task, {})]
    case 'conflict':
      return [
        retryWay(task),
        ...resolveWays(item, task),
        landWay(item, task, 'you resolved and committed it: land it'),
        removeWay(task, {}),
      ]
    case 'target':
      // Another attempt would meet the same files in the same checkout.
      return [
        landWay(item, task, landLabel(task)),
        ...(isTargetBusy(task) ? [] : [retryWay(task)]),
        removeWay(task, {}),
      ]
    case 'gate':
      return [retryWay(task), landWay(item, task, asItIs), removeWay(task, {})]
    case 'decide':
      return decideWays(item, task)
    default: {
      const accept = acceptWay(item, task)
      const stage = item.subject.is === 'task' ? item.subject.stage : undefined
      const lands = stage !== undefined && isMendable(task, stage) && hasCommits(task)
      return [
        retryWay(task),
        ...(accept === undefined ? [] : [accept]),
        ...(lands ? [landWay(item, task, asItIs)] : []),
        removeWay(task, {}),
      ]
    }
  }
}

const retryWay = (task: Task): Way => ({
  key: 'retry',
  label: 'another attempt',
  command: `berth retry ${task.name}`,
  facts: by => [{ kind: 'task.retried', by, ...of(task) }],
})

const asItIs = 'verify it as it is now, and land it'

const isTargetBusy = ({ landing }: Task): boolean =>
  landing?.phase === 'failed' && landing.failure.is === 'target-busy'

function landLabel(task: Task): string {
  if (task.landing === undefined) return 'test it on the target as it is now, and land it'
  return isTargetBusy(task)
    ? 'commit or stash in that checkout what is in the way, then land it'
    : 'try to land it again'
}

const landWay = ({ subject }: Item, task: Task, label: string): Way => ({
  key: 'land',
  label,
  command: `berth land ${task.name}`,
  facts: by => landFacts(task, subject.is === 'task' ? subject.stage : undefined, by),
})

/** An order to land. Work that failed for what it is has perhaps been mended by hand: it is looked at again. */
export function landFacts(task: Task, stage: Stage | undefined, by: string): Fact[] {
  const asked: Fact = { kind: 'task.land-asked', by, ...of(task) }
  if (stage === undefined || !isMendable(task, stage)) return [asked]
  const commit = stage.is === 'decide' ? stage.commit : (task.verification?.commit ?? '')
  return [{ kind: 'task.withdrawn', commit, reason: 'a person asked to land it', by, ...of(task) }, asked]
}

/** Whether a person can mend by hand, in its worktree, why it goes no further, and then land it. */
export function isMendable(task: Task, stage: Stage): boolean {
  if (stage.is === 'decide') return true
  if (stage.is !== 'failed') return false
  if (stage.code === 'gate' || stage.code === 'conflict') return true
  // Work that is verified was not landed for another reason: that is tried again as it is.
  const isUnverified = task.verification?.is !== 'ready' && latestRun(task)?.state.phase === 'collected'
  return isUnverified && task.workspace?.phase === 'ready'
}

/** Whether an attempt is known to have made commits. */
const hasCommits = ({ runs }: Task): boolean =>
  runs.some(({ state }) => {
    if (state.phase !== 'collected') return false
    const { outcome } = state
    return outcome.is === 'done' || ('commit' in outcome && outcome.commit !== undefined)
  })

/** What to type first where a person resolves a conflict with the target: in the worktree, never in a checkout. */
function resolveWays({ subject }: Item, { workspace }: Task): Way[] {
  const onto = subject.is === 'task' && subject.stage.is === 'failed' ? subject.stage.onto : undefined
  if (workspace?.phase !== 'ready' || onto === undefined) return []
  const command = gitCall(workspace.path, 'merge', onto)
  return [{ key: 'resolve', label: 'resolve it by hand, and commit', command, facts: () => [] }]
}

function removeWay(task: Task, how: Partial<TeardownMode>): Way {
  const flag = how.discard === true ? ' --discard' : how.save === true ? ' --save' : ''
  const label =
    how.discard === true
      ? 'remove it and lose what is named'
      : how.save === true
        ? 'save its work and remove it'
        : 'remove it'
  const mode: TeardownMode = { ...plainRemoval, ...how }
  return {
    key: how.discard === true ? 'discard' : how.save === true ? 'save' : 'rm',
    label,
    command: `berth rm ${task.name}${flag}`,
    facts: by => [
      isBare(task)
        ? { kind: 'task.dropped', by, ...of(task) }
        : { kind: 'teardown.asked', mode, ...of(task) },
    ],
  }
}

const leftoverWays = (task: Task): Way[] =>
  task.removal?.phase === 'refused'
    ? [
        { ...removeWay(task, {}), label: 'look again, and remove it' },
        removeWay(task, { save: true }),
        removeWay(task, { discard: true }),
      ]
    : [
        removeWay(task, {
          save: task.removal?.mode.save ?? false,
          discard: task.removal?.mode.discard ?? false,
        }),
      ]

function approveWay(item: Item, task: Task): Way {
  const commit = task.verification?.commit ?? ''
  const what = item.code === 'protected' ? 'protected' : 'uncommitted-work'
  return byWay(item, 'approve', 'land exactly this commit', by => [
    { kind: 'task.approved', commit, what, by, ...of(task) },
  ])
}

function decideWays(item: Item, task: Task): Way[] {
  const run = latestRun(task)
  if (item.subject.is !== 'task' || item.subject.stage.is !== 'decide') {
    const reason = 'a person takes the branch as it is now'
    const commit = task.verification?.commit ?? ''
    return [
      byWay(item, 'take', 'verify the branch as it is now', by => [
        { kind: 'task.withdrawn', commit, reason, by, ...of(task) },
      ]),
      removeWay(task, {}),
    ]
  }
  const { commit } = item.subject.stage
  const state = run?.state
  const outcome = state?.phase === 'collected' ? state.outcome : undefined
  const take = (by: string): Fact => ({
    kind: 'task.withdrawn',
    commit,
    reason: 'a person asked to look again',
    by,
    ...of(task),
  })
  const again =
    run === undefined ? [] : [byWay(item, 'look-again', 'look at the worktree again', by => [take(by)])]
  const others = [...again, retryWay(task), removeWay(task, {})]
  if (outcome?.is === 'astray' && canTake(outcome)) {
    const adopt = byWay(item, 'take', 'its branch takes up that commit', by => [
      { kind: 'task.approved', commit, what: 'astray', by, ...of(task) },
      take(by),
    ])
    return [adopt, ...others]
  }
  if (outcome?.is !== 'done' || outcome.withheld.length === 0 || keepsChanging(task)) return others
  const isAsItIs = outcome.withheld.every(({ committed, why }) => committed || why === 'operation')
  const goOn = isAsItIs ? 'go on with its commits as they are' : 'go on without these files'
  const approve = byWay(item, 'go-on', goOn, by => [
    { kind: 'task.approved', commit, what: 'withheld', by, ...of(task) },
  ])
  const isOpen = outcome.withheld.some(({ why }) => why === 'operation')
  const finished = isOpen ? [landWay(item, task, 'you finished and committed it: land it')] : []
  return [approve, ...finished, ...others]
}

/** Whether the task's branch only has to go forward. */
const canTake = ({ behind, operation }: Astray): boolean => behind === 0 && operation === undefined

function acceptWay(item: Item, task: Task): Way | undefined {
  const run = latestRun(task)
  if (item.code !== 'no-work' || run?.state.phase !== 'collected') return undefined
  const { outcome } = run.state
  const commit = outcome.is === 'no-work' ? (outcome.commit ?? run.base) : run.base
  if (commit === undefined) return undefined
  return byWay(item, 'accept', 'it is done as it is', by => [
    { kind: 'task.approved', commit, what: 'no-work', by, ...of(task) },
  ])
}
