// opencode, headless: `opencode run` with its JSON lines.

import { endOfStream, rateWindowMs, type Terminal } from './end.ts'
import { type Engine, type Launch, type LaunchInput, type Report } from './engine.ts'
import { number, object, objectIn, text, texts, type Json } from './json.ts'
import { continued, sessionLostIn, unset } from './launch.ts'

type State = {
  seen?: boolean
  session?: string
  said?: string
  terminal?: Terminal
  denied?: string[]
}

export const opencode: Engine = {
  name: 'opencode',
  program: 'opencode',
  versionArgs: ['--version'],
  install: 'npm install -g opencode-ai',
  keyNames: [
    'OPENCODE_API_KEY',
    'ANTHROPIC_API_KEY',
    'OPENAI_API_KEY',
    'GEMINI_API_KEY',
    'OPENROUTER_API_KEY',
  ],
  ownNames: [
    'OPENCODE_CONFIG_DIR',
    'OPENCODE_DB',
    'OPENCODE_AUTH_CONTENT',
    'OPENCODE',
    'OPENCODE_PID',
    'AGENT',
  ],
  launch,
  read(state, line, stream, now) {
    if (stream === 'err') return readStderr(state, line)
    const event = objectIn(line)
    return event ? readEvent(state, event, now) : { state, reports: [] }
  },
  conclude(ended) {
    const { terminal, denied = [] } = ended.state as State
    // A denied permission ends the run at once, in the middle of a step and with exit 0.
    const cut = !terminal && ended.code === 0 && denied.length > 0
    return cut ? { is: 'ended', text: '', denied } : endOfStream(ended, terminal, denied)
  },
}

function launch(input: LaunchInput): Launch {
  const [file = 'opencode', ...leading] = input.program
  const auto = input.permission === 'auto'
  const args = ['run', '--format', 'json', ...(auto ? ['--auto'] : [])]
  if (input.resume !== undefined) args.push('--session', input.resume)
  if (input.model !== undefined) args.push('--model', input.model)
  return {
    file,
    args: [...leading, ...args],
    env: unset(input, {
      XDG_CONFIG_HOME: `${input.home}/.config`,
      XDG_DATA_HOME: `${input.home}/.local/share`,
      XDG_STATE_HOME: `${input.home}/.local/state`,
      XDG_CACHE_HOME: `${input.home}/.cache`,
      OPENCODE_DISABLE_AUTOUPDATE: '1',
      OPENCODE_DISABLE_MODELS_FETCH: '1',
      OPENCODE_DISABLE_SHARE: '1',
      // It allows everything unless it is told otherwise.
      ...(auto ? {} : { OPENCODE_PERMISSION: JSON.stringify({ edit: 'ask', bash: 'ask' }) }),
    }),
    stdin: 'prompt',
    files: [],
    ...continued(input),
  }
}

type Read = { state: State; reports: Report[] }

/** `permission requested: edit (a.txt); auto-rejecting` is said on stderr only. */
function readStderr(state: State, line: string): Read {
  const tool = /permission requested: ([\w-]+).*auto-rejecting/.exec(line)?.[1]
  if (tool === undefined) return { state, reports: sessionLostIn(plainText(line)) }
  return { state: { ...state, denied: [...new Set([...(state.denied ?? []), tool])] }, reports: [] }
}

// eslint-disable-next-line no-control-regex -- colours
const plainText = (line: string): string => line.replaceAll(/\u001B\[[\d;]*m/g, '')

function readEvent(before: State, event: Json, now: number): Read {
  const read = readPart({ ...before, seen: true }, event, now)
  if (!read) return { state: before, reports: [] }
  const id = text(event, 'sessionID')
  if (id === undefined || id === read.state.session) return read
  return { state: { ...read.state, session: id }, reports: [{ is: 'session', id }, ...read.reports] }
}

function readPart(state: State, event: Json, now: number): Read | undefined {
  const part = object(event, 'part')
  switch (text(event, 'type')) {
    case 'step_start': {
      const { terminal: _earlier, ...going } = state
      return { state: going, reports: [] }
    }
    case 'text': {
      const words = text(part, 'text') ?? ''
      return { state: { ...state, said: words }, reports: [{ is: 'message', role: 'agent', text: words }] }
    }
    case 'reasoning':
      return { state, reports: [{ is: 'message', role: 'thought', text: text(part, 'text') ?? '' }] }
    case 'tool_use':
      return { state, reports: toolReports(part) }
    case 'step_finish':
      return readFinish(state, part)
    case 'error':
      return { state: { ...state, terminal: errorOf(object(event, 'error'), now) }, reports: [] }
    default:
      return undefined
  }
}

/** A call is told when it is over: begin and end at once. */
function toolReports(part: Json): Report[] {
  const call = object(part, 'state')
  const input = object(call, 'input')
  const metadata = object(call, 'metadata')
  const id = text(part, 'callID') ?? ''
  const command = text(input, 'command')
  const paths = [...new Set([...texts(input, ['filePath', 'path']), ...texts(metadata, ['filepath'])])]
  const exitCode = number(metadata, 'exit')
  return [
    {
      is: 'tool',
      id,
      tool: text(part, 'tool') ?? 'unknown',
      paths,
      ...(command === undefined ? {} : { command }),
    },
    {
      is: 'tool-ended',
      id,
      ok: text(call, 'status') === 'completed' && (exitCode ?? 0) === 0,
      ...(exitCode === undefined ? {} : { exitCode }),
      paths,
    },
  ]
}

function readFinish(state: State, part: Json): Read {
  const tokens = object(part, 'tokens')
  const cache = object(tokens, 'cache')
  const inputs = [number(tokens, 'input'), number(cache, 'read'), number(cache, 'write')]
  const usage = {
    usd: number(part, 'cost') ?? 0,
    inputTokens: inputs.reduce<number>((sum, count) => sum + (count ?? 0), 0),
    outputTokens: (number(tokens, 'output') ?? 0) + (number(tokens, 'reasoning') ?? 0),
  }
  const reports: Report[] = [{ is: 'usage', usage, of: 'call' }]
  if (text(part, 'reason') !== 'stop') return { state, reports }
  return { state: { ...state, terminal: { ok: true, text: state.said ?? '' } }, reports }
}

function errorOf(error: Json, now: number): Terminal {
  const data = object(error, 'data')
  const status = number(data, 'statusCode')
  const seconds = Number(text(object(data, 'responseHeaders'), 'retry-after') ?? Number.NaN)
  return {
    ok: false,
    text: text(data, 'message') ?? text(error, 'name') ?? 'unknown error',
    ...(status === undefined ? {} : { status }),
    // It has waited for less than that by itself, in vain.
    ...(seconds * 1000 > rateWindowMs ? { until: now + seconds * 1000 } : {}),
  }
}
