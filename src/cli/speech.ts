// A transcript as JSON Lines, Markdown or text.

import { type Event } from '../core/event.ts'
import { linesOf, sentenceOf } from '../core/sentence.ts'
import { escapeMarkdown, fenced, markdownEntry, type Names, oneLine } from '../core/timeline.ts'
import { type Transcript } from '../daemon/transcript.ts'
import { visible, visibleLines } from './columns.ts'
import { type Io } from './io.ts'

export function asJson({ print }: Io, { task, run, attempt, events, output }: Transcript): void {
  for (const { at, awake: _, host: __, because: ___, ...rest } of events) {
    print.json({ ...rest, at: new Date(at).toISOString(), task, run, attempt })
  }
  const at = events.at(-1)?.at
  if (output.length > 0 && at !== undefined) {
    print.json({
      seq: null,
      at: new Date(at).toISOString(),
      task,
      run,
      attempt,
      kind: 'output',
      text: output.join('\n'),
    })
  }
}

export function asMarkdown(
  { print }: Io,
  { task, attempt, events, output }: Transcript,
  names: (event: Event) => Names,
): void {
  print.out(`# ${escapeMarkdown(`${task}#${attempt}`)}\n`)
  for (const event of events) print.out(markdownEntry(event, names(event)))
  if (output.length > 0) print.out(`\n## Output\n\n${fenced(output)}`)
}

export function asText({ print }: Io, { events, output }: Transcript): void {
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

const indented = (text: string): string =>
  text
    .split('\n')
    .map(line => `    ${line}`)
    .join('\n')
