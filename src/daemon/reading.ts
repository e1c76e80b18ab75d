// One run's output to facts: what its engine's reader learns line by line, each thing told exactly once.

import { type Fact, type ProjectId, type RunId, type TaskName } from '../core/event.ts'
import { noUsage, type Usage } from '../core/outcome.ts'
import { type Engine, type ReadState, type Report } from '../engines/engine.ts'
import { type Chunk, type Line, makeLines } from './lines.ts'

export type Of = { project: ProjectId; task: TaskName; run: RunId }

export type Reading = {
  /** Facts of these chunks; of lines that end at or before `mark` nothing is told again. */
  push(chunks: readonly Chunk[]): Fact[]
  /** Facts of what stands unfinished when the run has ended. */
  end(): Fact[]
  usage(): Usage
  state(): ReadState
}

/** Text of one message or command that the log keeps; the whole is in the run's output. */
const textMax = 16_000
const pathsMax = 100

type Told = {
  of: Of
  usage: Usage
  earlier: Usage
  session: string | undefined
  activity: string
  tools: Map<string, Extract<Report, { is: 'tool' }>>
  limited: boolean
  signedOut: boolean
}

/**
 * `mark` is the offset up to which facts were recorded before: those bytes are read again, to know what the
 * reader knew, and nothing of them is told.
 */
export function openReading(input: {
  engine: Engine
  of: Of
  mark: number
  session?: string
  /** Counted by the earlier runs of the session that it continues. */
  earlier?: Usage
}): Reading {
  const lines = makeLines()
  let state: ReadState = {}
  const told: Told = {
    of: input.of,
    usage: noUsage,
    earlier: input.earlier ?? noUsage,
    session: input.session,
    activity: 'working',
    tools: new Map(),
    limited: false,
    signedOut: false,
  }
  const readLines = (whole: readonly Line[], mark: number): Fact[] => {
    const before = told.usage
    const facts = whole.flatMap(line => {
      const read = input.engine.read(state, line.text, line.stream, line.at)
      state = read.state
      const facts = read.reports.flatMap(report => tell(report, told))
      return line.end > mark ? facts : []
    })
    const news = whole.some(line => line.end > mark) && told.usage !== before
    return news ? [...facts, { kind: 'usage.counted', ...told.of, usage: told.usage }] : facts
  }
  return {
    push: chunks =>
      readLines(
        chunks.flatMap(chunk => lines.push(chunk)),
        input.mark,
      ),
    end: () => [
      // An unfinished line was never told, even if the mark lies behind it.
      ...readLines(lines.end(), -1),
      ...[...told.tools.values()].map(tool => calledFact(tool, told.of)),
    ],
    usage: () => told.usage,
    state: () => state,
  }
}

function tell(report: Report, told: Told): Fact[] {
  const { of } = told
  switch (report.is) {
    case 'session':
      if (told.session === report.id) return []
      told.session = report.id
      return [{ kind: 'run.session', ...of, session: report.id }]
    case 'session-lost':
      told.session = undefined
      return [{ kind: 'run.session', ...of, session: '' }]
    case 'message':
      return [{ kind: 'message.said', ...of, role: report.role, text: report.text.slice(0, textMax) }]
    case 'tool':
      told.tools.set(report.id, report)
      return []
    case 'tool-ended':
      return toolEnded(report, told)
    case 'usage':
      told.usage = counted(report, told)
      return []
    case 'activity':
      if (told.activity === `${report.activity}: ${report.note}`) return []
      told.activity = `${report.activity}: ${report.note}`
      return [{ kind: 'run.reported', ...of, activity: report.activity, note: report.note, from: 'engine' }]
    case 'retrying':
      return [
        {
          kind: 'engine.retried',
          ...of,
          text: report.text,
          ...(report.status === undefined ? {} : { status: report.status }),
        },
      ]
    case 'limited':
      if (told.limited) return []
      told.limited = true
      return [{ kind: 'run.limited', ...of, until: report.until, text: report.text, from: 'engine' }]
    case 'signed-out':
      if (told.signedOut) return []
      told.signedOut = true
      return [{ kind: 'run.signed-out', ...of, text: report.text, from: 'engine' }]
  }
}

function toolEnded(report: Extract<Report, { is: 'tool-ended' }>, told: Told): Fact[] {
  const called = told.tools.get(report.id)
  told.tools.delete(report.id)
  if (!called) return []
  const paths = [...new Set([...called.paths, ...report.paths])]
  return [
    {
      ...calledFact({ ...called, paths }, told.of),
      ok: report.ok,
      ...(report.exitCode === undefined ? {} : { exitCode: report.exitCode }),
    },
  ]
}

const calledFact = (
  tool: Extract<Report, { is: 'tool' }>,
  of: Of,
): Extract<Fact, { kind: 'tool.called' }> => ({
  kind: 'tool.called',
  ...of,
  tool: tool.tool,
  id: tool.id,
  paths: tool.paths.slice(0, pathsMax),
  ...(tool.command === undefined ? {} : { command: tool.command.slice(0, textMax) }),
})

function counted({ usage, of }: Extract<Report, { is: 'usage' }>, told: Told): Usage {
  if (of === 'call') return sum(told.usage, usage)
  return of === 'run' ? usage : beyond(usage, told.earlier)
}

/** Never below zero: a program may have forgotten what it counted before. */
const beyond = (whole: Usage, part: Usage): Usage => ({
  usd: Math.max(0, whole.usd - part.usd),
  inputTokens: Math.max(0, whole.inputTokens - part.inputTokens),
  outputTokens: Math.max(0, whole.outputTokens - part.outputTokens),
})

const sum = (a: Usage, b: Usage): Usage => ({
  usd: a.usd + b.usd,
  inputTokens: a.inputTokens + b.inputTokens,
  outputTokens: a.outputTokens + b.outputTokens,
})
