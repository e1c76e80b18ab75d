// Requests of a program inside a run: `ask`, which blocks until a person answers, and `report`.

import { createHash } from 'node:crypto'
import { type Requests } from '../../core/api.ts'
import { BerthError } from '../../core/errors.ts'
import { type Fact } from '../../core/event.ts'
import { redactText } from '../../core/redact.ts'
import { isAlive, type Run } from '../../core/run.ts'
import { type Task } from '../../core/task.ts'
import { secretValues } from '../secrets.ts'
import { type Caller } from '../server.ts'
import { fleetOf, type Shell } from '../shell.ts'

type Ask = Requests['ask']
type Answer = Ask['answer']

const timerMaxMs = 24 * 3_600_000
const textMax = 20_000

/**
 * Records the question and waits for its answer. The same question of the same attempt is one item: whoever asks
 * again, over a restart too, gets the one answer.
 */
export async function ask(shell: Shell, params: Ask['params'], caller: Caller): Promise<Answer> {
  const { task, run } = proved(shell, params)
  const text = clean(shell, task, params.question)
  if (text.trim() === '') throw new BerthError('usage', 'the question is empty', 'berth ask "QUESTION"')
  const choices = params.choices.map(choice => clean(shell, task, choice))
  const id = questionId(run, text, choices)
  const of = { project: task.project, task: task.name, run: run.id }
  const before = answerTo(shell, of, id)
  if (before) return before
  if (!run.questions.some(question => question.id === id))
    shell.loop.record([{ kind: 'question.asked', ...of, question: { id, text, choices } }])
  return waitFor(shell, { of, id, caller, timeoutMs: params.timeoutMs })
}

export function report(shell: Shell, params: Requests['report']['params']): object {
  const { task, run } = proved(shell, params)
  const of = { project: task.project, task: task.name, run: run.id }
  const text = clean(shell, task, params.note)
  const until = params.until ?? null
  const facts: { [activity in typeof params.activity]: () => Fact } = {
    working: () => ({ kind: 'run.reported', ...of, activity: 'working', note: text, from: 'agent' }),
    blocked: () => ({ kind: 'run.reported', ...of, activity: 'blocked', note: text, from: 'agent' }),
    done: () => ({ kind: 'run.reported', ...of, activity: 'done', note: text, from: 'agent' }),
    limited: () => ({ kind: 'run.limited', ...of, until, text, from: 'agent' }),
    'signed-out': () => ({ kind: 'run.signed-out', ...of, text, from: 'agent' }),
  }
  shell.loop.record([facts[params.activity]()])
  return {}
}

/** The run that the token proves, while it lives. */
function proved(shell: Shell, { run: id, token }: { run: string; token: string }): { task: Task; run: Run } {
  const index = fleetOf(shell).runs.get(id)
  const task = index && fleetOf(shell).tasks.get(index.key)
  const run = task?.runs.find(each => each.id === id)
  if (!task || !run || !shell.tokens.is(id, token))
    throw new BerthError('not-ours', 'BERTH_RUN and BERTH_TOKEN name no run of this state directory')
  return { task, run }
}

type OfRun = { project: string; task: string; run: string }

const questionOf = (
  shell: Shell,
  of: OfRun,
  id: string,
): { run: Run; state?: string; answer?: string } | undefined => {
  const run = fleetOf(shell)
    .tasks.get(`${of.project}/${of.task}`)
    ?.runs.find(each => each.id === of.run)
  const asked = run?.questions.find(each => each.id === id)
  if (!run) return undefined
  return { run, ...(asked === undefined ? {} : { state: asked.state, answer: asked.answer ?? '' }) }
}

/** What is known of an answer by now; undefined while the question is open, or was never asked. */
function answerTo(shell: Shell, of: OfRun, id: string): Answer | undefined {
  const asked = questionOf(shell, of, id)
  if (asked?.state === 'answered') return { answer: asked.answer ?? '', how: 'answered' }
  if (asked?.state === 'declined') return { answer: null, how: 'declined' }
  if (asked?.state === 'expired') return { answer: null, how: 'timeout' }
  if (!asked || !isAlive(asked.run) || asked.run.state.phase === 'ending')
    return { answer: null, how: 'stopped' }
  return undefined
}

function waitFor(
  shell: Shell,
  { of, id, caller, timeoutMs }: { of: OfRun; id: string; caller: Caller; timeoutMs: number | undefined },
): Promise<Answer> {
  return new Promise(resolve => {
    const expire = (): void =>
      void (shell.ended.aborted || shell.loop.record([{ kind: 'question.expired', ...of, id }]))
    const timer = timeoutMs === undefined ? undefined : setTimeout(expire, Math.min(timeoutMs, timerMaxMs))
    const settle = (answer: Answer): void => {
      clearTimeout(timer)
      stop()
      shell.asking.delete(id)
      resolve(answer)
    }
    const look = (): void => {
      const answer = answerTo(shell, of, id)
      if (answer) settle(answer)
    }
    const stop = shell.loop.onEvent(event => {
      if ('run' in event && event.run === of.run) look()
    })
    shell.asking.add(id)
    // Whoever asked is gone: nobody could be given the answer.
    caller.onGone(() => answerTo(shell, of, id) === undefined && expire())
    look()
  })
}

/** A question that expired and is asked again is another one. */
function questionId(run: Run, text: string, choices: readonly string[]): string {
  const plain = createHash('sha256')
    .update(JSON.stringify([run.id, text, choices]))
    .digest('hex')
    .slice(0, 12)
  const expired = run.questions.filter(({ id, state }) => id.startsWith(plain) && state === 'expired').length
  return expired === 0 ? plain : `${plain}-${expired + 1}`
}

const clean = (shell: Shell, task: Task, text: string): string =>
  redactText(text, secretValues(shell.passed.of(task))).slice(0, textMax)
