// Memory and idle CPU with 50 waiting runs. Linux only: it reads /proc.
import { execFileSync } from 'node:child_process'
import { readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { berth, makeRepository, makeWorld, median, until } from '../world.mjs'

const seconds = 30

export async function measure(print) {
  if (process.platform !== 'linux') return
  const world = makeWorld()
  makeRepository(world, 200)
  const tasks = Array.from(
    { length: 50 },
    (_, i) => `## t${i}: task ${i}\ncommand: berth ask "which one, ${i}?"\n\nDo it.\n`,
  )
  writeFileSync(join(world.dir, 'tasks.md'), tasks.join('\n'))
  berth(world, ['daemon', 'start'])
  berth(world, ['run', '-f', join(world.dir, 'tasks.md'), '--jobs', '50', '--detach', '--trust'])
  await until(
    '50 waiting runs',
    () =>
      JSON.parse(berth(world, ['ls', '--json'])).tasks.filter(task => task.status === 'waiting').length ===
      50,
  )
  const daemon = JSON.parse(readFileSync(join(world.env.BERTH_STATE_DIR, 'daemon.json'), 'utf8')).pid
  const supervisors = processes().filter(pid =>
    commandOf(pid).includes(join(world.env.BERTH_STATE_DIR, 'supervisor')),
  )
  const pss = supervisors.map(pid => fieldOf(pid, 'Pss'))
  const rss = fieldOf(daemon, 'Rss')
  const before = ticksOf(daemon)
  await new Promise(resolve => setTimeout(resolve, seconds * 1000))
  const hz = Number(execFileSync('getconf', ['CLK_TCK'], { encoding: 'utf8' }))
  const share = ((ticksOf(daemon) - before) / hz / seconds) * 100
  const bare = await bareNode()
  print({
    what: `supervisor, PSS, median of ${pss.length}`,
    ours: `${median(pss).toFixed(1)} MB`,
    raw: `bare node ${bare.toFixed(1)} MB`,
    ratio: median(pss) / bare,
    target: '≤ 15 MB',
    met: median(pss) <= 15,
  })
  print({
    what: 'daemon, RSS, 50 waiting runs',
    ours: `${rss.toFixed(0)} MB`,
    target: '≤ 90 MB',
    met: rss <= 90,
  })
  print({
    what: `daemon, CPU over ${seconds} s, 50 waiting runs`,
    ours: `${share.toFixed(2)} %`,
    target: '≤ 0.2 %',
    met: share <= 0.2,
  })
  berth(world, ['daemon', 'stop', '--stop-runs'])
}

const processes = () =>
  readdirSync('/proc')
    .filter(name => /^\d+$/.test(name))
    .map(Number)

function commandOf(pid) {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8')
  } catch {
    return ''
  }
}

const fieldOf = (pid, name) =>
  Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8'))[1]) /
  1024

function ticksOf(pid) {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1].split(' ')
  return Number(fields[11]) + Number(fields[12])
}

async function bareNode() {
  const { spawn } = await import('node:child_process')
  const children = Array.from({ length: 8 }, () =>
    spawn(process.execPath, ['-e', 'setInterval(() => {}, 1e9)'], { stdio: 'ignore' }),
  )
  await new Promise(resolve => setTimeout(resolve, 1000))
  const pss = median(children.map(one => fieldOf(one.pid, 'Pss')))
  for (const one of children) one.kill('SIGKILL')
  return pss
}
