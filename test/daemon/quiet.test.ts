// Agents that wait for a person without saying so.

import { join } from 'node:path'
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { makeWorld, type World, until } from '../fixtures/berth.ts'

const config = '[timeouts]\nquiet = "1s"\n[recovery]\nattempts = 1\n'

const submit = (world: World, repo: string, text: string) =>
  world.berth([
    'run',
    '-f',
    world.write(join(world.dir, 'tasks.md'), text),
    '--repo',
    repo,
    '--detach',
    '--trust',
  ])

test('a terminal that waits to be typed into needs a person, who answers once', async () => {
  const world = makeWorld()
  const repo = world.repository('repo', { 'app.txt': 'one\n', 'berth.toml': config })
  const agent = world.script(
    join(world.dir, 'trust.sh'),
    `#!/bin/sh
printf '\\033[2J\\033[1mDo you trust the files in this folder?\\033[0m\\r\\n\\033[36m> 1. Yes, proceed\\033[0m\\r\\n  2. No, exit\\r\\nEnter to confirm'
read -r a; echo "answer=$a" >> "${world.dir}/answered"; echo two >> app.txt; git commit -qam two\n`,
  )
  await submit(world, repo, `## x: trust\ncommand: ${agent}\npty: true\n\nGo.\n`)
  const item = await until('the item', async () => (await world.items(repo))[0])
  expect(item).toMatchObject({ kind: 'blocked', task: 'x' })
  expect(item.evidence.map(each => each.text).join('\n')).toBe(
    'Do you trust the files in this folder?\n> 1. Yes, proceed\n  2. No, exit\nEnter to confirm',
  )
  expect(await world.task(repo, 'x')).toMatchObject({ status: 'waiting', waitsFor: 'person' })
  expect(await world.berth(['answer', item.id, '1', '--repo', repo])).toMatchObject({ code: 0 })
  await until('the task to be ready', async () => (await world.task(repo, 'x')).status === 'ready')
  expect(readFileSync(join(world.dir, 'answered'), 'utf8')).toBe('answer=1\n')
})

test('a silent agent is quiet, a silent busy one is not, and the first word ends it', async () => {
  const world = makeWorld()
  const repo = world.repository('repo', { 'app.txt': 'one\n', 'berth.toml': config })
  const wait = `while [ ! -e "${world.dir}/gate" ]; do sleep 0.05; done`
  const idle = world.script(
    join(world.dir, 'idle.sh'),
    `#!/bin/sh\necho thinking\ncat "${world.dir}/fifo" >/dev/null\necho on\n${wait}\n`,
  )
  const busy = world.script(
    join(world.dir, 'busy.sh'),
    `#!/bin/sh\nwhile [ ! -e "${world.dir}/gate" ]; do :; done\necho two >> app.txt\n`,
  )
  world.git(repo, 'version')
  await makeFifo(world)
  await submit(world, repo, `## idle: i\ncommand: ${idle}\n\nGo.\n\n## busy: b\ncommand: ${busy}\n\nGo.\n`)
  const items = await until('the quiet one', async () => {
    const found = await world.items(repo)
    return found.length > 0 && found
  })
  expect(items.map(({ kind, task }) => ({ kind, task }))).toEqual([{ kind: 'quiet', task: 'idle' }])
  expect(items[0]!.reason).toMatch(/^nothing was heard for \d+ s; last: thinking$/)
  world.write(join(world.dir, 'fifo'), '')
  // It may be quiet again by the time somebody looks: what is asked is whether its word was heard.
  await until('the word to be heard', async () =>
    (await world.facts(repo)).some(
      fact => fact.kind === 'run.reported' && fact.task === 'idle' && fact.activity === 'working',
    ),
  )
  world.write(join(world.dir, 'gate'), '')
  await until('the end', async () => (await world.task(repo, 'busy')).status === 'ready')
  const said = (await world.facts(repo)).filter(fact => fact.kind === 'run.reported' && fact.task === 'busy')
  expect(said).toEqual([])
})

const makeFifo = async (world: World): Promise<void> => {
  const { execFileSync } = await import('node:child_process')
  execFileSync('mkfifo', [join(world.dir, 'fifo')])
}
