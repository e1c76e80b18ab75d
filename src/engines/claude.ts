// Claude Code, headless: `claude -p` with its stream of JSON lines.

import { type Usage } from '../core/outcome.ts'
import { endOfStream, type Terminal } from './end.ts'
import { type Engine, type Launch, type LaunchInput, type Report } from './engine.ts'
import { number, object, objectIn, objects, text, texts, type Json } from './json.ts'
import { continued, sessionLostIn, unset } from './launch.ts'

type State = {
  seen?: boolean
  /** Messages whose tokens are counted: one message comes in several events. */
  counted?: string[]
  /** It said that it waits for a permission. */
  waits?: boolean
  until?: number
  terminal?: Terminal
  denied?: string[]
}

export const claude: Engine = {
  name: 'claude',
  program: 'claude',
  versionArgs: ['--version'],
  install: 'npm install -g @anthropic-ai/claude-code',
  keyNames: ['ANTHROPIC_API_KEY', 'ANTHROPIC_AUTH_TOKEN', 'CLAUDE_CODE_OAUTH_TOKEN'],
  ownNames: ['CLAUDE_CONFIG_DIR', 'CLAUDE_CODE_TMPDIR', 'CLAUDECODE', 'CLAUDE_CODE_SESSION_ID', 'AI_AGENT'],
  launch,
  read(state, line, stream, now) {
    if (stream === 'err') return { state, reports: sessionLostIn(line) }
    const event = objectIn(line)
    return event ? readEvent(state, event, now) : { state, reports: [] }
  },
  conclude(ended) {
    const { terminal, denied = [], until } = ended.state as State
    const limited = terminal && !terminal.ok && until !== undefined && until > ended.now
    return endOfStream(ended, limited ? { ...terminal, until } : terminal, denied)
  },
}

function launch(input: LaunchInput): Launch {
  const [file = 'claude', ...leading] = input.program
  const auto = input.permission === 'auto'
  const args = ['-p', '--output-format', 'stream-json', '--verbose']
  args.push('--permission-mode', auto ? 'bypassPermissions' : 'default')
  args.push(...(input.resume === undefined ? ['--session-id', input.session] : ['--resume', input.resume]))
  if (input.model !== undefined) args.push('--model', input.model)
  return {
    file,
    args: [...leading, ...args],
    env: unset(input, {
      CLAUDE_CONFIG_DIR: `${input.home}/.claude`,
      CLAUDE_CODE_TMPDIR: input.temp,
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
      CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS: '1',
      // Further attempts are the scheduler's, which knows when a limit resets and what else is held.
      CLAUDE_CODE_MAX_RETRIES: '2',
      DISABLE_AUTOUPDATER: '1',
      // Without it the program refuses to act by itself as root.
      ...(input.root && auto ? { IS_SANDBOX: '1' } : {}),
    }),
    stdin: 'prompt',
    files: [],
    ...continued(input),
  }
}

type Read = { state: State; reports: Report[] }

function readEvent(state: State, event: Json, now: number): Read {
  switch (text(event, 'type')) {
    case 'system':
      return readSystem({ ...state, seen: true }, event)
    case 'assistant':
      return readAssistant({ ...state, seen: true }, event)
    case 'user':
      return { state: { ...state, seen: true }, reports: toolResults(event) }
    case 'rate_limit_event':
      return readLimit({ ...state, seen: true }, event, now)
    case 'result':
      return readResult({ ...state, seen: true }, event)
    default:
      return { state, reports: [] }
  }
}

function readSystem(state: State, event: Json): Read {
  switch (text(event, 'subtype')) {
    case 'init': {
      const id = text(event, 'session_id')
      const model = text(event, 'model')
      if (id === undefined) return { state, reports: [] }
      return { state, reports: [{ is: 'session', id, ...(model === undefined ? {} : { model }) }] }
    }
    case 'api_retry':
      return { state, reports: [retryOf(event)] }
    case 'session_state_changed':
      return readActivity(state, text(event, 'state'))
    default:
      return { state, reports: [] }
  }
}

function readActivity(state: State, activity: string | undefined): Read {
  if (activity === 'requires_action') {
    const report: Report = { is: 'activity', activity: 'blocked', note: 'waits for a permission' }
    return { state: { ...state, waits: true }, reports: [report] }
  }
  if (activity !== 'running' || !state.waits) return { state, reports: [] }
  return {
    state: { ...state, waits: false },
    reports: [{ is: 'activity', activity: 'working', note: 'goes on' }],
  }
}

function retryOf(event: Json): Report {
  const status = number(event, 'error_status')
  const count = `${number(event, 'attempt') ?? '?'} of ${number(event, 'max_retries') ?? '?'}`
  const words = `retry ${count}: ${text(event, 'error') ?? 'unknown'}`
  return { is: 'retrying', ...(status === undefined ? {} : { status }), text: words }
}

function readLimit(state: State, event: Json, now: number): Read {
  const info = object(event, 'rate_limit_info')
  if (text(info, 'status') !== 'rejected') return { state, reports: [] }
  const seconds = number(info, 'resetsAt')
  const until = seconds === undefined ? null : seconds * 1000
  const words = `${text(info, 'rateLimitType') ?? 'usage'} limit reached`
  const later = until !== null && until > now ? { ...state, until } : state
  return { state: later, reports: [{ is: 'limited', until, text: words }] }
}

function readAssistant(state: State, event: Json): Read {
  const message = object(event, 'message')
  // The program's own words about an error: its result says them again.
  if (text(message, 'model') === '<synthetic>') return { state, reports: [] }
  const reports = objects(message, 'content').flatMap(contentReport)
  const id = text(message, 'id')
  if (id === undefined || state.counted?.includes(id)) return { state, reports }
  const counted = [...(state.counted ?? []), id].slice(-20)
  const usage = { usd: 0, ...tokensOf(object(message, 'usage')) }
  return { state: { ...state, counted }, reports: [...reports, { is: 'usage', usage, of: 'call' }] }
}

function contentReport(content: Json): Report[] {
  const words = text(content, 'text') ?? text(content, 'thinking') ?? ''
  switch (text(content, 'type')) {
    case 'text':
      return words.trim() === '' ? [] : [{ is: 'message', role: 'agent', text: words }]
    case 'thinking':
      return words.trim() === '' ? [] : [{ is: 'message', role: 'thought', text: words }]
    case 'tool_use': {
      const input = object(content, 'input')
      const command = text(input, 'command')
      const paths = texts(input, ['file_path', 'notebook_path', 'path'])
      const tool = text(content, 'name') ?? 'unknown'
      const id = text(content, 'id') ?? ''
      return [{ is: 'tool', id, tool, paths, ...(command === undefined ? {} : { command }) }]
    }
    default:
      return []
  }
}

function toolResults(event: Json): Report[] {
  const paths = texts(object(event, 'tool_use_result'), ['filePath'])
  return objects(object(event, 'message'), 'content')
    .filter(content => text(content, 'type') === 'tool_result')
    .map(content => {
      const code = /^Exit code (\d+)/.exec(text(content, 'content') ?? '')?.[1]
      const exitCode = code === undefined ? {} : { exitCode: Number(code) }
      const id = text(content, 'tool_use_id') ?? ''
      return { is: 'tool-ended', id, ok: content['is_error'] !== true, ...exitCode, paths }
    })
}

function readResult(state: State, event: Json): Read {
  const usd = number(event, 'total_cost_usd') ?? 0
  const usage: Usage = { usd, ...tokensOf(object(event, 'usage')) }
  const denied = objects(event, 'permission_denials').map(denial => text(denial, 'tool_name') ?? 'unknown')
  const next = { ...state, terminal: terminalOf(event), denied: [...new Set(denied)] }
  return { state: next, reports: [{ is: 'usage', usage, of: 'run' }] }
}

/** `subtype` says "success" even of a refused request: only `is_error` counts. */
function terminalOf(event: Json): Terminal {
  const subtype = text(event, 'subtype') ?? 'success'
  const words = text(event, 'result') ?? errorsOf(event) ?? subtype
  if (event['is_error'] !== true && subtype === 'success') return { ok: true, text: words }
  const status = number(event, 'api_error_status')
  const broken = subtype === 'error_during_execution' ? { transient: true } : {}
  return { ok: false, text: words, ...(status === undefined ? {} : { status }), ...broken }
}

function errorsOf(event: Json): string | undefined {
  const errors = event['errors']
  const words = Array.isArray(errors) ? errors.filter(error => typeof error === 'string').join('; ') : ''
  return words === '' ? undefined : words
}

/** All that went in counts, cached or not. */
function tokensOf(usage: Json): Omit<Usage, 'usd'> {
  const parts = ['input_tokens', 'cache_creation_input_tokens', 'cache_read_input_tokens']
  const inputTokens = parts.reduce((sum, part) => sum + (number(usage, part) ?? 0), 0)
  return { inputTokens, outputTokens: number(usage, 'output_tokens') ?? 0 }
}
