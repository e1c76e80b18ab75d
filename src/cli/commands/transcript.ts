// `berth transcript`: what an agent said and did in one attempt.

import { BerthError } from '../../core/errors.ts'
import { type Event } from '../../core/event.ts'
import { namesOf } from '../../core/timeline.ts'
import { type Command, repoOf } from '../io.ts'
import { asJson, asMarkdown, asText } from '../speech.ts'
import { wordOf } from '../usage.ts'

export const transcript: Command<{ run?: number; format?: string }> = async (io, { args, options }) => {
  const format = wordOf(
    "'--format'",
    options.format ?? (options.json ? 'json' : 'text'),
    ['text', 'md', 'json'] as const,
    'berth transcript TASK --format',
  )
  const task = args[0]!
  const { openHistory } = await import('../../daemon/history.ts')
  const { repositoryAt } = await import('../../daemon/place.ts')
  const { transcriptOf } = await import('../../daemon/transcript.ts')
  const { refuseMoved } = await import('../../daemon/moved.ts')
  const repo = await repositoryAt(repoOf(io, options), io.env)
  const history = openHistory(io.env, io.now)
  if (!history) throw new BerthError('not-found', `no task '${task}'`, 'berth ls --all')
  try {
    await refuseMoved(repo, history.fleet)
    const found = transcriptOf(history, io.env, { project: repo.id, task, attempt: options.run })
    const names = (event: Event) => namesOf(history.fleet, event)
    if (format === 'json') asJson(io, found)
    else if (format === 'md') asMarkdown(io, found, names)
    else asText(io, found)
    return 0
  } finally {
    history.close()
  }
}
