// `berth answer`: answers an item; the agent gets it.

import { type ItemView } from '../../core/api.ts'
import { BerthError } from '../../core/errors.ts'
import { type Client } from '../../daemon/client.ts'
import { type Command, repoOf, person, withClient } from '../io.ts'

export const answer: Command<{ decline?: boolean }> = async (io, { args, options }) => {
  const [item = '', ...words] = args
  const text = words.join(' ')
  if (options.decline && text !== '') {
    throw new BerthError(
      'usage',
      `'--decline' and the answer '${text}' exclude each other`,
      `berth answer ${item} --decline`,
    )
  }
  const given = options.decline ? null : text
  const repo = repoOf(io, options)
  const { answered, resting } = await withClient(io, { need: 'write' }, async client => {
    if (given === '') throw await howToAnswer(await client.call('inbox', { repo, here: io.cwd }), item)
    const { item: answered } = await client.call('answer', { repo, item, answer: given, by: person })
    return { answered, resting: await isResting(client, answered) }
  })
  if (options.json) io.print.json({ berth: 1, item: answered })
  else io.print.out(toldOf(answered, given))
  if (resting) io.print.hint('berth resume')
  return 0
}

const toldOf = ({ id, task }: ItemView, given: string | null): string =>
  `${given === null ? 'declined' : 'answered'} '${id}'${task === null ? '' : ` of '${task}'`}`

/** The answer is recorded, but nothing that it allows is begun: no loop that may start something is there. */
async function isResting(client: Client, { task }: ItemView): Promise<boolean> {
  return task !== null && (await client.call('status', {})).admission === 'closed'
}

/** Without an answer: what could be one. */
async function howToAnswer(
  {
    items,
  }: {
    items: {
      id: string
      task: string | null
      question?: { choices: string[] }
      actions: { command: string }[]
    }[]
  },
  wanted: string,
): Promise<BerthError> {
  const item = items.find(one => one.id === wanted) ?? items.find(one => one.task === wanted)
  if (!item)
    return new BerthError('not-found', `there is no open item '${wanted}', nor of such a task`, 'berth inbox')
  const choices = item.question?.choices ?? []
  const hint =
    choices.length > 0
      ? `berth answer ${item.id} '${choices[0]}'`
      : (item.actions[0]?.command ?? 'berth inbox')
  return new BerthError('usage', `the answer to '${item.id}' is missing`, hint)
}
