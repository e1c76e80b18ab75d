// `berth answer`: answers an item; the agent gets it.

import { type ItemView } from '../../core/api.ts'
import { BerthError } from '../../core/errors.ts'
import { type Client } from '../../daemon/client.ts'
import { visible } from '../columns.ts'
import { type Command, type Common, type Io, repoOf, person, withClient } from '../io.ts'
import { refuseStandIn } from '../usage.ts'

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
  refuseStandIn(text, 'the answer', 'berth inbox')
  const repo = repoOf(io, options)
  const { answered, resting, given } = await withClient(io, { need: 'write' }, async client => {
    const given = options.decline
      ? null
      : text || (await asked(io, await client.call('inbox', { repo, here: io.cwd }), { item, options }))
    const { item: answered } = await client.call('answer', { repo, item, answer: given, by: person })
    return { answered, resting: await isResting(client, answered), given }
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

type Wanted = { item: string; options: Common }

/** Without an answer: what is asked, put to the person on a terminal, else told. */
async function asked(
  io: Io,
  { items }: { items: readonly ItemView[] },
  { item: wanted, options }: Wanted,
): Promise<string> {
  const item = items.find(one => one.id === wanted) ?? items.find(one => one.task === wanted)
  // The loop knows what it may have been, and says so.
  if (!item) return ''
  const { question, reason, actions } = item
  const choices = question ? question.choices : actions.map(({ key }) => key)
  const list = choices.length === 0 ? '' : `; one of '${choices.join("', '")}'`
  const asks = visible(question?.text ?? reason)
  if (io.question && !options.json) {
    const typed = (await io.question(`${asks}${list ? ` [${choices.join('/')}]` : ''} `)).trim()
    if (typed !== '') return typed
  }
  throw new BerthError('usage', `the answer to '${item.id}' is missing: ${asks}${list}`, 'berth inbox')
}
