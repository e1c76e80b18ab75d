// Start: from the daemon's acceptance of a task to its program's first instruction, against `git worktree add` and exec.
import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import {
  berth,
  child,
  connect,
  git,
  makeRepository,
  makeWorld,
  median,
  together,
  until,
  wall,
} from '../world.mjs'

export async function measure(print) {
  for (const [files, rounds, one, eight] of [
    [200, 15, 3, 2],
    [50_000, 5, 1.05, 1.05],
  ]) {
    const world = makeWorld()
    makeRepository(world, files)
    berth(world, ['daemon', 'start'])
    const client = await connect(world)
    await ours(world, client, 'warm', 1)
    const pairs = { one: [], eight: [] }
    for (let i = 0; i < rounds; i++) {
      pairs.one.push([await ours(world, client, `one${i}`, 1), await raw(world, `one${i}`, 1)])
      if (i < Math.max(3, rounds / 3))
        pairs.eight.push([await ours(world, client, `eight${i}`, 8), await raw(world, `eight${i}`, 8)])
    }
    client.close()
    berth(world, ['daemon', 'stop', '--stop-runs'])
    report(print, `start, ${files} files`, pairs.one, one)
    report(print, `eight at once, ${files} files`, pairs.eight, eight)
  }
}

function report(print, what, pairs, limit) {
  const ratio = median(pairs.map(([a, b]) => a / b))
  const ms = side => `${median(pairs.map(pair => pair[side])).toFixed(0)} ms`
  print({
    what,
    ours: ms(0),
    raw: `git worktree add + exec ${ms(1)}`,
    ratio,
    target: `≤ ${limit} ×`,
    met: ratio <= limit,
  })
}

const stamp = file => `date +%s.%N > ${file}`

/** ms from acceptance to the last program's first instruction. */
async function ours(world, client, name, count) {
  const marks = Array.from({ length: count }, (_, i) => join(world.dir, `mark-${name}-${i}`))
  const tasks = marks.map((mark, i) => ({
    name: `${name}-${i}`,
    brief: 'do it',
    spec: { title: 'bench', engine: 'command', command: stamp(mark), changes: 'optional', land: 'never' },
  }))
  await client.call('submit', {
    call: name,
    repo: world.repo,
    tasks,
    trust: true,
    env: world.env,
    flags: { jobs: 8 },
  })
  const started = await until('programs to start', () => times(marks))
  const ms = Math.max(...started) - acceptedAt(world, tasks[0].name)
  await until('tasks to rest', async () => {
    const { tasks: all } = await client.call('ls', { repo: world.repo, all: true })
    return all
      .filter(task => task.task.startsWith(`${name}-`))
      .every(task => ['ready', 'landed', 'failed'].includes(task.status))
  })
  await client.call('rm', {
    repo: world.repo,
    tasks: tasks.map(task => task.name),
    mode: { save: false, discard: true, branch: true, stop: true, unlock: false, by: 'person' },
    wait: true,
    cwd: world.dir,
  })
  return ms
}

/** When the daemon had accepted it: the time of the fact `task.submitted`, ms. */
function acceptedAt(world, task) {
  const facts = berth(world, ['log', '--format', 'jsonl', '--task', task, '--kind', 'task.submitted'])
  return Date.parse(JSON.parse(facts.trim().split('\n').at(-1)).at)
}

async function raw(world, name, count) {
  const path = i => join(world.dir, `raw-${name}-${i}`)
  const mark = i => join(world.dir, `rawmark-${name}-${i}`)
  const from = wall()
  await together(count, i =>
    child(
      world,
      'sh',
      [
        '-c',
        `git worktree add -q -b raw-${name}-${i} '${path(i)}' && cd '${path(i)}' && exec sh -c '${stamp(mark(i))}'`,
      ],
      world.repo,
    ),
  )
  const ms = Math.max(...times(Array.from({ length: count }, (_, i) => mark(i)))) - from
  for (let i = 0; i < count; i++) {
    rmSync(path(i), { recursive: true, force: true })
    git(world, world.repo, 'worktree', 'remove', '--force', path(i))
  }
  return ms
}

function times(marks) {
  try {
    const read = marks.map(mark => Number(readFileSync(mark, 'utf8')) * 1000)
    return read.every(ms => ms > 0) && read
  } catch {
    return false
  }
}
