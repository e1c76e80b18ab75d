// Runs a real agent program directly, as its adapter says, in an environment built from nothing.

import { spawn, spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { userInfo } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { type Engine, type Launch } from '../../src/engines/engine.ts'

export type Line = { stream: 'out' | 'err'; line: string }
export type Driven = { code: number | null; signal: string | null; lines: Line[]; timedOut: boolean }

export type Start = {
  engine: Engine
  program: string[]
  /** Folders put first on PATH. */
  bin: string[]
  /** An empty folder: home, temp folder and worktree are made in it. */
  place: string
  prompt: string
  env: { [name: string]: string }
  model: string
  session: string
  resume?: string
  permission: 'auto' | 'ask'
  timeoutMs: number
}

/** Runs it to its end; after `timeoutMs` it is killed. */
export async function drive(start: Start): Promise<Driven> {
  const env = environment(start)
  const { home, temp, worktree } = placesIn(start.place)
  const launch = start.engine.launch({
    program: start.program,
    prompt: start.prompt,
    promptFile: join(start.place, 'prompt.md'),
    model: start.model,
    session: start.session,
    ...(start.resume === undefined ? {} : { resume: start.resume }),
    home,
    temp,
    worktree,
    gitCommonDir: join(worktree, '.git'),
    permission: start.permission,
    env,
    windows: process.platform === 'win32',
    root: userInfo().uid === 0,
  })
  for (const file of launch.files) put({ ...file, path: join(home, file.path) })
  return run(launch, { ...env, ...launch.env }, worktree, start)
}

/** A worktree with one commit, a home and a temp folder. */
export function makePlace(place: string): void {
  const { home, temp, worktree } = placesIn(place)
  for (const folder of [home, temp, worktree]) mkdirSync(folder, { recursive: true })
  for (const args of [
    ['init', '-q', '-b', 'main'],
    ['commit', '-q', '--allow-empty', '-m', 'first'],
  ]) {
    const { status } = spawnSync('git', args, {
      cwd: worktree,
      env: { ...identity, PATH: process.env['PATH'] ?? '' },
    })
    if (status !== 0) throw new Error(`git ${args[0]} failed`)
  }
}

export const placesIn = (place: string) => ({
  home: join(place, 'home'),
  temp: join(place, 'temp'),
  worktree: join(place, 'worktree'),
})

const identity = {
  GIT_AUTHOR_NAME: 'Test Agent',
  GIT_AUTHOR_EMAIL: 'agent@test.invalid',
  GIT_COMMITTER_NAME: 'Test Agent',
  GIT_COMMITTER_EMAIL: 'agent@test.invalid',
  GIT_CONFIG_NOSYSTEM: '1',
}

function environment({ place, bin, env }: Start): { [name: string]: string } {
  const { home, temp } = placesIn(place)
  return {
    PATH: [...bin, process.env['PATH'] ?? ''].join(delimiter),
    HOME: home,
    TMPDIR: temp,
    LANG: 'C.UTF-8',
    TERM: 'dumb',
    XDG_CONFIG_HOME: join(home, '.config'),
    XDG_DATA_HOME: join(home, '.local/share'),
    XDG_STATE_HOME: join(home, '.local/state'),
    XDG_CACHE_HOME: join(home, '.cache'),
    ...identity,
    ...env,
  }
}

function put({ path, content, merge }: Launch['files'][number]): void {
  mkdirSync(dirname(path), { recursive: true })
  if (merge === 'json') {
    writeFileSync(path, JSON.stringify({ ...existing(path), ...JSON.parse(content) }))
  } else {
    writeFileSync(path, content, { flag: merge === 'replace' ? 'w' : 'a' })
  }
}

function existing(path: string): object {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as object
  } catch {
    return {}
  }
}

function run(launch: Launch, env: { [name: string]: string }, cwd: string, start: Start): Promise<Driven> {
  const child = spawn(launch.file, launch.args, { cwd, env, detached: true })
  const lines: Line[] = []
  let timedOut = false
  const timer = setTimeout(() => {
    timedOut = true
    if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL')
  }, start.timeoutMs)
  const readers = { out: lineReader('out', lines), err: lineReader('err', lines) }
  child.stdout.on('data', readers.out.push)
  child.stderr.on('data', readers.err.push)
  child.stdin.on('error', () => undefined)
  child.stdin.end(launch.stdin === 'prompt' ? start.prompt : undefined)
  return new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (code, signal) => {
      clearTimeout(timer)
      readers.out.end()
      readers.err.end()
      resolve({ code, signal, lines, timedOut })
    })
  })
}

function lineReader(stream: Line['stream'], lines: Line[]) {
  const decoder = new TextDecoder()
  let rest = ''
  const push = (bytes: Buffer) => {
    const parts = (rest + decoder.decode(bytes, { stream: true })).split('\n')
    rest = parts.pop() ?? ''
    for (const line of parts) lines.push({ stream, line })
  }
  const end = () => {
    if (rest !== '') lines.push({ stream, line: rest })
  }
  return { push, end }
}
