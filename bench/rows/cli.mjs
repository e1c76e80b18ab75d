// The command line: its start against bare Node, and `ls` of 200 tasks with the daemon up.
import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { berth, main, makeRepository, makeWorld, median, timed } from '../world.mjs'

export async function measure(print) {
  const world = makeWorld()
  const run = args => timed(() => spawnSync(process.execPath, args, { env: world.env, stdio: 'ignore' }))
  const bare = []
  const version = []
  for (let i = 0; i < 15; i++) {
    bare.push(run(['-e', '0']))
    version.push(run([main, '--version']))
  }
  const ratio = median(version) / median(bare)
  print({
    what: '`berth --version`',
    ours: `${median(version).toFixed(0)} ms`,
    raw: `bare node ${median(bare).toFixed(0)} ms`,
    ratio,
    target: '≤ 1.5 ×',
    met: ratio <= 1.5,
  })

  makeRepository(world, 200)
  const tasks = Array.from(
    { length: 200 },
    (_, i) => `## t${i}: task ${i}\ncommand: echo ${i} > new${i}.txt && exec sleep 600\n\nDo it.\n`,
  )
  writeFileSync(join(world.dir, 'tasks.md'), tasks.join('\n'))
  berth(world, ['daemon', 'start'])
  berth(world, ['run', '-f', join(world.dir, 'tasks.md'), '--jobs', '4', '--detach', '--trust'])
  const ls = []
  for (let i = 0; i < 15; i++) ls.push(timed(() => berth(world, ['ls', '--json', '--all'])))
  print({
    what: '`ls --json`, 200 tasks, daemon up',
    ours: `${median(ls).toFixed(0)} ms`,
    target: '≤ 120 ms',
    met: median(ls) <= 120,
  })
  berth(world, ['daemon', 'stop', '--stop-runs'])
}
