// Gemini CLI: its start, its stream as recorded, its end.

import { describe, expect, test } from 'vitest'
import { type RunEnd } from '../../src/core/outcome.ts'
import { gemini } from '../../src/engines/gemini.ts'
import { launchInput } from './launching.ts'
import { now, out, replay, readsAsMeant } from './replay.ts'

const recorded: { [scenario: string]: { reports: string[]; end: RunEnd } } = {
  success: {
    reports: [
      'session of gemini-2.5-pro',
      'agent: I write two files.',
      'calls write_file /place/worktree/one.txt',
      'returns ok',
      'calls write_file /place/worktree/two.txt',
      'returns ok',
      "calls run_shell_command 'wc -l one.txt two.txt'",
      'returns ok',
      'agent: Both files are there.',
      'used 4800+136 tokens, 0 usd',
    ],
    end: { is: 'ended', text: 'Both files are there.', denied: [] },
  },
  'tool-failed': {
    reports: [
      'session of gemini-2.5-pro',
      'agent: I run a command.',
      "calls run_shell_command 'echo broken >&2; exit 3'",
      'returns ok',
      'agent: The command failed.',
      'used 2400+68 tokens, 0 usd',
    ],
    end: { is: 'ended', text: 'The command failed.', denied: [] },
  },
  'bad-request': {
    reports: ['used 0+0 tokens, 0 usd'],
    end: {
      is: 'failed',
      reason: "the engine's service answered 400: prompt is too strange",
      evidence: 'prompt is too strange',
      transient: false,
      cause: 'engine-error',
    },
  },
  unauthorized: {
    reports: ['used 0+0 tokens, 0 usd'],
    end: { is: 'signed-out', evidence: 'invalid api key' },
  },
  limited: {
    reports: [
      'retries after 429: Attempt 1 failed with status 429. Retrying with backoff... _ApiError: {"error":{"code":429,"message":"rate limit reached","status":"RESOURCE_EXHAUSTED"}}',
      'used 0+0 tokens, 0 usd',
    ],
    end: { is: 'limited', until: now + 60_000, evidence: 'rate limit reached' },
  },
  overloaded: {
    reports: [
      'retries after 529: Attempt 1 failed with status 529. Retrying with backoff... _ApiError: {"error":{"code":529,"message":"overloaded","status":"INTERNAL"}}',
      'used 0+0 tokens, 0 usd',
    ],
    end: {
      is: 'failed',
      reason: "the engine's service answered 529: overloaded",
      evidence: 'overloaded',
      transient: true,
      cause: 'engine-error',
    },
  },
  dropped: {
    reports: [
      'retries after an error: Attempt 1 failed. Retrying with backoff... Error: exception TypeError: fetch failed sending request',
      'used 0+0 tokens, 0 usd',
    ],
    end: {
      is: 'failed',
      reason: 'the engine reported an error: exception TypeError: fetch failed sending request',
      evidence: 'exception TypeError: fetch failed sending request',
      transient: true,
      cause: 'engine-error',
    },
  },
  denied: {
    reports: [
      'session of gemini-2.5-pro',
      'agent: I write a file.',
      'calls write_file one.txt',
      'returns bad',
      'agent: I was not allowed to.',
      'used 2400+68 tokens, 0 usd',
    ],
    end: { is: 'ended', text: 'I was not allowed to.', denied: ['write_file'] },
  },
  nothing: {
    reports: ['session of gemini-2.5-pro', 'agent: There is nothing to do.', 'used 1200+34 tokens, 0 usd'],
    end: { is: 'ended', text: 'There is nothing to do.', denied: [] },
  },
}

readsAsMeant(gemini, recorded)

describe('the start', () => {
  test('has its own session id, acts without asking, and trusts its folder', () => {
    expect(gemini.launch(launchInput({ program: ['/bin/gemini'], model: 'gemini-2.5-pro' }))).toEqual({
      file: '/bin/gemini',
      args: [
        '--output-format stream-json --skip-trust --approval-mode',
        'yolo --session-id 11111111-1111-4111-8111-111111111111 --model gemini-2.5-pro',
      ].flatMap(part => part.split(' ')),
      env: { GEMINI_CLI_HOME: '/home/task', GEMINI_CLI_TRUST_WORKSPACE: 'true', GEMINI_CLI_NO_RELAUNCH: '1' },
      stdin: 'prompt',
      files: [{ path: '.gemini/settings.json', content: expect.any(String), merge: 'json' }],
    })
  })

  const general = { maxAttempts: 2, enableAutoUpdate: false, enableAutoUpdateNotification: false }
  const privacy = { usageStatisticsEnabled: false }
  const settings = (env: { [name: string]: string }): unknown =>
    gemini.launch(launchInput({ env })).files.map(({ content }) => JSON.parse(content) as unknown)[0]

  test('caps its own retries', () => {
    expect(settings({})).toEqual({ general, privacy })
  })

  test('with a key says that the key is to be used, whatever the base URL makes it think', () => {
    const auth = { selectedType: 'gemini-api-key' }
    expect(settings({ GEMINI_API_KEY: 'k' })).toEqual({ general, privacy, security: { auth } })
  })

  test('of a later attempt continues the session', () => {
    const { args, session } = gemini.launch(launchInput({ resume: 'earlier' }))
    expect([args.slice(-2), session]).toEqual([['--resume', 'earlier'], 'earlier'])
  })

  test('that finds no session to continue is told', () => {
    const line = 'Error resuming session: No previous sessions found for this project.'
    expect(replay(gemini, { code: 42, lines: [{ stream: 'err', line }] })).toEqual({
      reports: ['session lost'],
      end: {
        is: 'failed',
        reason: 'ended with exit code 42',
        evidence: line,
        transient: false,
        cause: 'exit',
      },
    })
  })

  test('writes nothing into a home that a person configured', () => {
    const launch = gemini.launch(launchInput({ env: { GEMINI_CLI_HOME: '/elsewhere' } }))
    expect([launch.env['GEMINI_CLI_HOME'], launch.files]).toEqual([undefined, []])
  })
})

const failed = (message: string) => ({ type: 'result', status: 'error', error: { type: 'unknown', message } })

describe('the end', () => {
  test('exit 41 is signed out', () => {
    const lines = [{ stream: 'err' as const, line: 'Invalid auth method selected.' }]
    expect(replay(gemini, { code: 41, lines }).end).toEqual({
      is: 'signed-out',
      evidence: 'Invalid auth method selected.',
    })
  })

  test('a quota of the day has no known end', () => {
    const words = 'You have exhausted your daily quota on this model.'
    const { end } = replay(gemini, { code: 173, lines: out(failed(`[API Error: ${words}]`)) })
    expect(end).toEqual({ is: 'limited', until: null, evidence: words })
  })

  test('a quota may name its end', () => {
    const words = 'You have exhausted your capacity on this model. Your quota will reset after 5h30m12s.'
    const { end } = replay(gemini, { code: 173, lines: out(failed(words)) })
    expect(end).toEqual({ is: 'limited', until: now + 19_812_000, evidence: words })
  })

  test('the status may be known from the exit code alone', () => {
    const { end } = replay(gemini, { code: 503 % 256, lines: out(failed('something is wrong')) })
    expect(end).toEqual({
      is: 'failed',
      reason: "the engine's service answered 503: something is wrong",
      evidence: 'something is wrong',
      transient: true,
      cause: 'engine-error',
    })
  })

  test('an untrusted folder is a failure with its words', () => {
    const lines = [{ stream: 'err' as const, line: 'Gemini CLI is not running in a trusted directory.' }]
    expect(replay(gemini, { code: 55, lines }).end).toEqual({
      is: 'failed',
      reason: 'ended with exit code 55',
      evidence: 'Gemini CLI is not running in a trusted directory.',
      transient: false,
      cause: 'exit',
    })
  })

  test('exit 0 after SIGTERM, without a result, is cut off', () => {
    const { end } = replay(gemini, { code: 0, lines: out({ type: 'init', session_id: 's' }) })
    expect(end).toEqual({ is: 'cut-off', reason: 'the program ended without its final event' })
  })
})

test('what it says in pieces is one message', () => {
  const said = (content: string) => ({ type: 'message', role: 'assistant', content, delta: true })
  const { reports } = replay(gemini, {
    code: 0,
    lines: out(said('one '), said('two'), { type: 'result', status: 'success' }),
  })
  expect(reports).toEqual(['agent: one two', 'used 0+0 tokens, 0 usd'])
})
