// Codex: its start, its stream as recorded, its end.

import { describe, expect, test } from 'vitest'
import { type RunEnd } from '../../src/core/outcome.ts'
import { codex } from '../../src/engines/codex.ts'
import { launchInput } from './launching.ts'
import { now, out, replay, readsAsMeant } from './replay.ts'

const recorded: { [scenario: string]: { reports: string[]; end: RunEnd } } = {
  success: {
    reports: [
      'session',
      'agent: I write two files.',
      'calls file_change /place/worktree/one.txt',
      'returns ok /place/worktree/one.txt',
      'calls file_change /place/worktree/two.txt',
      'returns ok /place/worktree/two.txt',
      "calls command_execution '/bin/bash -lc 'wc -l one.txt two.txt''",
      'returns ok 0',
      'agent: Both files are there.',
      'session used 4800+136 tokens, 0 usd',
    ],
    end: { is: 'ended', text: 'Both files are there.', denied: [] },
  },
  'tool-failed': {
    reports: [
      'session',
      'agent: I run a command.',
      "calls command_execution '/bin/bash -lc 'echo broken >&2; exit 3''",
      'returns bad 3',
      'agent: The command failed.',
      'session used 2400+68 tokens, 0 usd',
    ],
    end: { is: 'ended', text: 'The command failed.', denied: [] },
  },
  'bad-request': {
    reports: ['session'],
    end: {
      is: 'failed',
      reason: 'the engine reported an error: prompt is too strange',
      evidence: 'prompt is too strange',
      transient: false,
      cause: 'engine-error',
    },
  },
  unauthorized: {
    reports: [
      'session',
      'retries after 401: Reconnecting... 1/1 (unexpected status 401 Unauthorized: invalid api key, url: http://127.0.0.1:1/v1/responses)',
    ],
    end: {
      is: 'signed-out',
      evidence: 'unexpected status 401 Unauthorized: invalid api key, url: http://127.0.0.1:1/v1/responses',
    },
  },
  limited: {
    reports: [
      'session',
      'retries after 429: Reconnecting... 1/1 (exceeded retry limit, last status: 429 Too Many Requests)',
    ],
    end: {
      is: 'limited',
      until: now + 60_000,
      evidence: 'exceeded retry limit, last status: 429 Too Many Requests',
    },
  },
  overloaded: {
    reports: [
      'session',
      'retries after 529: Reconnecting... 1/1 (unexpected status 529 <unknown status code>: overloaded, url: http://127.0.0.1:1/v1/responses)',
    ],
    end: {
      is: 'failed',
      reason:
        "the engine's service answered 529: unexpected status 529 <unknown status code>: overloaded, url: http://127.0.0.1:1/v1/responses",
      evidence:
        'unexpected status 529 <unknown status code>: overloaded, url: http://127.0.0.1:1/v1/responses',
      transient: true,
      cause: 'engine-error',
    },
  },
  dropped: {
    reports: [
      'session',
      'retries after an error: Reconnecting... 1/1 (stream disconnected before completion: error sending request)',
    ],
    end: {
      is: 'failed',
      reason: 'the engine reported an error: stream disconnected before completion: error sending request',
      evidence: 'stream disconnected before completion: error sending request',
      transient: true,
      cause: 'engine-error',
    },
  },
  denied: {
    reports: [
      'session',
      'agent: I write a file.',
      'agent: I was not allowed to.',
      'session used 2400+68 tokens, 0 usd',
    ],
    end: { is: 'ended', text: 'I was not allowed to.', denied: ['apply_patch'] },
  },
  nothing: {
    reports: ['session', 'agent: There is nothing to do.', 'session used 1200+34 tokens, 0 usd'],
    end: { is: 'ended', text: 'There is nothing to do.', denied: [] },
  },
}

readsAsMeant(codex, recorded)

describe('the start', () => {
  test('is sandboxed to the worktree, with a config that keeps it quiet', () => {
    const program = ['/bin/codex', '-c', 'model_provider="own"']
    expect(codex.launch(launchInput({ program, model: 'gpt-5' }))).toEqual({
      file: '/bin/codex',
      args: [
        '-c model_provider="own" exec --json --skip-git-repo-check',
        '--sandbox workspace-write --model gpt-5 -',
      ].flatMap(part => part.split(' ')),
      env: { CODEX_HOME: '/home/task/.codex' },
      stdin: 'prompt',
      files: [
        {
          path: '.codex/config.toml',
          content: 'check_for_update_on_startup = false\n\n[analytics]\nenabled = false\n',
        },
      ],
    })
  })

  test('of a later attempt continues the session', () => {
    const { args, session } = codex.launch(launchInput({ resume: 'earlier' }))
    expect([args.slice(-3), session]).toEqual([['resume', 'earlier', '-'], 'earlier'])
  })

  test('hands on the key under the name that works headless', () => {
    expect(codex.launch(launchInput({ env: { OPENAI_API_KEY: 'k' } })).env['CODEX_API_KEY']).toBe('k')
    expect(codex.launch(launchInput({ env: { OPENAI_API_KEY: 'k', CODEX_API_KEY: 'c' } })).env).toEqual({
      CODEX_HOME: '/home/task/.codex',
    })
  })

  test('writes nothing into a home that a person configured', () => {
    const launch = codex.launch(launchInput({ env: { CODEX_HOME: '/elsewhere' } }))
    expect([launch.env, launch.files]).toEqual([{}, []])
  })

  test('with permission `ask` may only read', () => {
    expect(codex.launch(launchInput({ permission: 'ask' })).args).toContain('read-only')
  })
})

const started = { type: 'thread.started', thread_id: 't' }
const failed = (message: string) => ({ type: 'turn.failed', error: { message } })

describe('the end', () => {
  test('a usage limit names its time', () => {
    const words = 'You’ve hit your usage limit. Upgrade to Pro or try again at Nov 30th, 2026 3:45 PM (UTC).'
    const { end } = replay(codex, { code: 1, lines: out(started, failed(words)) })
    expect(end).toEqual({ is: 'limited', until: Date.parse('2026-11-30T15:45:00Z'), evidence: words })
  })

  test('a key that is missing is known from stderr', () => {
    const line = 'Missing environment variable: `FIXTURE_KEY`.'
    const { end } = replay(codex, { code: 1, lines: [{ stream: 'err', line }] })
    expect(end).toEqual({ is: 'signed-out', evidence: line })
  })

  test('exit 0 without a completed turn is cut off', () => {
    const { end } = replay(codex, { code: 0, lines: out(started, { type: 'turn.started' }) })
    expect(end).toEqual({ is: 'cut-off', reason: 'the program ended without its final event' })
  })

  test('an error before the turn is known from the event', () => {
    const { end } = replay(codex, {
      code: 1,
      lines: out(started, { type: 'error', message: 'unexpected status 503' }),
    })
    expect(end).toEqual({
      is: 'failed',
      reason: "the engine's service answered 503: unexpected status 503",
      evidence: 'unexpected status 503',
      transient: true,
      cause: 'engine-error',
    })
  })

  test('a turn that fails after one that completed is a failure', () => {
    const lines = out(started, { type: 'turn.completed' }, { type: 'turn.started' }, failed('strange'))
    expect(replay(codex, { code: 1, lines }).end.is).toBe('failed')
  })

  test('what the sandbox refused a command is a denied permission', () => {
    const item = { id: 'i', type: 'command_execution', command: 'git commit' }
    const output = "fatal: Unable to create '/r/.git/index.lock': Read-only file system"
    const lines = out(
      { type: 'item.started', item },
      {
        type: 'item.completed',
        item: { ...item, aggregated_output: output, exit_code: 128, status: 'failed' },
      },
      { type: 'turn.completed', usage: {} },
    )
    expect(replay(codex, { code: 0, lines }).end).toEqual({ is: 'ended', text: '', denied: ['command'] })
  })
})

test('a session that cannot be continued is told', () => {
  const line =
    'Error: thread/resume: thread/resume failed: no rollout found for thread id 59104f3d (code -32600)'
  expect(replay(codex, { code: 1, lines: [{ stream: 'err', line }] }).reports).toEqual(['session lost'])
})

test('a tool that is told only when it is over is told as begun and ended', () => {
  const item = { id: 'i', type: 'mcp_tool_call', server: 'berth', tool: 'ask_human', status: 'completed' }
  const { reports } = replay(codex, { code: 0, lines: out({ type: 'item.completed', item }) })
  expect(reports).toEqual(['calls berth.ask_human', 'returns ok'])
})
