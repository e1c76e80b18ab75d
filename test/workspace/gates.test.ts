// Setup commands and gates: exactly one commit, the task's environment, and an end to everything they start.

import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type Fact } from '../../src/core/event.ts'
import { type Gate } from '../../src/workspace/gates.ts'
import { verify, type VerifyInput } from '../../src/workspace/verify.ts'
import { platform } from '../../src/platform/platform.ts'
import { inTurn } from '../../src/workspace/mergespace.ts'
import { prepare } from '../../src/workspace/prepare.ts'
import { outputOf, type Site } from '../../src/workspace/site.ts'
import { kinds, makeVoice, makeYard, type Yard } from '../fixtures/workspace.ts'

let yard: Yard
beforeEach(() => {
  yard = makeYard({ 'app.txt': 'one\n', '.gitignore': 'ignored\n' })
})
afterEach(() => yard.clean())

/** A gate of the project. */
const common = (run: string, over: Partial<Gate> = {}): Gate => ({
  name: 'test',
  run,
  timeoutMs: 20_000,
  mayWrite: false,
  ...over,
})

const gate = (run: string, over: Partial<Gate> = {}): Gate => common(run, { own: true, ...over })

async function ground(
  over: Parameters<Yard['site']>[0] = {},
): Promise<{ site: Site; input: VerifyInput; path: string }> {
  const site = await yard.site(over)
  return { site, ...(await worked(site, 'w')) }
}

/** A task with one commit in its workspace. */
async function worked(site: Site, task: string): Promise<{ input: VerifyInput; path: string }> {
  const record = await yard.made(site, task)
  const commit = yard.commit(record.path, 'work', { [`${task}.txt`]: 'x' })
  const place = {
    ...record,
    base: record.base ?? '',
    target: 'main',
    attempt: 1,
    pass: [],
    secrets: ['hunter2-hunter2'],
  }
  const what = { gates: [], portsTaken: [], uncommitted: false, withheld: [] }
  return { input: { ...site, ...what, place, task, commit }, path: record.path }
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
  // What is taken away, and a commit, are changes as well.
  for (const [run, what] of [
    ['rm new.txt', 'new.txt'],
    ['git commit -q --allow-empty -m sneaky; touch new.txt', 'HEAD, new.txt'],
  ] as const) {
    const [changed] = await verify({ ...input, withheld: ['new.txt'], gates: [gate(run)] }, makeVoice())
    expect(changed).toMatchObject({ kind: 'task.red', reason: `it left changes in the worktree: ${what}` })
  }
  yard.git(input.place.path, 'reset', '-q', input.commit)
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

const wheres = (facts: Fact[]): string[] =>
  facts.flatMap(fact => (fact.kind === 'gate.exited' ? [`${fact.gate} ${fact.where}`] : []))

test('a gate that is red without the work, too, is no fault of it; a fleet asks once', async () => {
  yard.commit(yard.repo, 'broken', { 'broken.txt': 'x' })
  const { site, input } = await ground({ setup: [{ run: 'touch ignored', timeoutMs: 20_000 }] })
  const gates = [
    common('test -f ignored', { name: 'lint' }),
    common('echo no; test -f ignored && test ! -f broken.txt'),
    common('true', { name: 'last' }),
  ]
  const tip = yard.git(yard.repo, 'rev-parse', 'main')
  const red = { gate: 'test', reason: 'exit code 1', tail: ['no'], tip }
  const first = makeVoice()
  expect(await verify({ ...input, gates }, first)).toMatchObject([
    { kind: 'task.ready', commit: input.commit, gates: ['lint', 'last'], red },
  ])
  expect(wheres(first.facts)).toEqual(['lint workspace', 'test workspace', 'test target', 'last workspace'])
  const second = makeVoice()
  const other = await worked(site, 'other')
  expect(await verify({ ...other.input, gates }, second)).toMatchObject([{ kind: 'task.ready', red }])
  expect(wheres(second.facts)).toEqual(['lint workspace', 'test workspace', 'last workspace'])
})

test('another gate that only the work makes red is its fault, and so is one of the task alone', async () => {
  yard.commit(yard.repo, 'broken', { 'broken.txt': 'x' })
  const { input } = await ground()
  const broken = common('test ! -f broken.txt')
  const works = common('test ! -f w.txt', { name: 'works' })
  expect(await verify({ ...input, gates: [broken, works] }, makeVoice())).toMatchObject([
    { kind: 'task.red', gate: 'works', reason: 'exit code 1' },
  ])
  const voice = makeVoice()
  expect(await verify({ ...input, gates: [{ ...broken, own: true }] }, voice)).toMatchObject([
    { kind: 'task.red', gate: 'test' },
  ])
  expect(wheres(voice.facts)).toEqual(['test workspace'])
})

test('what came in from the target is not the work: the gate is asked on the merge base', async () => {
  const { input, path } = await ground()
  const tip = yard.commit(yard.repo, 'broken', { 'broken.txt': 'x' })
  yard.git(path, 'merge', '-q', '--no-edit', 'main')
  const commit = yard.git(path, 'rev-parse', 'HEAD')
  const gates = [common('test ! -f broken.txt')]
  expect(await verify({ ...input, commit, gates }, makeVoice())).toMatchObject([
    { kind: 'task.ready', gates: [], red: { gate: 'test', tip } },
  ])
})

test('what cannot be found out on the base is said, and remembered of nobody', async () => {
  const { input } = await ground()
  const voice = makeVoice()
  const site = { ...input, policy: { ...input.policy, setup: [{ run: 'exit 3', timeoutMs: 20_000 }] } }
  expect(await verify({ ...site, gates: [common('exit 1')] }, voice)).toMatchObject([{ kind: 'task.red' }])
  expect(voice.facts.find(({ kind }) => kind === 'notice.given')).toMatchObject({
    text: expect.stringMatching(
      /^whether gate 'test' fails on \w{10} as well could not be found out: setup: /,
    ),
  })
  expect(await verify({ ...input, gates: [common('exit 1')] }, makeVoice())).toMatchObject([
    { kind: 'task.ready', red: { reason: 'exit code 1' } },
  ])
})

test('who cancels does not wait for what is being tried on the base of another', async () => {
  const { site, input } = await ground()
  const cancel = new AbortController()
  const voice = makeVoice()
  let free = (): void => undefined
  const busy = inTurn(site, () => new Promise<void>(resolve => (free = resolve)))
  const waiting = verify(
    { ...input, gates: [common('exit 1')] },
    {
      signal: cancel.signal,
      onFact: async fact => {
        await voice.onFact(fact)
        if (fact.kind === 'gate.exited') setImmediate(() => cancel.abort())
      },
    },
  )
  expect(await waiting).toEqual([])
  free()
  await busy
  expect(wheres(voice.facts)).toEqual(['test workspace'])
})
