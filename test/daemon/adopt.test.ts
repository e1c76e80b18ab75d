// A loop that dies loses nothing: its runs go on, and the next Berth that may act takes them over.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { type World, kill, makeWorld, until } from '../fixtures/berth.ts'

const daemonOf = (world: World): { pid: number; version: string } =>
  JSON.parse(readFileSync(join(world.state, 'daemon.json'), 'utf8')) as { pid: number; version: string }

const factsOf = async (world: World, repo: string, kind: string) =>
  (await world.facts(repo)).filter(fact => fact.kind === kind)

/** Says a line every 50 ms until `gate` is there, then ends with what is asked. */
const slowAgent = (world: World, end: string): string =>
  world.script(
    join(world.dir, 'slow.sh'),
    `#!/bin/sh\ni=0\nwhile [ ! -e "${world.dir}/gate" ]; do i=$((i+1)); echo "line $i"; sleep 0.05; done\necho "last $i"\n${end}\n`,
  )

const started = (world: World, repo: string) =>
  until('the run to start', async () => (await factsOf(world, repo, 'run.started'))[0])

test('kill -9 of a foreground run loses no run, no byte and no exit code', async () => {
  const world = makeWorld()
  const repo = world.repository('repo', { 'app.txt': 'one\n', 'berth.toml': '[recovery]\nattempts = 1\n' })
  const agent = slowAgent(world, 'echo two >> app.txt; git commit -qam two; exit 7')
  const first = world.start(['run', '--name', 'x', '--command', agent, '--repo', repo, 'go'])
  await started(world, repo)
  first.child.kill('SIGKILL')
  await first.ended
  const lines = () => readOutput(world, repo)
  const before = (await lines()).length
  await until('the orphaned run to go on', async () => (await lines()).length > before + 5)
  world.write(join(world.dir, 'gate'), '')
  expect(await world.berth(['run', '--repo', repo])).toMatchObject({ code: 1 })
  const exits = await factsOf(world, repo, 'run.exited')
  expect(exits).toMatchObject([{ code: 7, signal: null }])
  expect(await factsOf(world, repo, 'run.started')).toHaveLength(1)
  const all = await lines()
  expect(all).toEqual([...all.slice(0, -1).map((_, i) => `line ${i + 1}`), `last ${all.length - 1}`])
  expect((await world.task(repo, 'x')).status).toBe('failed')
})

test('an exit while nothing watched is adopted by a verb that acts, without starting anything', async () => {
  const world = makeWorld()
  const repo = world.repository()
  const agent = slowAgent(world, 'echo two >> app.txt; git commit -qam two')
  const first = world.start(['run', '--command', agent, '--repo', repo, '--name', 'x', 'go'])
  await started(world, repo)
  first.child.kill('SIGKILL')
  await first.ended
  world.write(join(world.dir, 'gate'), '')
  const run = (await started(world, repo))['run'] as string
  await until('the run to end', () => readIf(join(world.state, 'runs', run, 'exit.json')))
  expect(await world.berth(['pause', '--repo', repo])).toMatchObject({ code: 0 })
  expect(await factsOf(world, repo, 'run.exited')).toMatchObject([{ code: 0 }])
  expect(await factsOf(world, repo, 'run.collected')).toMatchObject([{ outcome: { is: 'done' } }])
  expect(await factsOf(world, repo, 'task.ready')).toEqual([])
  await world.berth(['resume', '--repo', repo])
  await until('the task to be ready', async () => (await world.task(repo, 'x')).status === 'ready')
})

test('facts of output are told once, however often the daemon is killed', async () => {
  const world = makeWorld()
  const config = '[engines.talker]\ntype = "command"\nargv = ["./talk.sh"]\nreads = "claude"\n'
  const talk = `#!/bin/sh
say() { printf '{"type":"assistant","message":{"content":[{"type":"text","text":"%s"}],"usage":{"input_tokens":1,"output_tokens":1}},"session_id":"s"}\\n' "$1"; }
printf '{"type":"system","subtype":"init","session_id":"s","model":"m","cwd":".","tools":[]}\\n'
i=0; while [ $i -lt 60 ]; do i=$((i+1)); say "word $i"; sleep 0.05; done
echo two >> app.txt
printf '{"type":"result","subtype":"success","is_error":false,"result":"done","session_id":"s","num_turns":1,"total_cost_usd":0.5,"usage":{"input_tokens":60,"output_tokens":60},"permission_denials":[]}\\n'
`
  const repo = world.repository('repo', { 'app.txt': 'one\n', 'berth.toml': config, 'talk.sh': talk })
  world.git(repo, 'update-index', '--chmod=+x', 'talk.sh')
  world.git(repo, 'commit', '-qm', 'executable')
  world.git(repo, 'checkout', '-q', '.')
  await world.berth(['daemon', 'start'])
  await world.berth(['run', '--engine', 'talker', '--name', 'x', '--repo', repo, '--detach', '--trust', 'go'])
  for (const count of [5, 20, 40]) {
    await until(`word ${count}`, async () => (await factsOf(world, repo, 'message.said')).length >= count)
    kill(daemonOf(world).pid)
    await world.berth(['daemon', 'start'])
  }
  await until('the task to be ready', async () => (await world.task(repo, 'x')).status === 'ready')
  const said = (await factsOf(world, repo, 'message.said')).map(fact => fact['text'])
  expect(said).toEqual(Array.from({ length: 60 }, (_, i) => `word ${i + 1}`))
  expect(await factsOf(world, repo, 'run.started')).toHaveLength(1)
  expect((await factsOf(world, repo, 'run.exited')).map(fact => fact['code'])).toEqual([0])
})

test('a question survives the daemon: the agent asks on, and the answer reaches it once', async () => {
  const world = makeWorld()
  const repo = world.repository()
  const agent = world.script(
    join(world.dir, 'ask.sh'),
    `#!/bin/sh\nberth ask "Which colour?" --choice red --choice blue > colour.txt && git add colour.txt && git commit -qm colour\n`,
  )
  await world.berth(['daemon', 'start'])
  await world.berth([
    'run',
    '--command',
    agent,
    '--name',
    'x',
    '--land',
    'auto',
    '--repo',
    repo,
    '--detach',
    'go',
  ])
  const item = await until('the question', async () => (await world.items(repo))[0])
  expect(item).toMatchObject({
    kind: 'decide',
    question: { text: 'Which colour?', choices: ['red', 'blue'] },
  })
  expect(await world.task(repo, 'x')).toMatchObject({ status: 'waiting', waitsFor: 'person' })
  kill(daemonOf(world).pid)
  expect((await world.items(repo)).map(each => each.id)).toEqual([item.id])
  await world.berth(['daemon', 'start'])
  expect(await world.berth(['answer', item.id, 'blue', '--repo', repo])).toMatchObject({ code: 0 })
  await until('the task to land', async () => (await world.task(repo, 'x')).status === 'landed')
  expect(world.git(repo, 'show', 'main:colour.txt')).toBe('blue\n')
  expect(await factsOf(world, repo, 'question.asked')).toHaveLength(1)
})

test('a waiting run moves to the background when its call returns, and is answered there', async () => {
  const world = makeWorld()
  const repo = world.repository()
  const agent = world.script(
    join(world.dir, 'ask.sh'),
    `#!/bin/sh\nberth ask "Go on?" > answer.txt; git add .; git commit -qm answer\n`,
  )
  const ran = await world.berth(['run', '--command', agent, '--name', 'x', '--repo', repo, 'go'])
  expect(ran.code).toBe(3)
  expect(ran.err).toContain('goes on in the background')
  const [item] = await world.items(repo)
  expect(await world.berth(['answer', item!.id, 'yes', '--repo', repo])).toMatchObject({ code: 0 })
  await until('the task to be ready', async () => (await world.task(repo, 'x')).status === 'ready')
  expect(await factsOf(world, repo, 'run.started')).toHaveLength(1)
})

test('a call that follows takes over when the loop it joined is killed', async () => {
  const world = makeWorld()
  const repo = world.repository()
  const agent = slowAgent(world, 'echo two >> app.txt; git commit -qam two')
  const host = world.start(['run', '--command', agent, '--name', 'x', '--repo', repo, 'go'])
  await started(world, repo)
  const joined = world.start(['run', '--command', agent, '--name', 'y', '--repo', repo, 'go too'])
  await until('the second run', async () => (await factsOf(world, repo, 'run.started')).length === 2)
  host.child.kill('SIGKILL')
  await host.ended
  world.write(join(world.dir, 'gate'), '')
  expect(await joined.ended).toMatchObject({ code: 0 })
  expect((await world.task(repo, 'y')).status).toBe('ready')
})

test('an interrupted run stops its agents, keeps the workspace, and exits 130', async () => {
  const world = makeWorld()
  const repo = world.repository()
  const agent = slowAgent(world, 'true')
  const run = world.start(['run', '--command', agent, '--name', 'x', '--repo', repo, 'go'])
  await started(world, repo)
  run.child.kill('SIGINT')
  expect(await run.ended).toMatchObject({ code: 130 })
  expect(await world.task(repo, 'x')).toMatchObject({ status: 'stopped', reasonCode: 'interrupted' })
  expect(world.git(repo, 'worktree', 'list', '--porcelain').match(/^worktree /gm)).toHaveLength(2)
  world.write(join(world.dir, 'gate'), '')
  await world.berth(['run', '--repo', repo])
  expect((await world.task(repo, 'x')).attempt).toBe(2)
})

const readIf = (file: string): string | undefined => {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return undefined
  }
}

/** Lines of the only run, as kept on disk. */
async function readOutput(world: World, repo: string): Promise<string[]> {
  const { out } = await world.berth(['transcript', 'x', '--format', 'text', '--repo', repo])
  return out.split('\n').flatMap(line => /^ +((?:line|last) \d+)$/.exec(line)?.[1] ?? [])
}
