// macOS, and any system without /proc: processes from `ps`, their files from `lsof`.

import { type ProcessSource } from './processes.ts'
import { askBySignal, isWithinPosix, killBySignal, noJobs, posixMonotonicMs } from './signal.ts'
import { type Row, type Touch } from './tree.ts'
import { type ProcessInfo, type Tie } from './platform.ts'

export type Tool = (
  file: string,
  args: readonly string[],
) => { code: number | null; out: string; reason?: string | undefined }

export type PsOptions = {
  tool: Tool
  bootId(): string
  /** How this system's `ps` shows the environment after the command. */
  environmentArgs: readonly string[]
}

const columns = 'pid=,ppid=,pgid=,sess=,uid=,tty=,stat=,lstart=,command='

export function makePsSource({ tool, bootId, environmentArgs }: PsOptions): ProcessSource {
  const read = (args: readonly string[]) => {
    const { code, out, reason } = tool('ps', args)
    // `ps -p` of a process that is gone says 1 and nothing else.
    if (code === null || (code !== 0 && out !== ''))
      throw new Error(`'ps' failed${reason ? `: ${reason}` : ''}`)
    return out
  }
  const rowsOf = (text: string): Row[] => {
    let environments: Map<number, string> | undefined
    const environment = (pid: number) => {
      environments ??= parseEnvironments(read(environmentArgs))
      return environments.get(pid)
    }
    return parsePs(text, bootId().slice(0, 8)).map(row => ({
      ...row,
      command: () => row.command,
      uid: () => row.uid,
      environment: () => environment(row.pid),
    }))
  }
  const identity = (pid: number) => {
    if (!(pid > 0)) return undefined
    return rowsOf(read(['-ww', '-o', columns, '-p', String(pid)]))[0]?.start
  }
  return {
    self: process.pid,
    rows: () => {
      const rows = rowsOf(read(['-axww', '-o', columns]))
      if (rows.length === 0) throw new Error("'ps' lists nothing")
      return rows
    },
    identity,
    listeners(ports) {
      const { out } = tool('lsof', ['-nP', `-iTCP:${ports.join(',')}`, '-sTCP:LISTEN', '-F', 'pn'])
      return parseListeners(out)
    },
    touches(rows, within, cwdOnly) {
      const asked = cwdOnly ? ['-nP', '-w', '-d', 'cwd', '-Fpfan'] : ['-nP', '-w', '-Fpfan']
      const { out, reason } = tool('lsof', asked)
      // It says 1 for anything it could not look at; no output at all is a failure.
      if (out === '') throw new Error(`'lsof' failed${reason ? `: ${reason}` : ''}`)
      const wanted = new Set(rows.map(row => row.pid))
      return new Map([...parseLsof(out, within)].filter(([pid]) => wanted.has(pid)))
    },
    isWithin: isWithinPosix,
    ask: row => askBySignal(row, identity),
    kill: row => killBySignal(row, identity),
    monotonicMs: posixMonotonicMs,
    ...noJobs,
  }
}

type PsRow = ProcessInfo & { tty: number }

/** Zombies are left out: they are dead. Start times are exact to a second, which a pid is not recycled within. */
export function parsePs(text: string, boot: string): PsRow[] {
  const form =
    /^\s*(\d+)\s+(\d+)\s+(\d+)\s+(\S+)\s+(\d+)\s+(\S+)\s+(\S+)\s+(\w+\s+\w+\s+\d+\s+[\d:]+\s+\d+)\s(.*)$/
  return text.split('\n').flatMap(line => {
    const match = form.exec(line)
    if (!match) return []
    const [, pid, ppid, pgid, session, uid, tty, state = '', started = '', command = ''] = match
    if (state.startsWith('Z')) return []
    const startedAt = Date.parse(started)
    return {
      pid: Number(pid),
      ppid: Number(ppid),
      pgid: Number(pgid),
      // macOS prints an address here; the group stands in for the session.
      session: /^\d+$/.test(session ?? '') && session !== '0' ? Number(session) : Number(pgid),
      uid: Number(uid),
      tty: /^\?+$|^-$/.test(tty ?? '') ? 0 : 1,
      state,
      start: `${boot}.${started.replace(/\s+/g, '-')}`,
      startedAt: Number.isNaN(startedAt) ? undefined : startedAt,
      command: command.trim().slice(0, 300),
    }
  })
}

/** Words with an equals sign after the command: values with blanks are cut, a marker has none. */
export function parseEnvironments(text: string): Map<number, string> {
  const found = new Map<number, string>()
  for (const line of text.split('\n')) {
    const [, pid, rest = ''] = /^\s*(\d+)\s+(.*)$/.exec(line) ?? []
    const words = rest.split(' ').filter(word => /^[A-Za-z_]\w*=/.test(word))
    if (pid !== undefined) found.set(Number(pid), words.join('\0'))
  }
  return found
}

/** `lsof -F pfan`: a process line, then for each file its descriptor, access and name; the gravest one wins. */
export function parseLsof(text: string, within: (path: string) => boolean): Map<number, Touch> {
  const found = new Map<number, Touch>()
  let pid = 0
  let descriptor = ''
  let access = ''
  for (const line of text.split('\n')) {
    const value = line.slice(1)
    switch (line[0]) {
      case 'p':
        pid = Number(value)
        break
      case 'f':
        descriptor = value
        access = ''
        break
      case 'a':
        access = value
        break
      case 'n': {
        const path = value.replace(/ \(deleted\)$/, '')
        if (!within(path)) break
        const what: Tie = descriptor === 'cwd' ? 'cwd' : /[wu]/.test(access) ? 'open-for-writing' : 'open'
        const before = found.get(pid)
        if (!before || weight[what] > weight[before.what]) found.set(pid, { what, path })
        break
      }
      default:
    }
  }
  return found
}

const weight: { [tie in Tie]: number } = { open: 0, cwd: 1, 'open-for-writing': 2 }

/** `lsof -F pn` of sockets: a process line, then for each socket its descriptor and address. */
export function parseListeners(text: string): Map<number, number> {
  const found = new Map<number, number>()
  let pid = 0
  for (const line of text.split('\n')) {
    if (line.startsWith('p')) pid = Number(line.slice(1))
    const port = /^n.*:(\d+)$/.exec(line)?.[1]
    if (port !== undefined) found.set(pid, Number(port))
  }
  return found
}
