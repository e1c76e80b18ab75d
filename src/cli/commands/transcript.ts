// `berth transcript`: what an agent said and did in one attempt.

import { type Event } from '../../core/event.ts'
import { linesOf } from '../../core/sentence.ts'
import { escapeMarkdown, fenced, markdownEntry, type Names, namesOf, oneLine } from '../../core/timeline.ts'
import { sentenceOf } from '../../core/sentence.ts'
import { type Transcript } from '../../daemon/transcript.ts'
import { visible, visibleLines } from '../columns.ts'
import { BerthError } from '../../core/errors.ts'
import { type Command, type Io, repoOf } from '../io.ts'
import { wordOf } from '../usage.ts'

export const transcript: Command<{ run?: number; format?: string }> = async (io, { args, options }) => {
  const format = wordOf("'--format'", options.format ?? (options.json ? 'json' : 'text'), ['text', 'md', 'json'] as const)
  const task = args[0]!
  const { openHistory } = await import('../../daemon/history.ts')
  const { repositoryAt } = await import('../../daemon/place.ts')
  const { transcriptOf } = await import('../../daemon/transcript.ts')
  const { id: project } = await repositoryAt(repoOf(io, options), io.env)
  const history = openHistory(io.env, io.now)
  if (!history) throw new BerthError('not-found', `there is no task '${task}'`, 'berth ls --all')
  try {
    const found = transcriptOf(history, io.env, { project, task, attempt: options.run })
    const names = (event: Event) => namesOf(history.fleet, event)
    if (format === 'json') asJson(io, found)
    else if (format === 'md') asMarkdown(io, found, names)
    else asText(io, found)
    return 0
  } finally {
    history.close()
  }
}

function asJson({ print }: Io, { task, run, attempt, events, output }: Transcript): void {
  for (const { at, awake: _, host: __, because: ___, ...rest } of events) {
    print.json({ ...rest, at: new Date(at).toISOString(), task, run, attempt })
  }
  const at = events.at(-1)?.at
  if (output.length > 0 && at !== undefined) {
    print.json({ seq: null, at: new Date(at).toISOString(), task, run, attempt, kind: 'output', text: output.join('\n') })
  }
}

function asMarkdown({ print }: Io, { task, attempt, events, output }: Transcript, names: (event: Event) => Names): void {
  print.out(`# ${escapeMarkdown(`${task}#${attempt}`)}\n`)
  for (const event of events) print.out(markdownEntry(event, names(event)))
  if (output.length > 0) print.out(`\n## Output\n\n${fenced(output)}`)
}

function asText({ print }: Io, { events, output }: Transcript): void {
  const { dim, bold } = print.paint
  for (const event of events) {
    const time = dim(new Date(event.at).toISOString().slice(11, 19))
    if (event.kind === 'message.said') {
      print.out(`${time} ${bold(event.role)}`)
      print.out(indented(visibleLines(event.text.trimEnd())))
      continue
    }
    print.out(`${time} ${oneLine(sentenceOf(event))}`)
    for (const line of linesOf(event)) print.out(indented(visible(line)))
  }
  if (output.length > 0) print.out(`${dim('output')}\n${output.map(visible).map(indented).join('\n')}`)
}

const indented = (text: string): string => text.split('\n').map(line => `    ${line}`).join('\n')
