// The world of a benchmark: scratch repositories on memory-backed disk, a daemon of its own, clocks, medians.
import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createConnection } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const main = join(dirname(fileURLToPath(import.meta.url)), '../dist/main.cjs')

/** Root file systems slow down ten times after mass deletes; memory does not (docs/performance.md). */
const bed = process.env.BERTH_BENCH_DIR ?? (existsSync('/dev/shm') ? '/dev/shm' : tmpdir())

const worlds = []

export function makeWorld() {
  const dir = mkdtempSync(join(bed, 'berth-bench-'))
  const home = join(dir, 'home')
  mkdirSync(home)
  writeFileSync(
    join(home, '.gitconfig'),
    '[user]\n\tname = Bench\n\temail = bench@example.invalid\n[init]\n\tdefaultBranch = main\n',
  )
  const env = {
    PATH: process.env.PATH,
    HOME: home,
    XDG_CONFIG_HOME: join(home, '.config'),
    XDG_RUNTIME_DIR: join(dir, 'rt'),
    BERTH_STATE_DIR: join(dir, 'state'),
    LC_ALL: 'C',
    TZ: 'UTC',
  }
  mkdirSync(env.XDG_RUNTIME_DIR, { mode: 0o700 })
  const world = { dir, env, repo: join(dir, 'repo') }
  worlds.push(world)
  return world
}

export function makeRepository(world, files, name = 'repo') {
  const repo = join(world.dir, name)
  mkdirSync(repo)
  for (let i = 0; i < files; i++) {
    const folder = join(repo, `d${Math.floor(i / 100)}`)
    if (i % 100 === 0) mkdirSync(folder, { recursive: true })
    writeFileSync(join(folder, `f${i}.txt`), `file ${i}\n`.repeat(20))
  }
  git(world, repo, 'init', '-q')
  git(world, repo, 'add', '-A')
  git(world, repo, 'commit', '-qm', 'first')
  return repo
}

export const git = (world, dir, ...args) =>
  execFileSync('git', args, { cwd: dir, env: world.env, encoding: 'utf8', maxBuffer: 1 << 28 })

/** Runs `berth` to its end. */
export function berth(world, args, options = {}) {
  const done = spawnSync(process.execPath, [main, ...args], {
    cwd: options.cwd ?? world.repo,
    env: { ...world.env, ...options.env },
    encoding: 'utf8',
    maxBuffer: 1 << 28,
  })
  if (!(options.codes ?? [0]).includes(done.status))
    throw new Error(`berth ${args.join(' ')}: exit ${done.status}\n${done.stdout}\n${done.stderr}`)
  return done.stdout
}

/** A raw connection to the daemon: what a client pays beyond starting Node. */
export async function connect(world) {
  const info = JSON.parse(readFileSync(join(world.env.BERTH_STATE_DIR, 'daemon.json'), 'utf8'))
  const socket = createConnection(info.socket)
  const waiting = new Map()
  let rest = ''
  let hello
  const greeted = new Promise(resolve => (hello = resolve))
  socket.setEncoding('utf8')
  socket.on('data', text => {
    const lines = (rest + text).split('\n')
    rest = lines.pop()
    for (const line of lines) {
      const message = JSON.parse(line)
      if (message.berth === 1) hello()
      else if (!('event' in message)) waiting.get(message.id)?.(message)
    }
  })
  socket.write(
    JSON.stringify({
      berth: 1,
      contract: info.contract,
      stateId: info.stateId,
      version: info.version,
      role: 'client',
    }) + '\n',
  )
  await greeted
  let id = 0
  return {
    call: (verb, params) =>
      new Promise((resolve, reject) => {
        waiting.set(++id, message =>
          message.error ? reject(new Error(JSON.stringify(message.error))) : resolve(message.answer),
        )
        socket.write(JSON.stringify({ id, verb, params }) + '\n')
      }),
    close: () => socket.destroy(),
  }
}

export const now = () => Number(process.hrtime.bigint()) / 1e6
export const wall = () => performance.timeOrigin + performance.now()

export function timed(work) {
  const from = now()
  work()
  return now() - from
}

export async function until(what, check, limitMs = 120_000) {
  const end = now() + limitMs
  for (;;) {
    const value = await check()
    if (value) return value
    if (now() > end) throw new Error(`waited ${limitMs} ms for ${what}`)
    await new Promise(resolve => setTimeout(resolve, 10))
  }
}

export const median = values => {
  const sorted = [...values].sort((a, b) => a - b)
  const half = sorted.length >> 1
  return sorted.length % 2 === 1 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2
}

export function endWorlds() {
  for (const world of worlds.splice(0)) {
    spawnSync(process.execPath, [main, 'daemon', 'stop', '--stop-runs'], {
      cwd: world.dir,
      env: world.env,
      stdio: 'ignore',
    })
    rmSync(world.dir, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 })
  }
}

/** `count` processes at once; ms until the last has ended. */
export async function together(count, start) {
  const from = now()
  await Promise.all(
    Array.from(
      { length: count },
      (_, i) => new Promise((resolve, reject) => start(i).on('error', reject).on('close', resolve)),
    ),
  )
  return now() - from
}

export const child = (world, file, args, cwd) => spawn(file, args, { cwd, env: world.env, stdio: 'ignore' })
