// Plays recorded output of a real program through its adapter, and says in short lines what was learnt.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { type RunEnd } from '../../src/core/outcome.ts'
import { type Engine, type Ended, type ReadState, type Report } from '../../src/engines/engine.ts'

export type Line = { stream: 'out' | 'err'; line: string }

/** The wall clock of every replay. */
export const now = Date.parse('2026-11-29T14:00:00Z')

/** Tests that every recording of the program says what is expected of it. */
export const readsAsMeant = (
  engine: Engine,
  recorded: { [scenario: string]: ReturnType<typeof replayed> },
): unknown =>
  describe('what the real program said', () => {
    test.each(Object.entries(recorded))(
      "in the situation '%s' is read as it was meant",
      (scenario, expected) => {
        expect(replayed(engine, scenario)).toEqual(expected)
      },
    )
  })

/** Reads a recording of test/fixtures/recorded. */
export function replayed(engine: Engine, scenario: string): { reports: string[]; end: RunEnd } {
  const file = join(import.meta.dirname, '../fixtures/recorded', engine.name, `${scenario}.jsonl`)
  const [head = '{}', ...rest] = readFileSync(file, 'utf8').trimEnd().split('\n')
  const { code, signal } = JSON.parse(head) as { code: number | null; signal: string | null }
  return replay(engine, { code, signal, lines: rest.map(line => JSON.parse(line) as Line) })
}

export function replay(engine: Engine, run: { code: number | null; signal?: string | null; lines: Line[] }) {
  let state: ReadState = {}
  const reports: Report[] = []
  for (const { stream, line } of run.lines) {
    const read = engine.read(state, line, stream, now)
    // What is remembered must survive being kept.
    state = JSON.parse(JSON.stringify(read.state)) as ReadState
    reports.push(...read.reports)
  }
  const ended: Ended = {
    code: run.code,
    signal: run.signal ?? null,
    stderr: lastErrors(run.lines),
    state,
    now,
  }
  return { reports: reports.map(inShort), end: engine.conclude(ended) }
}

export const out = (...events: object[]): Line[] =>
  events.map(event => ({ stream: 'out', line: JSON.stringify(event) }))

const lastErrors = (lines: Line[]): string[] =>
  lines
    .filter(({ stream }) => stream === 'err')
    .slice(-20)
    .map(({ line }) => line)

function inShort(report: Report): string {
  switch (report.is) {
    case 'session':
      return `session${report.model === undefined ? '' : ` of ${report.model}`}`
    case 'session-lost':
      return 'session lost'
    case 'message':
      return `${report.role}: ${report.text}`
    case 'tool':
      return [
        'calls',
        report.tool,
        ...report.paths,
        ...(report.command === undefined ? [] : [`'${report.command}'`]),
      ].join(' ')
    case 'tool-ended':
      return ['returns', report.ok ? 'ok' : 'bad', report.exitCode, ...report.paths]
        .filter(part => part !== undefined)
        .join(' ')
    case 'usage': {
      const { usd, inputTokens, outputTokens } = report.usage
      return `${{ call: 'uses', run: 'used', session: 'session used' }[report.of]} ${inputTokens}+${outputTokens} tokens, ${usd} usd`
    }
    case 'activity':
      return `is ${report.activity}: ${report.note}`
    case 'retrying':
      return `retries after ${report.status ?? 'an error'}: ${report.text}`
    case 'limited':
      return `limited until ${report.until === null ? 'unknown' : new Date(report.until).toISOString()}: ${report.text}`
    case 'signed-out':
      return `signed out: ${report.text}`
  }
}
