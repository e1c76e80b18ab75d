// The situations that every real agent program is put into, as scripts of the fixture model.

import { type RealEngine } from './install.ts'
import { type Turn } from '../fixtures/model/script.ts'

export const scenarioNames = [
  'success',
  'tool-failed',
  'bad-request',
  'unauthorized',
  'limited',
  'overloaded',
  'dropped',
  'denied',
  'nothing',
] as const

export type Scenario = (typeof scenarioNames)[number]

export const scripts: { [name in Scenario]: Turn[] } = {
  success: [
    { say: 'I write two files.', call: [{ do: 'write', path: 'one.txt', content: 'one\n' }] },
    { call: [{ do: 'write', path: 'two.txt', content: 'two\n' }] },
    { call: [{ do: 'bash', command: 'wc -l one.txt two.txt' }] },
    { say: 'Both files are there.' },
  ],
  'tool-failed': [
    { say: 'I run a command.', call: [{ do: 'bash', command: 'echo broken >&2; exit 3' }] },
    { say: 'The command failed.' },
  ],
  'bad-request': [{ error: { status: 400, message: 'prompt is too strange' } }],
  unauthorized: [{ error: { status: 401, message: 'invalid api key' } }],
  limited: [{ error: { status: 429, message: 'rate limit reached', retryAfter: 1 } }],
  overloaded: [{ error: { status: 529, message: 'overloaded' } }],
  dropped: [{ error: { status: 0 } }],
  denied: [
    { say: 'I write a file.', call: [{ do: 'write', path: 'one.txt', content: 'one\n' }] },
    { say: 'I was not allowed to.' },
  ],
  nothing: [{ say: 'There is nothing to do.' }],
}

/** How a program is pointed at the fixture model: variables and leading arguments, as a person configures them. */
export function pointedAt(
  engine: RealEngine,
  url: string,
): { env: { [name: string]: string }; args: string[] } {
  switch (engine) {
    case 'claude':
      return { env: { ANTHROPIC_BASE_URL: url, ANTHROPIC_API_KEY: testKey }, args: [] }
    case 'codex':
      return {
        env: { FIXTURE_KEY: testKey },
        args: [
          '-c',
          'model_provider="fixture"',
          '-c',
          `model_providers.fixture={name="fixture",base_url="${url}/v1",env_key="FIXTURE_KEY",wire_api="responses",request_max_retries=0,stream_max_retries=1}`,
        ],
      }
    case 'gemini':
      return { env: { GOOGLE_GEMINI_BASE_URL: url, GEMINI_API_KEY: testKey }, args: [] }
    case 'opencode':
      return { env: { OPENCODE_CONFIG_CONTENT: opencodeConfig(url) }, args: [] }
  }
}

/** Models as each program wants them named. */
export const models: { [name in RealEngine]: string } = {
  claude: 'claude-sonnet-4-5',
  codex: 'scripted',
  gemini: 'gemini-2.5-pro',
  opencode: 'fixture/scripted',
}

const testKey = 'test-key-of-no-value'

const opencodeConfig = (url: string): string =>
  JSON.stringify({
    provider: {
      fixture: {
        npm: '@ai-sdk/openai-compatible',
        name: 'fixture',
        options: { baseURL: `${url}/v1`, apiKey: testKey },
        models: { scripted: { name: 'scripted' } },
      },
    },
  })
