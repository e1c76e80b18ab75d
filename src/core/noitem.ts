// That there is no open item of an id or a task: it was answered already, or another of a near name is meant.

import { openItems } from './attention.ts'
import { type Clock } from './clock.ts'
import { BerthError } from './errors.ts'
import { type Fleet } from './fleet.ts'
import { nearest } from './nearest.ts'
import { type Asked, questionId } from './run.ts'
import { shellWord } from './shellword.ts'
import { type Task } from './task.ts'

type Wanted = { item: string; project?: string }

/** `not-found` for an item that `findItems` does not find. */
export function noItem(fleet: Fleet, clock: Clock, { item, project }: Wanted): BerthError {
  const settled = settledQuestion(fleet, { item, ...(project === undefined ? {} : { project }) })
  if (settled !== undefined)
    return new BerthError('not-found', `'${settled.id}' is ${endOf(settled.asked)}`, 'berth inbox')
  const open = openItems(fleet, clock).filter(one => project === undefined || one.project === project)
  const near = nearest(
    item,
    open.flatMap(({ id, task }) => [id, ...(task === undefined ? [] : [task.name])]),
  )
  return near === undefined
    ? new BerthError('not-found', `there is no open item '${item}', nor of such a task`, 'berth inbox')
    : new BerthError(
        'not-found',
        `there is no open item '${item}'; did you mean '${near}'?`,
        `berth answer ${shellWord(near)}`,
      )
}

/** The question of that id, or the last that a task of that name asked. */
function settledQuestion(fleet: Fleet, { item, project }: Wanted): { id: string; asked: Asked } | undefined {
  const tasks = [...fleet.tasks.values()].filter(task => project === undefined || task.project === project)
  const asked = (task: Task) =>
    task.runs.flatMap(({ questions }) =>
      questions.map(one => ({ id: questionId(task.name, one), asked: one })),
    )
  return (
    tasks.flatMap(asked).find(({ id }) => id === item) ??
    tasks.filter(({ name }) => name === item).flatMap(task => asked(task).at(-1) ?? [])[0]
  )
}

function endOf({ state, answer }: Asked): string {
  switch (state) {
    case 'answered':
      return `already answered: ${answer ?? ''}`
    case 'declined':
      return 'already declined'
    case 'expired':
    case 'open':
      return 'no longer asked: nobody answered it in time'
  }
}
