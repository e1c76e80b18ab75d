// opencode: its start, its output as recorded, its end.

import { describe, expect, test } from 'vitest'
import { type RunEnd } from '../../src/core/outcome.ts'
import { opencode } from '../../src/engines/opencode.ts'
import { launchInput } from './launching.ts'
import { now, out, replay, readsAsMeant } from './replay.ts'

const recorded: { [scenario: string]: { reports: string[]; end: RunEnd } } = {
  success: {
    reports: [
      'session',
      'agent: I write two files.',
      'calls write /place/worktree/one.txt',
      'returns ok /place/worktree/one.txt',
      'uses 1200+34 tokens, 0 usd',
      'calls write /place/worktree/two.txt',
      'returns ok /place/worktree/two.txt',
      'uses 1200+34 tokens, 0 usd',
      "calls bash 'wc -l one.txt two.txt'",
      'returns ok 0',
      'uses 1200+34 tokens, 0 usd',
      'agent: Both files are there.',
      'uses 1200+34 tokens, 0 usd',
    ],
    end: { is: 'ended', text: 'Both files are there.', denied: [] },
  },
  'tool-failed': {
    reports: [
      'session',
      'agent: I run a command.',
      "calls bash 'echo broken >&2; exit 3'",
      'returns bad 3',
      'uses 1200+34 tokens, 0 usd',
      'agent: The command failed.',
      'uses 1200+34 tokens, 0 usd',
    ],
    end: { is: 'ended', text: 'The command failed.', denied: [] },
  },
  'bad-request': {
    reports: ['session'],
    end: {
      is: 'failed',
      reason: "the engine's service answered 400: prompt is too strange",
      evidence: 'prompt is too strange',
      transient: false,
      cause: 'engine-error',
    },
  },
  unauthorized: {
    reports: ['session'],
    end: { is: 'signed-out', evidence: 'invalid api key' },
  },
  limited: {
    reports: ['session'],
    end: { is: 'limited', until: now + 60_000, evidence: 'rate limit reached' },
  },
  overloaded: {
    reports: ['session'],
    end: {
      is: 'failed',
      reason: "the engine's service answered 529: overloaded",
      evidence: 'overloaded',
      transient: true,
      cause: 'engine-error',
    },
  },
  dropped: {
    reports: ['session'],
    end: {
      is: 'failed',
      reason:
        'the engine reported an error: Cannot connect to API: The socket connection was closed unexpectedly. For more information, pass `verbose: true` in the second argument to fetch()',
      evidence:
        'Cannot connect to API: The socket connection was closed unexpectedly. For more information, pass `verbose: true` in the second argument to fetch()',
      transient: true,
      cause: 'engine-error',
    },
  },
  denied: {
    reports: [
      'session',
      'agent: I write a file.',
      'calls write /place/worktree/one.txt',
      'returns bad /place/worktree/one.txt',
      'uses 1200+34 tokens, 0 usd',
    ],
    end: { is: 'ended', text: '', denied: ['edit'] },
  },
  nothing: {
    reports: ['session', 'agent: There is nothing to do.', 'uses 1200+34 tokens, 0 usd'],
    end: { is: 'ended', text: 'There is nothing to do.', denied: [] },
  },
}

readsAsMeant(opencode, recorded)

describe('the start', () => {
  test('acts without asking and keeps to the home of the task', () => {
    const env = { XDG_CONFIG_HOME: '/home/task/.config', OPENCODE_CONFIG_CONTENT: '{}' }
    expect(opencode.launch(launchInput({ program: ['/bin/opencode'], model: 'own/model', env }))).toEqual({
      file: '/bin/opencode',
      args: ['run', '--format', 'json', '--auto', '--model', 'own/model'],
      env: {
        XDG_DATA_HOME: '/home/task/.local/share',
        XDG_STATE_HOME: '/home/task/.local/state',
        XDG_CACHE_HOME: '/home/task/.cache',
        OPENCODE_DISABLE_AUTOUPDATE: '1',
        OPENCODE_DISABLE_MODELS_FETCH: '1',
        OPENCODE_DISABLE_SHARE: '1',
      },
      stdin: 'prompt',
      files: [],
    })
  })

  test('of a later attempt continues the session', () => {
    const { args, session } = opencode.launch(launchInput({ resume: 'earlier' }))
    expect([args.slice(-2), session]).toEqual([['--session', 'earlier'], 'earlier'])
  })

  test('with permission `ask` asks before edits and commands, which it allows by default', () => {
    const { args, env } = opencode.launch(launchInput({ permission: 'ask' }))
    expect([args.includes('--auto'), env['OPENCODE_PERMISSION']]).toEqual([
      false,
      '{"edit":"ask","bash":"ask"}',
    ])
  })
})

const step = (reason: string) => ({
  type: 'step_finish',
  sessionID: 's',
  part: { reason, tokens: {}, cost: 0.25 },
})
const said = (text: string) => ({ type: 'text', sessionID: 's', part: { text } })

describe('the end', () => {
  test('a last step that stops is the end', () => {
    const { end } = replay(opencode, { code: 0, lines: out(step('tool-calls'), said('done'), step('stop')) })
    expect(end).toEqual({ is: 'ended', text: 'done', denied: [] })
  })

  test('exit 0 in the middle of a step is cut off', () => {
    const { end } = replay(opencode, { code: 0, lines: out(said('on it'), step('tool-calls')) })
    expect(end).toEqual({ is: 'cut-off', reason: 'the program ended without its final event' })
  })

  test('an earlier stop does not count when another step was begun', () => {
    const { end } = replay(opencode, {
      code: 0,
      lines: out(step('stop'), { type: 'step_start', sessionID: 's' }),
    })
    expect(end.is).toBe('cut-off')
  })

  test('a limit ends when its header says', () => {
    const data = { message: 'slow down', statusCode: 429, responseHeaders: { 'retry-after': '3600' } }
    const error = { type: 'error', sessionID: 's', error: { name: 'APIError', data } }
    expect(replay(opencode, { code: 1, lines: out(error) }).end).toEqual({
      is: 'limited',
      until: now + 3_600_000,
      evidence: 'slow down',
    })
  })
})

test('a session that cannot be continued is told', () => {
  const line = '\u001B[91m\u001B[1mError: \u001B[0mSession not found'
  expect(replay(opencode, { code: 1, lines: [{ stream: 'err', line }] }).reports).toEqual(['session lost'])
})

test('cost is counted step by step', () => {
  expect(replay(opencode, { code: 0, lines: out(step('tool-calls'), step('stop')) }).reports).toEqual([
    'session',
    'uses 0+0 tokens, 0.25 usd',
    'uses 0+0 tokens, 0.25 usd',
  ])
})
