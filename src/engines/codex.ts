// Codex, headless: `codex exec` with its stream of JSON lines.

import { endOfStream, statusIn, type Terminal } from './end.ts'
import { type Engine, type Launch, type LaunchInput, type Report } from './engine.ts'
import { number, object, objectIn, objects, text, type Json } from './json.ts'
import { continued, sessionLostIn, unset } from './launch.ts'

type State = {
  seen?: boolean
  /** Ids of the tool calls that were reported as begun. */
  begun?: string[]
  said?: string
  error?: string
  terminal?: Terminal
  denied?: string[]
}

export const codex: Engine = {
  name: 'codex',
  program: 'codex',
  versionArgs: ['--version'],
  install: 'npm install -g @openai/codex',
  keyNames: ['CODEX_API_KEY', 'OPENAI_API_KEY'],
  ownNames: ['CODEX_HOME', 'CODEX_SQLITE_HOME', 'CODEX_THREAD_ID', 'CODEX_TOOL_CALL_ID'],
  launch,
  read(state, line, stream) {
    if (stream === 'err') return readStderr(state, line)
    const event = objectIn(line)
    return event ? readEvent(state, event) : { state, reports: [] }
  },
  conclude(ended) {
    const { terminal, error, denied = [] } = ended.state as State
    const failed: Terminal | undefined = error === undefined ? undefined : { ok: false, text: error }
    return endOfStream(ended, terminal ?? (ended.code === 0 ? undefined : failed), denied)
  },
}

/**
 * In its sandbox the program may write in the worktree but not in git's folder, so it cannot commit: Berth commits
 * what it leaves. Its own retries are capped by its provider's settings only, and a built-in provider has none.
 */
function launch(input: LaunchInput): Launch {
  const [file = 'codex', ...leading] = input.program
  const key = input.env['OPENAI_API_KEY']
  const args = ['exec', '--json', '--skip-git-repo-check']
  args.push('--sandbox', input.permission === 'auto' ? 'workspace-write' : 'read-only')
  if (input.model !== undefined) args.push('--model', input.model)
  if (input.resume !== undefined) args.push('resume', input.resume)
  return {
    file,
    args: [...leading, ...args, '-'],
    // Headless it takes a key from this variable only.
    env: unset(input, {
      CODEX_HOME: `${input.home}/.codex`,
      ...(key === undefined ? {} : { CODEX_API_KEY: key }),
    }),
    stdin: 'prompt',
    // The directory must exist. With analytics on, an exit without network takes five seconds longer.
    files: input.env['CODEX_HOME'] === undefined ? [{ path: '.codex/config.toml', content: config }] : [],
    ...continued(input),
  }
}

const config = `check_for_update_on_startup = false

[analytics]
enabled = false
`

type Read = { state: State; reports: Report[] }

/** A patch that the sandbox refused is said on stderr only. */
function readStderr(state: State, line: string): Read {
  if (!/rejected by user approval settings|blocked by read-only sandbox/.test(line))
    return { state, reports: sessionLostIn(line) }
  return { state: denying(state, /patch/.test(line) ? 'apply_patch' : 'command'), reports: [] }
}

const denying = (state: State, tool: string): State => ({
  ...state,
  denied: [...new Set([...(state.denied ?? []), tool])],
})

function readEvent(before: State, event: Json): Read {
  const state = { ...before, seen: true }
  switch (text(event, 'type')) {
    case 'thread.started': {
      const id = text(event, 'thread_id')
      return { state, reports: id === undefined ? [] : [{ is: 'session', id }] }
    }
    case 'turn.started':
      return { state: without(state), reports: [] }
    case 'item.started':
      return readStarted(state, object(event, 'item'))
    case 'item.completed':
      return readCompleted(state, object(event, 'item'))
    case 'turn.completed': {
      const terminal: Terminal = { ok: true, text: state.said ?? '' }
      return { state: { ...without(state), terminal }, reports: [usageOf(object(event, 'usage'))] }
    }
    case 'turn.failed':
      return readFailure(state, text(object(event, 'error'), 'message') ?? state.error ?? 'the turn failed')
    case 'error':
      return readError(state, text(event, 'message') ?? 'unknown error')
    default:
      return { state: before, reports: [] }
  }
}

function without({ terminal: _terminal, error: _error, ...state }: State): State {
  return state
}

const readFailure = (state: State, words: string): Read => ({
  state: { ...state, terminal: { ok: false, ...errorIn(words) } },
  reports: [],
})

function readError(state: State, words: string): Read {
  if (!/^reconnecting/i.test(words)) return { state: { ...state, error: words }, reports: [] }
  const status = statusIn(words)
  return { state, reports: [{ is: 'retrying', ...(status === undefined ? {} : { status }), text: words }] }
}

/** The text is often the body that the service sent. A body without a status is a request that was refused. */
function errorIn(words: string): { text: string; status?: number } {
  const body = objectIn(words)
  const error = body && object(body, 'error')
  const message = error && text(error, 'message')
  const status = statusIn(words) ?? (error && number(error, 'status'))
  return { text: message ?? words, ...(status === undefined ? {} : { status }) }
}

function readStarted(state: State, item: Json): Read {
  const tool = toolOf(item)
  if (!tool) return { state, reports: [] }
  return { state: { ...state, begun: [...(state.begun ?? []), tool.id] }, reports: [tool] }
}

function readCompleted(state: State, item: Json): Read {
  const words = text(item, 'text') ?? ''
  switch (text(item, 'type')) {
    case 'agent_message':
      return { state: { ...state, said: words }, reports: [{ is: 'message', role: 'agent', text: words }] }
    case 'reasoning':
      return { state, reports: [{ is: 'message', role: 'thought', text: words }] }
    default: {
      const tool = toolOf(item)
      return tool ? readToolEnd(state, item, tool) : { state, reports: [] }
    }
  }
}

type Tool = Extract<Report, { is: 'tool' }>

function readToolEnd(state: State, item: Json, tool: Tool): Read {
  const exitCode = number(item, 'exit_code')
  const ok = text(item, 'status') !== 'failed' && (exitCode ?? 0) === 0
  const ended: Report = {
    is: 'tool-ended',
    id: tool.id,
    ok,
    ...(exitCode === undefined ? {} : { exitCode }),
    paths: tool.paths,
  }
  const begun = (state.begun ?? []).filter(id => id !== tool.id)
  const known = begun.length !== (state.begun ?? []).length
  const refused = !ok && /Read-only file system/.test(text(item, 'aggregated_output') ?? '')
  const next = { ...state, begun }
  return { state: refused ? denying(next, 'command') : next, reports: known ? [ended] : [tool, ended] }
}

function toolOf(item: Json): Tool | undefined {
  const id = text(item, 'id') ?? ''
  const tool = text(item, 'type') ?? ''
  switch (tool) {
    case 'command_execution': {
      const command = text(item, 'command')
      return { is: 'tool', id, tool, paths: [], ...(command === undefined ? {} : { command }) }
    }
    case 'file_change':
      return {
        is: 'tool',
        id,
        tool,
        paths: objects(item, 'changes').flatMap(change => text(change, 'path') ?? []),
      }
    case 'mcp_tool_call':
      return { is: 'tool', id, tool: `${text(item, 'server') ?? ''}.${text(item, 'tool') ?? ''}`, paths: [] }
    case 'web_search':
      return { is: 'tool', id, tool, paths: [] }
    default:
      return undefined
  }
}

const usageOf = (usage: Json): Report => ({
  is: 'usage',
  usage: {
    usd: 0,
    inputTokens: number(usage, 'input_tokens') ?? 0,
    outputTokens: number(usage, 'output_tokens') ?? 0,
  },
  of: 'session',
})
