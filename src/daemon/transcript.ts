// What one run said and did: its facts in order, and of a program whose words are no facts, its output.

import { BerthError } from '../core/errors.ts'
import { type Event, type Fact, type RunId } from '../core/event.ts'
import { type Fleet } from '../core/fleet.ts'
import { noTask } from '../core/notask.ts'
import { readOutput, shownLines } from '../process/output.ts'
import { platform } from '../platform/platform.ts'
import { stateDirOf, statePaths } from '../store/paths.ts'
import { type History } from './history.ts'
import { makeLines } from './lines.ts'

export type Transcript = {
  run: RunId
  task: string
  attempt: number
  events: Event[]
  /** Lines of its output, if it has said nothing that is a fact. */
  output: string[]
}

const kinds: Fact['kind'][] = [
  'run.started',
  'message.said',
  'tool.called',
  'question.asked',
  'question.answered',
  'question.expired',
  'run.reported',
  'run.limited',
  'run.signed-out',
  'engine.retried',
  'output.dropped',
  'commit.made',
  'run.ending',
  'run.exited',
  'run.lost',
  'run.collected',
]

const outputBytesMax = 64 * 1024 * 1024

/** Of the last attempt, or of attempt `attempt`. Throws `not-found`. */
export function transcriptOf(
  history: History,
  env: { [name: string]: string | undefined },
  { project, task, attempt }: { project: string; task: string; attempt: number | undefined },
): Transcript {
  const [run, index] = chosen(history.fleet, { project, task, attempt })
  const events = [...history.read({ run, kinds })]
  const spoke = events.some(event => event.kind === 'message.said' || event.kind === 'tool.called')
  const dir = statePaths(stateDirOf(env, platform)).run(run)
  return { run, task, attempt: index.attempt, events, output: spoke ? [] : outputOf(dir) }
}

function chosen(
  fleet: Fleet,
  { project, task, attempt }: { project: string; task: string; attempt: number | undefined },
) {
  const here = [...fleet.runs].filter(([, run]) => run.key.startsWith(`${project}/`))
  const own = here.filter(([, run]) => run.task === task)
  const found = own.findLast(([, run]) => attempt === undefined || run.attempt === attempt)
  if (found) return found
  if (own.length > 0) {
    const attempts = own.map(([, run]) => run.attempt).join(', ')
    const message = `'${task}' has no attempt '${attempt}'; its attempts: ${attempts}`
    throw new BerthError('not-found', message, `berth transcript ${task}`)
  }
  const known = fleet.tasks.has(`${project}/${task}`)
  if (known) throw new BerthError('not-found', `'${task}' has not run yet`, `berth show ${task}`)
  throw noTask(fleet, project, { name: task, call: 'berth transcript' })
}

function outputOf(dir: string): string[] {
  try {
    const { chunks } = readOutput(dir, 0, outputBytesMax)
    return partsOf(chunks).flatMap(({ before, part }) => {
      const lines = linesOf(part)
      return before > 0 ? [`(${before} bytes were left out here)`, ...lines] : lines
    })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw error
  }
}

type Chunks = ReturnType<typeof readOutput>['chunks']

/** In the order in which the lines ended; what went to stderr says so. */
function linesOf(part: Chunks): string[] {
  const lines = makeLines()
  const whole = [...part.flatMap(chunk => lines.push(chunk)), ...lines.end()]
  return whole.flatMap(({ text, stream }) => {
    const shown = shownLines(text)
    return stream === 'err' ? shown.map(line => `stderr | ${line}`) : shown
  })
}

/** The head and the tail of a flood are apart: each part with the bytes that are missing before it. */
function partsOf(chunks: Chunks): { before: number; part: Chunks }[] {
  const parts: { before: number; part: Chunks }[] = []
  let end = 0
  for (const chunk of chunks) {
    const last = parts.at(-1)
    if (last === undefined || chunk.offset > end) parts.push({ before: chunk.offset - end, part: [chunk] })
    else last.part.push(chunk)
    end = chunk.offset + chunk.bytes.length
  }
  return parts
}
