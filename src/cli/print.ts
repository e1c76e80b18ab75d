// The only writer to the terminal: results to stdout, progress and errors to stderr, colour only where it is seen.

import { createColors } from 'picocolors'
import { BerthError, exitCodeOf, exitCodes, type ErrorCode } from '../core/errors.ts'
import { fit } from './columns.ts'

export type Paint = ReturnType<typeof createColors>

export type Print = {
  /** Result, a line end added. */
  out(text: string): void
  /** Result, as it is. */
  bytes(bytes: Uint8Array): void
  /** One JSON document, or one line of JSON Lines. */
  json(value: unknown): void
  /** Progress and remarks. */
  note(text: string): void
  /** One line at the bottom that the next one replaces; nothing where stderr is no terminal. */
  live(text: string): void
  /** A command to type, as it is typed here: it names the repository if the call named one. */
  typed(command: string): string
  /** A remark: the command to type next. */
  hint(command: string): void
  /** For stdout, and for stderr. */
  paint: Paint
  notePaint: Paint
  /** Columns of stdout's terminal; undefined if it is none. */
  width: number | undefined
  /** Whether stderr is a terminal. */
  isLive: boolean
  /** Nobody reads stdout any more. */
  isCut(): boolean
}

type Stream = NodeJS.WriteStream

/** `keepOn`: with stdout's reader gone (EPIPE) go on in silence, instead of ending at once. */
export function openPrint(io: {
  stdout: Stream
  stderr: Stream
  env: { [name: string]: string | undefined }
  end: () => void
  typed: (command: string) => string
}): Print {
  const { stdout, stderr, env, typed } = io
  let cut = false
  let bottom = ''
  const lost = (error: { code?: string }) => {
    if (error.code !== 'EPIPE' && error.code !== 'ERR_STREAM_DESTROYED') return
    cut = true
    io.end()
  }
  stdout.on('error', lost)
  stderr.on('error', () => {})
  const clear = () => {
    if (bottom !== '') stderr.write('\r\u001B[2K')
    bottom = ''
  }
  const write = (text: string | Uint8Array) => {
    clear()
    if (!cut) stdout.write(text)
  }
  const note = (text: string) => {
    clear()
    stderr.write(`${text}\n`)
  }
  const notePaint = createColors(coloured(stderr, env))
  return {
    out: text => write(`${text}\n`),
    bytes: bytes => write(bytes),
    json: value => write(`${JSON.stringify(value)}\n`),
    note,
    typed,
    hint: command => note(`${notePaint.dim('hint:')} ${typed(command)}`),
    live: text => {
      if (!stderr.isTTY || text === bottom) return
      clear()
      bottom = fit(text, Math.max(20, (stderr.columns || 80) - 1))
      stderr.write(bottom)
    },
    paint: createColors(coloured(stdout, env)),
    notePaint,
    width: stdout.isTTY ? Math.max(20, stdout.columns || 80) : undefined,
    isLive: stderr.isTTY === true,
    isCut: () => cut,
  }
}

const coloured = (stream: Stream, env: { [name: string]: string | undefined }): boolean =>
  stream.isTTY === true && !env['NO_COLOR'] && env['TERM'] !== 'dumb'

/** How an error is said: to a program with `json`; the call itself and its help are the hints of last resort. */
type Saying = { json: boolean; debug: boolean; call: string; help: string }

/** What an error says to a person or to a program; gives the exit code. */
export function printError(print: Print, thrown: unknown, saying: Saying): number {
  const { json, debug } = saying
  const error = knownError(thrown, saying)
  const { code, message } = error
  const hint = error.hint && print.typed(error.hint)
  if (json) print.json({ berth: 1, error: { code, message, ...(hint && { hint }) } })
  else {
    print.note(`${print.notePaint.red('berth:')} ${message}`)
    if (error.hint) print.hint(error.hint)
  }
  if (debug && thrown instanceof Error) print.note(thrown.stack ?? '')
  return exitCodeOf(code)
}

/** Anything that is no BerthError is a bug, or the system's refusal: its first line, and where to see more. */
function knownError(
  thrown: unknown,
  { call, help }: Saying,
): { code: ErrorCode; message: string; hint?: string } {
  if (thrown instanceof BerthError && Object.hasOwn(exitCodes, thrown.code)) {
    const { code, message, hint = code === 'usage' ? help : undefined } = thrown
    return { code, message, ...(hint && { hint }) }
  }
  const text = thrown instanceof Error ? thrown.message : String(thrown)
  const [first = 'something went wrong'] = text.split('\n')
  const system = (thrown as NodeJS.ErrnoException | undefined)?.code
  if (system === 'ENOSPC') return { code: 'disk-full', message: `the disk is full: ${first}` }
  if (system === 'EROFS') return { code: 'state-read-only', message: first }
  return { code: 'failed', message: first, hint: `BERTH_DEBUG=1 ${call}` }
}
