// A program on a terminal of its own, through node-pty.

import { accessSync, closeSync, constants, openSync } from 'node:fs'
import { createRequire } from 'node:module'
import { constants as system } from 'node:os'
import { delimiter, join } from 'node:path'

export type PtyChild = {
  pid: number
  write(text: string): void
  resize(size: { cols: number; rows: number }): void
  onData(listener: (bytes: Uint8Array) => void): void
  onExit(listener: (exit: { code: number | null; signal: string | null }) => void): void
}

export type PtySpec = {
  file: string
  args: string[]
  cwd: string
  env: { [name: string]: string }
  size: { cols: number; rows: number }
}

/** What of node-pty is used. */
type Terminal = {
  pid: number
  ptsName?: string
  write(text: string): void
  resize(cols: number, rows: number): void
  onData(listener: (data: Uint8Array | string) => void): void
  onExit(listener: (exit: { exitCode: number; signal?: number }) => void): void
}

/** Throws if node-pty does not load, or there is no such program (`code` ENOENT): its child would only say so. */
export function spawnPty(library: string, spec: PtySpec): PtyChild {
  if (!isProgram(spec.file, spec.cwd, spec.env)) {
    throw Object.assign(new Error(`spawn ${spec.file} ENOENT`), { code: 'ENOENT' })
  }
  const { spawn } = createRequire(library)(library)
  const terminal = spawn(spec.file, spec.args, {
    name: 'xterm-256color',
    ...spec.size,
    cwd: spec.cwd,
    env: spec.env,
    encoding: null,
  }) as Terminal
  const held = holdOpen(terminal.ptsName)
  return {
    pid: terminal.pid,
    write: text => terminal.write(text),
    resize: ({ cols, rows }) => terminal.resize(cols, rows),
    onData: listener =>
      terminal.onData(data => listener(typeof data === 'string' ? Buffer.from(data) : data)),
    onExit: listener =>
      terminal.onExit(({ exitCode, signal }) => {
        if (held !== undefined) closeSync(held)
        const name = signal ? nameOf(signal) : null
        // `{exitCode: 0, signal: 9}` is a failure.
        listener({ code: name === null ? exitCode : null, signal: name })
      }),
  }
}

/** With the other end open here, what the program wrote last is still read after it has gone (stack.md). */
function holdOpen(name: string | undefined): number | undefined {
  if (name === undefined) return undefined
  try {
    return openSync(name, constants.O_RDWR | constants.O_NOCTTY)
  } catch {
    return undefined
  }
}

const nameOf = (signal: number) =>
  Object.entries(system.signals).find(([, number]) => number === signal)?.[0] ?? `signal ${signal}`

function isProgram(file: string, cwd: string, env: { [name: string]: string }): boolean {
  if (file.includes('/') || file.includes('\\'))
    return mayRun(join(file.startsWith('/') ? '' : cwd, file)) || mayRun(file)
  const folders = (env['PATH'] ?? env['Path'] ?? '/usr/bin:/bin').split(delimiter)
  return folders.some(folder => mayRun(join(folder, file)) || mayRun(join(folder, `${file}.exe`)))
}

function mayRun(file: string): boolean {
  try {
    accessSync(file, constants.X_OK)
    return true
  } catch {
    return false
  }
}
