// Setup commands and gates: exactly one commit, the task's environment, and an end to everything they start.

import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type GatePolicy } from '../../src/core/config.ts'
import { type Fact } from '../../src/core/event.ts'
import { verify, type VerifyInput } from '../../src/workspace/gates.ts'
import { platform } from '../../src/platform/platform.ts'
import { prepare } from '../../src/workspace/prepare.ts'
import { outputOf, type Site } from '../../src/workspace/site.ts'
import { kinds, makeVoice, makeYard, type Yard } from '../fixtures/workspace.ts'

let yard: Yard
beforeEach(() => {
  yard = makeYard({ 'app.txt': 'one\n', '.gitignore': 'ignored\n' })
})
afterEach(() => yard.clean())

const gate = (run: string, over: Partial<GatePolicy> = {}): GatePolicy => ({
  name: 'test',
  run,
  timeoutMs: 20_000,
  mayWrite: false,
  ...over,
})

async function ground(): Promise<{ site: Site; input: VerifyInput; path: string }> {
  const site = await yard.site()
  const record = await yard.made(site, 'w')
  const commit = yard.commit(record.path, 'work', { 'w.txt': 'x' })
  const place = {
    ...record,
    base: record.base ?? '',
    target: 'main',
    attempt: 1,
    pass: [],
    secrets: ['hunter2-hunter2'],
  }
  const input = { ...site, place, task: 'w', commit, gates: [], uncommitted: false, withheld: [] }
  return { site, input, path: record.path }
}

const exited = (facts: Fact[]): Fact | undefined => facts.find(({ kind }) => kind === 'gate.exited')

test('green gates make the commit ready, in order, with its changes counted', async () => {
  const { input } = await ground()
  const voice = makeVoice()
  const gates = [gate('test -f w.txt'), gate('test "$HOME" != "" && pwd', { name: 'second' })]
  expect(await verify({ ...input, gates }, voice)).toEqual([
    {
      kind: 'task.ready',
      project: input.project,
      task: 'w',
      commit: input.commit,
      gates: ['test', 'second'],
      changes: { files: 1, insertions: 1, deletions: 0, commits: 1 },
      uncommitted: false,
    },
  ])
  expect(kinds(voice.facts)).toEqual(['gate.started', 'gate.exited', 'gate.started', 'gate.exited'])
})

test('a gate runs in the task’s environment, with no input, and never with the person’s home', async () => {
  const { input, site } = await ground()
  const voice = makeVoice()
  await verify({ ...input, gates: [gate('env; cat; echo done; echo hunter2-hunter2')] }, voice)
  const fact = exited(voice.facts)
  if (fact?.kind !== 'gate.exited') throw new Error(JSON.stringify(voice.facts))
  const lines = fact.tail
  expect(lines).toContain(`HOME=${input.place.home}`)
  expect(lines).toContain('BERTH_TASK=w')
  expect(lines).toContain('GIT_AUTHOR_NAME=w (berth)')
  expect(lines).toContain(`BERTH_PORT_9=${input.place.ports[9]}`)
  expect(lines).toContain('done')
  expect(lines.join('\n')).not.toContain(`HOME=${yard.home}\n`)
  expect(lines.join('\n')).not.toContain('hunter2')
  const whole = readFileSync(outputOf(site, 'w', `gate-workspace-test-${input.commit.slice(0, 8)}`), 'utf8')
  expect(whole).toContain('BERTH_TASK=w')
  expect(whole).not.toContain('hunter2')
})

test('the first red gate ends it, with its last lines', async () => {
  const { input } = await ground()
  const voice = makeVoice()
  const gates = [gate('echo broken; exit 3'), gate('touch never', { name: 'second' })]
  expect(await verify({ ...input, gates }, voice)).toEqual([
    {
      kind: 'task.red',
      project: input.project,
      task: 'w',
      commit: input.commit,
      gate: 'test',
      reason: 'exit code 3',
    },
  ])
  expect(exited(voice.facts)).toMatchObject({ code: 3, tail: ['broken'], reason: 'exit code 3' })
  expect(existsSync(join(input.place.path, 'never'))).toBe(false)
})

test('a program that is missing is said, and blamed on nobody; a script that the branch lacks is red', async () => {
  const { input } = await ground()
  const [missing] = await verify({ ...input, gates: [gate('A=1 no-such-program --flag')] }, makeVoice())
  expect(missing).toMatchObject({
    kind: 'task.red',
    unknown: true,
    reason: "its program 'no-such-program' is not on the PATH",
  })
  const [red] = await verify({ ...input, gates: [gate('./gone.sh')] }, makeVoice())
  expect(red).toEqual(expect.not.objectContaining({ unknown: true }))
  expect(red).toMatchObject({ kind: 'task.red', reason: 'exit code 127' })
})

test('a gate that leaves changes is red unless it may write', async () => {
  const { input } = await ground()
  const [red] = await verify(
    { ...input, gates: [gate('echo y > app.txt; echo z > new.txt; echo i > ignored')] },
    makeVoice(),
  )
  expect(red).toMatchObject({ kind: 'task.red', reason: 'it left changes in the worktree: app.txt, new.txt' })
  yard.git(input.place.path, 'checkout', '-q', '--', 'app.txt')
  const [again] = await verify({ ...input, gates: [] }, makeVoice())
  expect(again).toMatchObject({ kind: 'task.withdrawn', reason: '1 uncommitted: new.txt' })
  const [ready] = await verify(
    { ...input, withheld: ['new.txt'], gates: [gate('echo y > app.txt', { mayWrite: true })] },
    makeVoice(),
  )
  expect(ready).toMatchObject({ kind: 'task.ready' })
})

test('a HEAD that is not the commit, before or after, withdraws it', async () => {
  const { input, path } = await ground()
  const [after] = await verify(
    { ...input, gates: [gate('git commit -q --allow-empty -m sneaky', { mayWrite: true })] },
    makeVoice(),
  )
  expect(after).toMatchObject({
    kind: 'task.withdrawn',
    reason: expect.stringContaining('while its gates ran'),
  })
  expect(yard.git(path, 'log', '-1', '--format=%an')).toBe('w (berth)')
  const [before] = await verify({ ...input, gates: [gate('true')] }, makeVoice())
  expect(before).toMatchObject({ kind: 'task.withdrawn' })
})

test('a gate with paths runs only if one of them changed', async () => {
  const { input } = await ground()
  const gates = [
    gate('exit 1', { name: 'api', paths: ['api/**'] }),
    gate('true', { name: 'txt', paths: ['**/*.txt'] }),
  ]
  expect(await verify({ ...input, gates }, makeVoice())).toMatchObject([
    { kind: 'task.ready', gates: ['txt'] },
  ])
})

test('a gate that takes too long is ended with all it started', async () => {
  const { input } = await ground()
  const file = join(yard.dir, 'pids')
  const run = `setsid sleep 100 & echo $! > ${file}; sleep 100`
  const [red] = await verify({ ...input, gates: [gate(run, { timeoutMs: 700 })] }, makeVoice())
  expect(red).toMatchObject({ kind: 'task.red', reason: 'it did not end within 1 s' })
  expect(platform.identity(Number(readFileSync(file, 'utf8')))).toBe(undefined)
})

test('cancelled gates leave no verdict and nothing alive', async () => {
  const { input } = await ground()
  const voice = makeVoice()
  const onFact = voice.onFact
  voice.onFact = async fact => {
    await onFact(fact)
    if (fact.kind === 'gate.started') setImmediate(voice.abort)
  }
  expect(await verify({ ...input, gates: [gate('sleep 100')] }, voice)).toEqual([])
})

test('setup runs in the new workspace; its failure takes all of it back and keeps the words', async () => {
  const site = await yard.site({
    setup: [
      { run: 'echo hello > ignored', timeoutMs: 20_000 },
      { run: 'echo bad luck; exit 4', timeoutMs: 20_000 },
    ],
  })
  const before = yard.git(yard.repo, 'for-each-ref') + yard.git(yard.repo, 'worktree', 'list')
  const voice = makeVoice()
  const facts = await prepare(yard.input(site, 'w'), voice)
  expect(facts).toMatchObject([
    {
      kind: 'workspace.failed',
      step: 'setup',
      reason: "setup command 'echo bad luck; exit 4' ended with exit code 4",
      tail: ['bad luck'],
    },
  ])
  expect(kinds(voice.facts)).toEqual(['setup.started', 'setup.exited', 'setup.started', 'setup.exited'])
  expect(yard.git(yard.repo, 'for-each-ref') + yard.git(yard.repo, 'worktree', 'list')).toBe(before)
  expect(existsSync(join(yard.root, 'w'))).toBe(false)
  expect(existsSync(site.state.home(site.project, 'w'))).toBe(false)
  expect(readdirSync(yard.path('run', 'berth-ports'))).toEqual([])
})

test('a setup that times out is ended with a writer that had left it, and nothing writes on', async () => {
  const beat = join(yard.dir, 'beat')
  const writer = `setsid sh -c 'while :; do date +%N >> ${beat}; echo x >> grows; sleep 0.05; done' & while [ ! -s ${beat} ]; do sleep 0.02; done; sleep 100`
  const site = await yard.site({ setup: [{ run: writer, timeoutMs: 1_500 }] })
  const [fact] = await prepare(yard.input(site, 'w'), makeVoice())
  expect(fact).toMatchObject({
    kind: 'workspace.failed',
    step: 'setup',
    reason: expect.stringContaining('timed out'),
  })
  const size = readFileSync(beat, 'utf8').length
  expect(existsSync(join(yard.root, 'w'))).toBe(false)
  writeFileSync(join(yard.dir, 'later'), '')
  expect(readFileSync(beat, 'utf8').length).toBe(size)
})
