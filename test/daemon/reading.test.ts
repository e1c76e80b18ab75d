// Output to facts: the same facts however the bytes were cut, and each told once over restarts.

import { expect, test } from 'vitest'
import { openReading } from '../../src/daemon/reading.ts'
import { makeLines } from '../../src/daemon/lines.ts'
import { type Engine, type Report } from '../../src/engines/engine.ts'

const of = { project: 'p', task: 'login', run: 'r' }

/** Reads lines of JSON reports. */
const engine: Engine = {
  name: 'plain',
  program: 'plain',
  versionArgs: [],
  install: '',
  keyNames: [],
  ownNames: [],
  launch: () => ({ file: '', args: [], env: {}, stdin: 'none', files: [] }),
  read: (state, line, stream) => ({
    state: { ...state, [stream]: ((state[stream] as number | undefined) ?? 0) + 1 },
    reports: line.startsWith('{') ? [JSON.parse(line) as Report] : [],
  }),
  conclude: () => ({ is: 'ended', text: '', denied: [] }),
}

const output = Buffer.from(
  [
    '{"is":"session","id":"s1"}',
    'noise é',
    '{"is":"tool","id":"t1","tool":"Edit","paths":["a.ts"]}',
    '{"is":"tool-ended","id":"t1","ok":true,"paths":["b.ts"]}',
    '{"is":"usage","usage":{"usd":1,"inputTokens":2,"outputTokens":3},"of":"call"}',
    '{"is":"usage","usage":{"usd":1,"inputTokens":2,"outputTokens":3},"of":"call"}',
    '{"is":"tool","id":"t2","tool":"Bash","paths":[],"command":"make"}',
    '{"is":"message","role":"agent","text":"bye"}',
  ].join('\n'),
)

const facts = [
  { kind: 'run.session', ...of, session: 's1' },
  { kind: 'tool.called', ...of, tool: 'Edit', id: 't1', paths: ['a.ts', 'b.ts'], ok: true },
  { kind: 'message.said', ...of, role: 'agent', text: 'bye' },
  { kind: 'tool.called', ...of, tool: 'Bash', id: 't2', paths: [], command: 'make' },
]

const chunk = (from: number, to: number) => ({
  offset: from,
  at: 5,
  stream: 'out' as const,
  bytes: output.subarray(from, to),
})

test('a reader tells the same wherever the bytes are cut and wherever it was restarted', () => {
  for (let cut = 0; cut <= output.length; cut++) {
    const first = openReading({ engine, of, mark: 0 })
    const told = first.push([chunk(0, cut)])
    // Killed here: what was told is recorded together with the mark `cut`.
    const second = openReading({ engine, of, mark: cut })
    told.push(...second.push([chunk(0, output.length)]), ...second.end())
    expect(told.filter(fact => fact.kind !== 'usage.counted')).toEqual(facts)
    expect(told.findLast(fact => fact.kind === 'usage.counted')).toEqual({
      kind: 'usage.counted',
      ...of,
      usage: { usd: 2, inputTokens: 4, outputTokens: 6 },
    })
    expect(second.state()).toEqual({ out: 8 })
  }
})

test('lines of both streams are kept apart and end where their newline ends', () => {
  const lines = makeLines()
  const push = (offset: number, stream: 'out' | 'err', text: string) =>
    lines.push({ offset, at: 1, stream, bytes: Buffer.from(text) })
  expect(push(0, 'out', 'one')).toEqual([])
  expect(push(3, 'err', 'oops\r\n')).toEqual([{ text: 'oops', stream: 'err', end: 9, at: 1 }])
  expect(push(9, 'out', ' two\nthr')).toEqual([{ text: 'one two', stream: 'out', end: 14, at: 1 }])
  expect(lines.end()).toEqual([{ text: 'thr', stream: 'out', end: 17, at: 1 }])
})

test('a count of the whole session is what it says beyond the earlier runs of the session', () => {
  const usage = { usd: 0, inputTokens: 2400, outputTokens: 68 }
  const line = Buffer.from(`${JSON.stringify({ is: 'usage', usage, of: 'session' })}\n`)
  const earlier = { usd: 0, inputTokens: 1200, outputTokens: 34 }
  const reading = openReading({ engine, of, mark: 0, earlier })
  reading.push([{ offset: 0, at: 5, stream: 'out', bytes: line }])
  expect(reading.usage()).toEqual(earlier)
})
