// What a loop answers: submissions checked before anything is recorded, and what joins what.

import { existsSync, mkdirSync } from 'node:fs'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type Requests, type Submission, type TaskView, type Verb } from '../../src/core/api.ts'
import { type Event } from '../../src/core/event.ts'
import { type Daemon, startDaemon } from '../../src/daemon/daemon.ts'
import { type Caller } from '../../src/daemon/server.ts'
import { makeWorld, type World } from '../fixtures/repository.ts'

let world: World
let repo: string
let daemon: Daemon
let env: { [name: string]: string }

beforeEach(async () => {
  world = makeWorld()
  repo = world.repository()
  const runtime = world.path('rt')
  mkdirSync(runtime, { mode: 0o700 })
  env = { ...world.env, XDG_RUNTIME_DIR: runtime }
  daemon = await start()
})

afterEach(async () => {
  await daemon.handle('stopDaemon', { stopRuns: true } as never, caller(), () => {})
  await daemon.ended
  world.clean()
})

async function start(): Promise<Daemon> {
  const options = { admission: 'open', foreground: true, keep: false, lockMs: 10_000 } as const
  const started = await startDaemon({ dir: world.path('state'), env, ...options })
  if (!started) throw new Error('another loop holds the state directory')
  return started
}

type Leaving = Caller & { leave(): void }

function caller(): Leaving {
  let gone = false
  const listeners: (() => void)[] = []
  return {
    gone: () => gone,
    onGone: listener => void listeners.push(listener),
    leave: () => {
      gone = true
      for (const listener of listeners) listener()
    },
  }
}

const ask = <V extends Verb>(
  verb: V,
  params: Requests[V]['params'],
  who: Caller = caller(),
  stream: (event: Event) => void = () => {},
): Promise<Requests[V]['answer']> => daemon.handle(verb, params as never, who, stream) as Promise<never>

let calls = 0
const submit = (tasks: Submission[], who?: Caller, more: { trust?: boolean; call?: string } = {}) =>
  ask(
    'submit',
    { call: more.call ?? `call${++calls}`, repo, tasks, trust: more.trust ?? false, env, flags: {} },
    who,
  )

const task = (
  name: string | undefined,
  command: string,
  spec: Partial<Submission['spec']> = {},
): Submission => ({
  ...(name === undefined ? {} : { name }),
  brief: `do ${name ?? 'it'}`,
  spec: { title: `Do ${name ?? 'it'}`, command, ...spec },
})

const all = async (): Promise<TaskView[]> => (await ask('ls', { all: true })).tasks

/** The first run of a call, once it is started. */
const started = (call: string): Promise<string> =>
  new Promise(resolve => {
    void ask('follow', { call, from: 0 }, caller(), event => {
      if (event.kind === 'run.started') resolve(event.run)
    })
  })

/** Follows a call to its end. */
const follow = (call: string): Promise<{ exit: number }> => ask('follow', { call })

const slow = (): string => `while [ ! -e '${world.path('gate')}' ]; do sleep 0.05; done; echo two >> app.txt`

test('nothing is recorded of a submission that is wrong anywhere', async () => {
  const wrong: [Submission, string][] = [
    [task('a', 'true', { engine: 'clade' }), 'unknown-engine'],
    [{ ...task('a', 'true'), spec: { title: 'a', engine: 'opencode' } }, 'engine-missing'],
    [{ ...task('a', 'true'), spec: { title: 'a', engine: 'command' } }, 'usage'],
    [{ ...task('a', 'true'), brief: ' \n' }, 'empty-brief'],
    [task('a/b', 'true'), 'bad-name'],
    [task('a', 'true', { after: ['nowhere'] }), 'not-found'],
    [task('a', 'true', { after: ['good'] }), 'cycle'],
  ]
  env['PATH'] = '/usr/bin:/bin'
  for (const [bad, code] of wrong) {
    const good = task('good', 'true', { after: code === 'cycle' ? ['a'] : [] })
    await expect(submit([good, bad]), code).rejects.toMatchObject({ code })
  }
  expect(await all()).toEqual([])
})

test('what the repository makes Berth run is asked for once per content', async () => {
  world.commit(repo, 'config', { 'berth.toml': 'gates = ["true"]\n' })
  await expect(submit([task('a', 'true')])).rejects.toMatchObject({
    code: 'consent-needed',
    details: { lines: ['gate: true'] },
  })
  await submit([task('a', 'true', { changes: 'optional' })], undefined, { trust: true })
  await submit([task('b', 'true', { changes: 'optional' })])
  world.commit(repo, 'config', { 'berth.toml': 'gates = ["false"]\n' })
  await expect(submit([task('c', 'true')])).rejects.toMatchObject({ code: 'consent-needed' })
})

test('of six submissions at once one makes the task; who is gone is taken over from', async () => {
  const callers = Array.from({ length: 6 }, caller)
  const six = await Promise.all(callers.map(who => submit([task(undefined, slow())], who)))
  expect(six.map(answer => answer.tasks[0]?.state).toSorted()).toEqual([
    ...Array.from({ length: 5 }, () => 'already-running'),
    'submitted',
  ])
  expect(six.map(answer => answer.tasks[0]?.task)).toEqual(Array.from({ length: 6 }, () => 'do-it'))
  expect(await all()).toHaveLength(1)
  for (const who of callers) who.leave()
  expect((await submit([task(undefined, slow())], undefined, { call: 'later' })).tasks).toMatchObject([
    { task: 'do-it', state: 'joined', since: expect.any(String) },
  ])
  await expect(submit([{ ...task('do-it', 'true'), brief: 'another' }])).rejects.toMatchObject({
    code: 'name-taken',
  })
  world.write(world.path('gate'), '')
  expect(await follow('later')).toEqual({ exit: 0 })
})

test('a call whose tasks are all at work for others is told so and waits for none; a landed one is done already', async () => {
  const first = caller()
  await submit([task('x', slow(), { land: 'auto', gates: ['true'] })], first, { call: 'one' })
  const second = await submit([task('x', slow(), { land: 'auto', gates: ['true'] })], caller(), {
    call: 'two',
  })
  expect(second.tasks).toMatchObject([{ task: 'x', state: 'already-running' }])
  // That makes 5 of it is the client's part: this loop may be the second one of the call.
  expect(await follow('two')).toEqual({ exit: 0 })
  world.write(world.path('gate'), '')
  expect(await follow('one')).toEqual({ exit: 0 })
  const again = await submit([task('x', slow(), { land: 'auto', gates: ['true'] })], undefined, {
    call: 'three',
  })
  expect(again.tasks).toMatchObject([{ task: 'x', state: 'landed' }])
  expect(await follow('three')).toEqual({ exit: 0 })
})

test('only a program with the token of its run may ask or report', async () => {
  await submit([task('x', slow())], undefined, { call: 'one' })
  const run = await started('one')
  const question = { run, question: 'Who?', choices: [] }
  await expect(ask('ask', { ...question, token: 'guess' })).rejects.toMatchObject({ code: 'not-ours' })
  await expect(ask('report', { run, token: '', activity: 'done', note: '' })).rejects.toMatchObject({
    code: 'not-ours',
  })
  expect((await all())[0]).toMatchObject({ status: 'running' })
  world.write(world.path('gate'), '')
  expect(await follow('one')).toEqual({ exit: 0 })
})

test('stopped, retried, paused, resumed: each says what was so already', async () => {
  await submit([task('x', slow())], undefined, { call: 'one' })
  await started('one')
  const by = 'person'
  expect(await ask('stop', { repo, tasks: ['x'], by })).toEqual({ stopped: ['x'], already: [] })
  expect(await ask('stop', { repo, tasks: ['x'], by })).toEqual({ stopped: [], already: ['x'] })
  expect(await follow('one')).toEqual({ exit: 0 })
  expect(await ask('pause', { by })).toEqual({ already: false })
  expect(await ask('pause', { by })).toEqual({ already: true })
  expect(await ask('retry', { repo, tasks: ['x'], by })).toEqual({ retried: ['x'], already: [] })
  expect((await all())[0]).toMatchObject({ reasonCode: 'paused', waitsFor: 'person' })
  await ask('resume', { by })
  world.write(world.path('gate'), '')
  expect(await follow('one')).toEqual({ exit: 0 })
  expect((await all())[0]).toMatchObject({ status: 'ready' })
  await expect(ask('stop', { repo, tasks: ['y'], by })).rejects.toMatchObject({ code: 'not-found' })
})

test('ready work that is changed afterwards is verified again', async () => {
  await submit([task('x', 'echo two >> app.txt; git commit -qam two', { gates: ['true'] })], undefined, {
    call: 'one',
  })
  expect(await follow('one')).toEqual({ exit: 0 })
  const [before] = await all()
  world.commit(before!.worktree!, 'by hand', { 'app.txt': 'three\n' })
  await ask('land', { repo, tasks: ['x'], dryRun: false, by: 'person' })
  expect(await follow('one')).toEqual({ exit: 0 })
  expect((await all())[0]).toMatchObject({ status: 'landed' })
  expect(world.git(repo, 'show', 'main:app.txt')).toBe('three')
})

test('too little space holds tasks before anything is made', async () => {
  world.commit(repo, 'config', { 'berth.toml': '[limits]\ndiskFreeMin = "1000000GB"\n' })
  await submit([task('x', 'true')], undefined, { call: 'one' })
  expect((await follow('one')).exit).toBe(3)
  expect((await all())[0]).toMatchObject({ status: 'queued', reasonCode: 'disk', waitsFor: 'person' })
  expect(existsSync(`${repo}.berths/x`)).toBe(false)
  expect((await ask('inbox', {})).items).toMatchObject([{ kind: 'disk' }])
})

test('another loop on the same state directory is not started, and one in its place goes on', async () => {
  const options = { admission: 'open', foreground: true, keep: false, lockMs: 0 } as const
  expect(await startDaemon({ dir: world.path('state'), env, ...options })).toBe(undefined)
  await submit([task('x', slow())], undefined, { call: 'one' })
  await daemon.end('test')
  daemon = await start()
  world.write(world.path('gate'), '')
  expect(await follow('one')).toEqual({ exit: 0 })
})
