// `berth log`: the timeline, filtered, as text, Markdown or JSON Lines.

import { type Event } from '../../core/event.ts'
import { jsonLine, markdownEntry, namesOf, textLine } from '../../core/timeline.ts'
import { type History } from '../../daemon/history.ts'
import { type Command, type Io } from '../io.ts'
import { type LogOptions, openFilter, timesOf } from '../logfilter.ts'
import { wordOf } from '../usage.ts'

type Options = LogOptions & { follow?: boolean; format?: string; limit?: number }

const formats = { text: textLine, md: markdownEntry, jsonl: jsonLine }

export const log: Command<Options> = async (io, { options }) => {
  const format = wordOf(
    "'--format'",
    options.format ?? (options.json ? 'jsonl' : 'text'),
    ['text', 'md', 'jsonl'] as const,
    'berth log --format',
  )
  timesOf(io, options)
  const { openHistory } = await import('../../daemon/history.ts')
  const history = openHistory(io.env, io.now)
  if (!history) {
    io.print.note('nothing has been recorded yet')
    return 0
  }
  try {
    const filter = await openFilter(io, history.fleet, options)
    const print = (event: Event) => io.print.out(formats[format](event, namesOf(history.fleet, event)))
    let last = history.fleet.seq
    let any = false
    for (const event of newest(history, filter, options.limit)) {
      last = Math.max(last, event.seq)
      any = true
      print(event)
    }
    if (!any && !options.follow) io.print.note('nothing that is recorded matches')
    if (options.follow) await goOn(io, history, { last, filter, print })
    return 0
  } finally {
    history.close()
  }
}

type Filter = Awaited<ReturnType<typeof openFilter>>

/** All that pass, oldest first; with a limit the last ones. */
function* newest(history: History, { query, passes }: Filter, limit: number | undefined): Generator<Event> {
  if (limit === undefined) {
    for (const event of history.read(query)) if (passes(event)) yield event
    return
  }
  const kept: Event[] = []
  for (const event of history.read({ ...query, newestFirst: true })) {
    if (passes(event)) kept.push(event)
    if (kept.length === limit) break
  }
  yield* kept.toReversed()
}

async function goOn(
  io: Io,
  history: History,
  { last, filter, print }: { last: number; filter: Filter; print: (event: Event) => void },
): Promise<void> {
  const end = new AbortController()
  process.once('SIGINT', () => end.abort())
  const wait = () => io.print.live('waits for what is recorded next; Ctrl-C ends it')
  const onEvent = (event: Event) => {
    if (filter.passes(event)) print(event)
    wait()
    if (io.print.isCut()) end.abort()
  }
  wait()
  await history.follow(last, onEvent, end.signal)
  io.print.live('')
}
