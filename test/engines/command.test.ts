// Commands as agents: what their exit code, stderr and structured results mean (docs/decisions/0029).

import { describe, expect, test } from 'vitest'
import { type RunEnd } from '../../src/core/outcome.ts'
import { command } from '../../src/engines/command.ts'
import { engineFor } from '../../src/engines/index.ts'
import { launchInput } from './launching.ts'
import { now, out, replay, type Line } from './replay.ts'

const says = (...lines: string[]): Line[] => lines.map(line => ({ stream: 'out', line }))
const complains = (...lines: string[]): Line[] => lines.map(line => ({ stream: 'err', line }))
const exit = (code: number, evidence: string): RunEnd => ({
  is: 'failed',
  reason: `ended with exit code ${code}`,
  evidence,
  transient: false,
  cause: 'exit',
})
const overloaded = (status: number, text: string): RunEnd => ({
  is: 'failed',
  reason: `the engine's service answered ${status}: ${text}`,
  evidence: text,
  transient: true,
  cause: 'engine-error',
})

const soon = now / 1000 + 4
const usageLimit = { type: 'result', is_error: true, result: `Usage limit reached|${soon}` }
const limited: RunEnd = { is: 'limited', until: now + 4000, evidence: `Usage limit reached|${soon}` }

const ends: [string, number | null, Line[], RunEnd][] = [
  [
    'exit 0 is the end, with the last line as its word',
    0,
    says('working', 'done', ''),
    { is: 'ended', text: 'done', denied: [] },
  ],
  ['exit 0 without a word is the end', 0, [], { is: 'ended', text: '', denied: [] }],
  [
    'words about a limit on stdout mean nothing',
    0,
    says('Added the message "You have hit your session limit" to the docs'),
    { is: 'ended', text: 'Added the message "You have hit your session limit" to the docs', denied: [] },
  ],
  [
    'words about a limit on stderr mean nothing after exit 0',
    0,
    complains('usage limit reached'),
    { is: 'ended', text: '', denied: [] },
  ],
  [
    'words about a limit on stderr mean a limit after another exit',
    1,
    complains('You have hit your session limit. Resets 7:10pm (UTC)'),
    {
      is: 'limited',
      until: Date.parse('2026-11-29T19:10:00Z'),
      evidence: 'You have hit your session limit. Resets 7:10pm (UTC)',
    },
  ],
  [
    'words about a limit on stdout mean nothing after another exit',
    1,
    says('usage limit reached'),
    exit(1, 'usage limit reached'),
  ],
  [
    'words about a login on stderr mean signed out',
    1,
    complains('401 invalid authentication credentials, please log in again'),
    { is: 'signed-out', evidence: '401 invalid authentication credentials, please log in again' },
  ],
  [
    'a dropped connection on stderr is transient',
    1,
    complains('Error: read ECONNRESET', '    at fetch (x.js:1)'),
    {
      is: 'failed',
      reason: 'ended with exit code 1: Error: read ECONNRESET',
      evidence: 'Error: read ECONNRESET',
      transient: true,
      cause: 'engine-error',
    },
  ],
  ['a structured limit counts after exit 0', 0, out(usageLimit), limited],
  ['a structured limit counts after exit 1', 1, [...out(usageLimit), ...says('bye')], limited],
  [
    'a structured error that the program got over does not count',
    0,
    [...out(usageLimit), ...says('went on')],
    { is: 'ended', text: 'went on', denied: [] },
  ],
  [
    'a structured result that is well counts over an earlier error',
    0,
    out(usageLimit, { type: 'result', is_error: false, result: 'all fine' }),
    { is: 'ended', text: 'all fine', denied: [] },
  ],
  [
    'an overload is transient',
    1,
    out({ type: 'error', status: 529, message: 'overloaded' }),
    overloaded(529, 'overloaded'),
  ],
  [
    'an unavailable service is transient',
    1,
    out({ type: 'error', status: 503, message: 'no' }),
    overloaded(503, 'no'),
  ],
  [
    'an error as the last word is a failure even with exit 0',
    0,
    out({ type: 'error', status: 400, message: 'no' }),
    {
      is: 'failed',
      reason: "the engine's service answered 400: no",
      evidence: 'no',
      transient: false,
      cause: 'engine-error',
    },
  ],
  [
    'a request that is too long is no limit',
    1,
    out({ type: 'error', status: 400, message: 'you have exceeded the context limit' }),
    {
      is: 'failed',
      reason: "the engine's service answered 400: you have exceeded the context limit",
      evidence: 'you have exceeded the context limit',
      transient: false,
      cause: 'engine-error',
    },
  ],
  [
    'a JSON object of another type is no result',
    0,
    out({ type: 'log', is_error: true, message: 'usage limit reached' }),
    { is: 'ended', text: '{"type":"log","is_error":true,"message":"usage limit reached"}', denied: [] },
  ],
  [
    'a line with more than the object is no result',
    0,
    says(`result: ${JSON.stringify(usageLimit)}`),
    { is: 'ended', text: `result: ${JSON.stringify(usageLimit)}`, denied: [] },
  ],
  [
    'exit 75 is a limit without a known end',
    75,
    complains('later'),
    { is: 'limited', until: null, evidence: 'later' },
  ],
  [
    'exit 75 may name the end on stderr',
    75,
    complains('usage limit reached, try again in 5 minutes'),
    { is: 'limited', until: now + 300_000, evidence: 'usage limit reached, try again in 5 minutes' },
  ],
  ['exit 77 is signed out', 77, [], { is: 'signed-out', evidence: 'exit code 77' }],
  ['any other exit is a failure with its last words', 3, complains('one', 'two', ''), exit(3, 'two')],
  [
    'an exit code that stands for a signal is cut off',
    137,
    [],
    { is: 'cut-off', reason: 'ended by a signal, exit code 137' },
  ],
]

describe('the end of a command', () => {
  for (const [name, code, lines, end] of ends) {
    test(name, () => {
      expect(replay(command, { code, lines })).toEqual({ reports: [], end })
    })
  }

  test('a signal is cut off', () => {
    expect(replay(command, { code: null, signal: 'SIGSEGV', lines: [] }).end).toEqual({
      is: 'cut-off',
      reason: 'ended by SIGSEGV',
    })
  })
})

describe('a command that is read as Claude Code', () => {
  const engine = engineFor({ type: 'command', reads: 'claude' })

  test('tells what it does', () => {
    const content = [{ type: 'text', text: 'hello' }]
    const lines = out(
      { type: 'assistant', message: { content } },
      { type: 'result', result: 'bye', is_error: false },
    )
    expect(replay(engine, { code: 0, lines })).toEqual({
      reports: ['agent: hello', 'used 0+0 tokens, 0 usd'],
      end: { is: 'ended', text: 'bye', denied: [] },
    })
  })

  test('is limited by its result', () => {
    expect(replay(engine, { code: 0, lines: out(usageLimit) }).end).toEqual(limited)
  })

  test('is cut off when its result is missing', () => {
    const lines = out({ type: 'system', subtype: 'init', session_id: 's' })
    expect(replay(engine, { code: 0, lines }).end).toEqual({
      is: 'cut-off',
      reason: 'the program ended without its final event',
    })
  })

  test('is judged as any program while it shows no event', () => {
    expect(replay(engine, { code: 0, lines: says('done') }).end).toEqual({
      is: 'ended',
      text: 'done',
      denied: [],
    })
  })

  test('keeps the exit codes of a command', () => {
    expect(replay(engine, { code: 77, lines: out({ type: 'system', subtype: 'x' }) }).end.is).toBe(
      'signed-out',
    )
  })
})

test('a command is started as it is given', () => {
  expect(command.launch(launchInput({ program: ['/bin/sh', '-c', 'make it'] }))).toEqual({
    file: '/bin/sh',
    args: ['-c', 'make it'],
    env: {},
    stdin: 'prompt',
    files: [],
  })
})
