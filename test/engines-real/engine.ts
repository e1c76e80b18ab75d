// What every real agent program must show as an engine of the built `berth`, against the scripted model: what it
// does lands, and each way to fail ends in the right status with the right reason.

import { delimiter } from 'node:path'
import { beforeAll, expect, onTestFinished, test } from 'vitest'
import { makeWorld, until, type World } from '../fixtures/berth.ts'
import { promptFor, type Turn } from '../fixtures/model/script.ts'
import { startModel } from '../fixtures/model/server.ts'
import { installed, type RealEngine } from './install.ts'
import { models, pointedAt, scripts, type Scenario } from './scenarios.ts'

const limitMs = 280_000

const failed = (reasonCode: string, reason: RegExp) => ({ code: 1, status: 'failed', reasonCode, reason })

/** What each program asks before it gives up; one of them would take more than a minute. */
const requestsUntilGivenUp: { [name in RealEngine]?: number } = { claude: 3, codex: 2, gemini: 2 }

/** Declares the tests of one program: a file for each, so that two run at a time. */
export function testEngine(engine: RealEngine): void {
  let bin = ''
  beforeAll(async () => {
    bin = await installed(engine)
  })

  const place = (): Place => ({ engine, bin })
  testLanding(place)
  testFailures(place)
  testQuota(place)
  const requests = requestsUntilGivenUp[engine]
  if (requests !== undefined) testOverload(place, requests)
}

type Place = { engine: RealEngine; bin: string }

function testLanding(place: () => Place): void {
  test('writes two files and runs a command, and that lands', async () => {
    const { world, repo, run } = await begin(place())
    await ended(run('success'), 0)
    expect(await world.task(repo, 't')).toMatchObject({
      status: 'landed',
      attempt: 1,
      cost: { inputTokens: 4800, outputTokens: 136 },
    })
    expect(world.git(repo, 'show', 'main:one.txt')).toBe('one\n')
    expect(world.git(repo, 'show', 'main:two.txt')).toBe('two\n')
    const facts = await world.facts(repo)
    const called = facts.filter(({ kind }) => kind === 'tool.called')
    expect(called.map(({ ok }) => ok)).toEqual([true, true, true])
    expect(called.flatMap(({ paths }) => paths).map(path => String(path).split('/').at(-1))).toEqual([
      'one.txt',
      'two.txt',
    ])
    expect(called.at(-1)?.['command']).toContain('wc -l one.txt two.txt')
    expect(facts.some(({ kind, session }) => kind === 'run.session' && session !== '')).toBe(true)
  })
}

function testFailures(place: () => Place): void {
  const failures: [string, Scenario, { code: number; status: string; reasonCode: string; reason: RegExp }][] =
    [
      ['an API 400 fails at once', 'bad-request', failed('engine-error', /too strange/)],
      ['a dropped connection fails when no attempt is left', 'dropped', failed('engine-error', /.+/)],
      ['a denied permission fails by its name', 'denied', failed('denied', /denied: \w+/)],
      ['success without any change is a failure', 'nothing', failed('no-work', /without any change/)],
      [
        'an API 401 waits for a person to sign in',
        'unauthorized',
        { code: 3, status: 'retrying', reasonCode: 'signed-out', reason: /api key/ },
      ],
    ]
  for (const [name, scenario, { code, status, reasonCode, reason }] of failures) {
    test(
      name,
      async () => {
        const { world, repo, run } = await begin({ ...place(), ask: scenario === 'denied' })
        await ended(run(scenario), code)
        const task = await world.task(repo, 't')
        expect(task).toMatchObject({ status, reasonCode, attempt: 1 })
        expect(task.reason).toMatch(reason)
      },
      limitMs,
    )
  }
}

function testQuota(place: () => Place): void {
  test('an API 429 waits for the quota', async () => {
    const { world, repo, run } = await begin(place())
    const started = run('limited')
    const held = await until(
      'the task to wait for quota',
      async () => {
        const task = await world.task(repo, 't').catch(() => undefined)
        return task?.waitsFor === 'quota' && task
      },
      limitMs / 2,
    )
    expect(held).toMatchObject({ status: 'retrying', reasonCode: 'quota' })
    started.child.kill('SIGINT')
    await ended(started, 130)
  })
}

function testOverload(place: () => Place, requests: number): void {
  test('an overloaded service is tried again in the same session', async () => {
    const { world, repo, run } = await begin({ ...place(), attempts: 2 })
    const [first, second, ...rest] = scripts.success
    const overloaded: Turn = { error: { status: 529, message: 'overloaded', times: requests }, ...second }
    await ended(run([first ?? {}, overloaded, ...rest]), 0)
    expect(await world.task(repo, 't')).toMatchObject({ status: 'landed', attempt: 2 })
    const claims = (await world.facts(repo)).filter(({ kind }) => kind === 'run.claimed')
    expect(claims.map(({ resume }) => typeof resume)).toEqual(['undefined', 'string'])
  })
}

/** What it said stands beside the exit code that was not expected. */
async function ended(started: ReturnType<World['start']>, code: number): Promise<void> {
  const { err, ...ran } = await started.ended
  expect(ran, err).toMatchObject({ code })
}

type Begun = { world: World; repo: string; run: (what: Scenario | Turn[]) => ReturnType<World['start']> }

async function begin(given: Place & { ask?: boolean; attempts?: number }): Promise<Begun> {
  const { engine } = given
  const world = makeWorld()
  const model = await startModel()
  onTestFinished(() => model.close())
  const repo = world.repository('repo', { 'berth.toml': configOf(engine, model.url, given) })
  const env = { PATH: [given.bin, world.env['PATH'] ?? ''].join(delimiter) }
  const run: Begun['run'] = what => {
    const brief = promptFor('Do what the script says.', typeof what === 'string' ? scripts[what] : what)
    const args = [
      'run',
      '--engine',
      engine,
      '--name',
      't',
      '--land',
      'auto',
      '--trust',
      '--repo',
      repo,
      brief,
    ]
    return world.start(args, { env })
  }
  return { world, repo, run }
}

const configOf = (
  engine: RealEngine,
  url: string,
  { ask = false, attempts = 1 }: { ask?: boolean; attempts?: number },
): string => {
  const { env, args } = pointedAt(engine, url)
  const lines = [
    'fetch = false',
    `gates = [${text('grep -q one one.txt && grep -q two two.txt')}]`,
    '[recovery]',
    `attempts = ${attempts}`,
    'backoff = "100ms"',
    `[engines.${engine}]`,
    `type = ${text(engine)}`,
    `argv = [${[engine, ...args].map(text).join(', ')}]`,
    `model = ${text(models[engine])}`,
    `permission = ${text(ask ? 'ask' : 'auto')}`,
    `[engines.${engine}.env]`,
    ...Object.entries(env).map(([name, value]) => `${name} = ${text(value)}`),
  ]
  return `${lines.join('\n')}\n`
}

/** A TOML string that needs no escapes is a JSON string. */
const text = (value: string): string => JSON.stringify(value)
