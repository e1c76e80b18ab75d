// Gemini CLI, headless, with its stream of JSON lines.

import { endOfError, endOfStream, statusIn, type Terminal } from './end.ts'
import { type Engine, type Launch, type LaunchInput, type Report } from './engine.ts'
import { number, object, objectIn, text, texts, type Json } from './json.ts'
import { continued, sessionLostIn, unset } from './launch.ts'

type State = {
  seen?: boolean
  /** As it said at its start; kept until the model speaks, since before that nothing is written down. */
  session?: Session
  /** What the model has said since the last other event: it comes in pieces. */
  saying?: string
  said?: string
  /** The tools by the ids of their calls. */
  tools?: { [id: string]: string }
  terminal?: Terminal
  denied?: string[]
}

type Session = Extract<Report, { is: 'session' }>

/** It ends so when no way of signing in is chosen, or the chosen one does not work. */
const authenticationExit = 41

export const gemini: Engine = {
  name: 'gemini',
  program: 'gemini',
  versionArgs: ['--version'],
  install: 'npm install -g @google/gemini-cli',
  keyNames: ['GEMINI_API_KEY', 'GOOGLE_API_KEY'],
  ownNames: [
    'GEMINI_CLI_HOME',
    'GEMINI_CLI_SYSTEM_SETTINGS_PATH',
    'GEMINI_CLI_TRUSTED_FOLDERS_PATH',
    'GEMINI_CLI',
  ],
  launch,
  read(state, line, stream) {
    if (stream === 'err') return { state, reports: [...retryIn(line), ...sessionLostIn(line)] }
    const event = objectIn(line)
    return event ? readEvent(state, event) : { state, reports: [] }
  },
  conclude(ended) {
    const { terminal, denied = [] } = ended.state as State
    const status = statusOfExit(ended.code)
    const evidence = ended.stderr.findLast(line => line.trim() !== '') ?? `exit code ${authenticationExit}`
    if (!terminal && ended.code === authenticationExit) return { is: 'signed-out', evidence }
    if (terminal && !terminal.ok && status !== undefined)
      return endOfError({ status, ...terminal }, ended.now)
    return endOfStream(ended, terminal, denied)
  },
}

/** It ends with the HTTP status modulo 256, and may name it nowhere else. */
const statusOfExit = (code: number | null): number | undefined =>
  [400, 401, 403, 404, 408, 413, 429, 500, 502, 503, 504, 529].find(status => status % 256 === code)

function launch(input: LaunchInput): Launch {
  const [file = 'gemini', ...leading] = input.program
  const args = ['--output-format', 'stream-json', '--skip-trust']
  args.push('--approval-mode', input.permission === 'auto' ? 'yolo' : 'default')
  args.push(...(input.resume === undefined ? ['--session-id', input.session] : ['--resume', input.resume]))
  if (input.model !== undefined) args.push('--model', input.model)
  return {
    file,
    args: [...leading, ...args],
    env: unset(input, {
      GEMINI_CLI_HOME: input.home,
      GEMINI_CLI_TRUST_WORKSPACE: 'true',
      // It would start itself a second time: one process fewer.
      GEMINI_CLI_NO_RELAUNCH: '1',
    }),
    stdin: 'prompt',
    files:
      input.env['GEMINI_CLI_HOME'] === undefined
        ? [{ path: '.gemini/settings.json', content: settings(input.env), merge: 'json' }]
        : [],
    ...continued(input),
  }
}

function settings(env: LaunchInput['env']): string {
  const general = { maxAttempts: 2, enableAutoUpdate: false, enableAutoUpdateNotification: false }
  // A base URL alone would choose a way of signing in that ends with exit 41.
  const auth =
    env['GEMINI_API_KEY'] === undefined ? {} : { security: { auth: { selectedType: 'gemini-api-key' } } }
  return `${JSON.stringify({ general, privacy: { usageStatisticsEnabled: false }, ...auth }, null, 2)}\n`
}

/** `Attempt 1 failed with status 429. Retrying with backoff...`: the stream itself is silent meanwhile. */
function retryIn(line: string): Report[] {
  const found = /^Attempt \d+ failed.*?Retrying/.exec(line)?.[0]
  if (found === undefined) return []
  const status = statusIn(line)
  return [{ is: 'retrying', ...(status === undefined ? {} : { status }), text: line.trim().slice(0, 300) }]
}

type Read = { state: State; reports: Report[] }

function readEvent(before: State, event: Json): Read {
  const type = text(event, 'type')
  if (type === 'message') return readMessage(before, event)
  const { state, reports } = spoken({ ...before, seen: true })
  const read = readOther(state, event, type)
  return read ? { state: read.state, reports: [...reports, ...read.reports] } : { state: before, reports: [] }
}

function readMessage(state: State, event: Json): Read {
  if (text(event, 'role') !== 'assistant') return { state: { ...state, seen: true }, reports: [] }
  const saying = (state.saying ?? '') + (text(event, 'content') ?? '')
  return begun({ ...state, seen: true, saying }, [])
}

/** Only now is there a session that can be continued. */
function begun({ session, ...state }: State, reports: Report[]): Read {
  return { state, reports: session === undefined ? reports : [session, ...reports] }
}

/** What was said in pieces, as one message. */
function spoken({ saying, ...state }: State): Read {
  if (saying === undefined || saying.trim() === '') return { state, reports: [] }
  return { state: { ...state, said: saying }, reports: [{ is: 'message', role: 'agent', text: saying }] }
}

function readOther(state: State, event: Json, type: string | undefined): Read | undefined {
  switch (type) {
    case 'init': {
      const id = text(event, 'session_id')
      const model = text(event, 'model')
      if (id === undefined) return { state, reports: [] }
      const session: Session = { is: 'session', id, ...(model === undefined ? {} : { model }) }
      return { state: { ...state, session }, reports: [] }
    }
    case 'tool_use':
      return readTool(state, event)
    case 'tool_result':
      return readToolEnd(state, event)
    case 'result':
      return {
        state: { ...state, terminal: terminalOf(event, state) },
        reports: [usageOf(object(event, 'stats'))],
      }
    case 'error':
      return { state, reports: [] }
    default:
      return undefined
  }
}

function readTool(state: State, event: Json): Read {
  const id = text(event, 'tool_id') ?? ''
  const tool = text(event, 'tool_name') ?? 'unknown'
  const input = object(event, 'parameters')
  const command = text(input, 'command')
  const paths = texts(input, ['file_path', 'absolute_path', 'path'])
  const report: Report = { is: 'tool', id, tool, paths, ...(command === undefined ? {} : { command }) }
  return begun({ ...state, tools: { ...state.tools, [id]: tool } }, [report])
}

function readToolEnd(state: State, event: Json): Read {
  const id = text(event, 'tool_id') ?? ''
  const ok = text(event, 'status') === 'success'
  const { [id]: tool = 'unknown', ...tools } = state.tools ?? {}
  const error = object(event, 'error')
  // Without a person to ask it does not offer what would need asking.
  const missing = text(error, 'type') === 'tool_not_registered' && askedFor.has(tool)
  const refused =
    !ok && (missing || refusal.test(`${text(error, 'message') ?? ''} ${text(event, 'output') ?? ''}`))
  const denied = refused ? { denied: [...new Set([...(state.denied ?? []), tool])] } : {}
  return { state: { ...state, ...denied, tools }, reports: [{ is: 'tool-ended', id, ok, paths: [] }] }
}

const askedFor = new Set(['write_file', 'replace', 'run_shell_command'])

const refusal = /denied by policy|not (allowed|permitted)|user (declined|denied|cancelled)|non-interactive/i

function terminalOf(event: Json, state: State): Terminal {
  if (text(event, 'status') === 'success') return { ok: true, text: state.said ?? '' }
  const said = text(object(event, 'error'), 'message') ?? 'the program reported an error'
  const words = /^\[API Error: (.*)\]/.exec(said)?.[1] ?? said
  const error = object(objectIn(words) ?? {}, 'error')
  const status = number(error, 'code') ?? statusIn(words)
  return { ok: false, text: text(error, 'message') ?? words, ...(status === undefined ? {} : { status }) }
}

const usageOf = (stats: Json): Report => ({
  is: 'usage',
  usage: {
    usd: 0,
    inputTokens: number(stats, 'input_tokens') ?? 0,
    outputTokens: number(stats, 'output_tokens') ?? 0,
  },
  of: 'run',
})
