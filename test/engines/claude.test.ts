// Claude Code: its start, its stream as recorded, its end.

import { describe, expect, test } from 'vitest'
import { type RunEnd } from '../../src/core/outcome.ts'
import { claude } from '../../src/engines/claude.ts'
import { launchInput } from './launching.ts'
import { now, out, replay, type Line, readsAsMeant } from './replay.ts'

const recorded: { [scenario: string]: { reports: string[]; end: RunEnd } } = {
  success: {
    reports: [
      'session of claude-sonnet-4-5',
      'agent: I write two files.',
      'uses 1200+34 tokens, 0 usd',
      'calls Write /place/worktree/one.txt',
      'returns ok /place/worktree/one.txt',
      'calls Write /place/worktree/two.txt',
      'uses 1200+34 tokens, 0 usd',
      'returns ok /place/worktree/two.txt',
      "calls Bash 'wc -l one.txt two.txt'",
      'uses 1200+34 tokens, 0 usd',
      'returns ok',
      'agent: Both files are there.',
      'uses 1200+34 tokens, 0 usd',
      'used 4800+136 tokens, 0.00564 usd',
    ],
    end: { is: 'ended', text: 'Both files are there.', denied: [] },
  },
  'tool-failed': {
    reports: [
      'session of claude-sonnet-4-5',
      'agent: I run a command.',
      'uses 1200+34 tokens, 0 usd',
      "calls Bash 'echo broken >&2; exit 3'",
      'returns bad 3',
      'agent: The command failed.',
      'uses 1200+34 tokens, 0 usd',
      'used 2400+68 tokens, 0.00282 usd',
    ],
    end: { is: 'ended', text: 'The command failed.', denied: [] },
  },
  'bad-request': {
    reports: ['session of claude-sonnet-4-5', 'used 0+0 tokens, 0 usd'],
    end: {
      is: 'failed',
      reason: "the engine's service answered 400: API Error: 400 prompt is too strange",
      evidence: 'API Error: 400 prompt is too strange',
      transient: false,
      cause: 'engine-error',
    },
  },
  unauthorized: {
    reports: [
      'session of claude-sonnet-4-5',
      'retries after 401: retry 1 of 2: authentication_failed',
      'retries after 401: retry 2 of 2: authentication_failed',
      'used 0+0 tokens, 0 usd',
    ],
    end: { is: 'signed-out', evidence: 'Failed to authenticate. API Error: 401 invalid api key' },
  },
  limited: {
    reports: [
      'session of claude-sonnet-4-5',
      'retries after 429: retry 1 of 2: rate_limit',
      'retries after 429: retry 2 of 2: rate_limit',
      'used 0+0 tokens, 0 usd',
    ],
    end: {
      is: 'limited',
      until: now + 60_000,
      evidence: 'API Error: Request rejected (429) · rate limit reached',
    },
  },
  overloaded: {
    reports: [
      'session of claude-sonnet-4-5',
      'retries after 529: retry 1 of 2: overloaded',
      'retries after 529: retry 2 of 2: overloaded',
      'used 0+0 tokens, 0 usd',
    ],
    end: {
      is: 'failed',
      reason:
        "the engine's service answered 529: API Error: 529 overloaded. This is a server-side issue, usually temporary — try again in a moment. If it persists, check your inference gateway (127.0.0.1:1).",
      evidence:
        'API Error: 529 overloaded. This is a server-side issue, usually temporary — try again in a moment. If it persists, check your inference gateway (127.0.0.1:1).',
      transient: true,
      cause: 'engine-error',
    },
  },
  dropped: {
    reports: [
      'session of claude-sonnet-4-5',
      'retries after an error: retry 1 of 2: unknown',
      'retries after an error: retry 2 of 2: unknown',
      'used 0+0 tokens, 0 usd',
    ],
    end: {
      is: 'failed',
      reason: 'the engine reported an error: API Error: Unable to connect to API (ECONNRESET)',
      evidence: 'API Error: Unable to connect to API (ECONNRESET)',
      transient: true,
      cause: 'engine-error',
    },
  },
  denied: {
    reports: [
      'session of claude-sonnet-4-5',
      'agent: I write a file.',
      'uses 1200+34 tokens, 0 usd',
      'calls Write /place/worktree/one.txt',
      'returns bad',
      'agent: I was not allowed to.',
      'uses 1200+34 tokens, 0 usd',
      'used 2400+68 tokens, 0.00282 usd',
    ],
    end: { is: 'ended', text: 'I was not allowed to.', denied: ['Write'] },
  },
  nothing: {
    reports: [
      'session of claude-sonnet-4-5',
      'agent: There is nothing to do.',
      'uses 1200+34 tokens, 0 usd',
      'used 1200+34 tokens, 0.00141 usd',
    ],
    end: { is: 'ended', text: 'There is nothing to do.', denied: [] },
  },
}

readsAsMeant(claude, recorded)

describe('the start', () => {
  test('has its own session id and acts without asking', () => {
    expect(claude.launch(launchInput({ program: ['/bin/claude', '--debug'], model: 'opus' }))).toEqual({
      file: '/bin/claude',
      args: [
        '--debug -p --output-format stream-json --verbose',
        '--permission-mode bypassPermissions --session-id 11111111-1111-4111-8111-111111111111 --model opus',
      ].flatMap(part => part.split(' ')),
      env: {
        CLAUDE_CONFIG_DIR: '/home/task/.claude',
        CLAUDE_CODE_TMPDIR: '/tmp/run',
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
        CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS: '1',
        CLAUDE_CODE_MAX_RETRIES: '2',
        DISABLE_AUTOUPDATER: '1',
      },
      stdin: 'prompt',
      files: [],
    })
  })

  test('of a later attempt continues the session', () => {
    const { args, session } = claude.launch(launchInput({ resume: 'earlier' }))
    expect([args.slice(-2), session]).toEqual([['--resume', 'earlier'], 'earlier'])
  })

  test('as root says that it is in a sandbox, unless it asks anyway', () => {
    expect(claude.launch(launchInput({ root: true })).env['IS_SANDBOX']).toBe('1')
    const asking = claude.launch(launchInput({ root: true, permission: 'ask' }))
    expect([asking.env['IS_SANDBOX'], asking.args]).toEqual([undefined, expect.arrayContaining(['default'])])
  })

  test('leaves alone what a person configured', () => {
    const env = { CLAUDE_CODE_MAX_RETRIES: '9', CLAUDE_CONFIG_DIR: '/elsewhere' }
    const launch = claude.launch(launchInput({ env }))
    expect(Object.keys(launch.env).filter(name => name in env)).toEqual([])
  })
})

const result = (more: object) => ({
  type: 'result',
  subtype: 'success',
  is_error: false,
  result: 'ok',
  ...more,
})

describe('the end', () => {
  const ends: [string, number | null, object[], RunEnd][] = [
    [
      'exit 0 without a result is cut off',
      0,
      [{ type: 'system', subtype: 'init', session_id: 's' }],
      { is: 'cut-off', reason: 'the program ended without its final event' },
    ],
    [
      'a result that is well, and then another exit, is a failure',
      3,
      [result({})],
      {
        is: 'failed',
        reason: 'ended with exit code 3',
        evidence: 'exit code 3',
        transient: false,
        cause: 'exit',
      },
    ],
    [
      'no key at all is signed out',
      1,
      [result({ is_error: true, result: 'Not logged in · Please run /login' })],
      { is: 'signed-out', evidence: 'Not logged in · Please run /login' },
    ],
    [
      'a usage limit with its time is limited until then, even with exit 0',
      0,
      [result({ is_error: true, result: `Usage limit reached|${now / 1000 + 4}` })],
      { is: 'limited', until: now + 4000, evidence: `Usage limit reached|${now / 1000 + 4}` },
    ],
    [
      'the time of the limit may come in an event of its own',
      1,
      [
        { type: 'rate_limit_event', rate_limit_info: { status: 'rejected', resetsAt: now / 1000 + 7200 } },
        result({ is_error: true, api_error_status: 429, result: "You've hit your limit" }),
      ],
      { is: 'limited', until: now + 7_200_000, evidence: "You've hit your limit" },
    ],
    [
      'too many turns is a failure',
      1,
      [{ type: 'result', subtype: 'error_max_turns', is_error: false }],
      {
        is: 'failed',
        reason: 'the engine reported an error: error_max_turns',
        evidence: 'error_max_turns',
        transient: false,
        cause: 'engine-error',
      },
    ],
    [
      'words about limits in a good result mean nothing',
      0,
      [result({ result: 'I documented "Usage limit reached|1790000000"' })],
      { is: 'ended', text: 'I documented "Usage limit reached|1790000000"', denied: [] },
    ],
  ]
  for (const [name, code, events, end] of ends) {
    test(name, () => {
      expect(replay(claude, { code, lines: out(...events) }).end).toEqual(end)
    })
  }

  test('a killed program is cut off, whatever it said before', () => {
    const lines = out({ type: 'assistant', message: { content: [{ type: 'text', text: 'nearly done' }] } })
    const { end } = replay(claude, { code: null, signal: 'SIGKILL', lines })
    expect(end).toEqual({ is: 'cut-off', reason: 'ended by SIGKILL' })
  })
})

test('a session that cannot be continued is told, and the attempt may be tried again', () => {
  const words = 'No conversation found with session ID: b736f41d-f1bf-4e24-9183-2e270e9a3d00'
  const lines: Line[] = [
    { stream: 'err', line: words },
    ...out({ type: 'result', subtype: 'error_during_execution', is_error: true, errors: [words] }),
  ]
  expect(replay(claude, { code: 1, lines })).toEqual({
    reports: ['session lost', 'used 0+0 tokens, 0 usd'],
    end: {
      is: 'failed',
      reason: `the engine reported an error: ${words}`,
      evidence: words,
      transient: true,
      cause: 'engine-error',
    },
  })
})

test('a wait for a permission is told, and its end', () => {
  const state = (name: string) => ({ type: 'system', subtype: 'session_state_changed', state: name })
  const { reports } = replay(claude, {
    code: 0,
    lines: out(state('running'), state('requires_action'), state('running')),
  })
  expect(reports).toEqual(['is blocked: waits for a permission', 'is working: goes on'])
})

test('a limit is told as soon as it is known', () => {
  const info = { status: 'rejected', resetsAt: now / 1000 + 60, rateLimitType: 'five_hour' }
  const { reports } = replay(claude, {
    code: 0,
    lines: out({ type: 'rate_limit_event', rate_limit_info: info }),
  })
  expect(reports).toEqual(['limited until 2026-11-29T14:01:00.000Z: five_hour limit reached'])
})

test('the tokens of one message that comes in two events are counted once', () => {
  const usage = { input_tokens: 10, output_tokens: 5 }
  const message = (text: string) => ({
    type: 'assistant',
    message: { id: 'm', usage, content: [{ type: 'text', text }] },
  })
  const { reports } = replay(claude, { code: 0, lines: out(message('a'), message('b')) })
  expect(reports).toEqual(['agent: a', 'uses 10+5 tokens, 0 usd', 'agent: b'])
})
