// `berth ask` and `berth report` inside a run: what they print, and how they exit (docs/decisions/0028).

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { type ItemView } from '../../src/core/api.ts'
import { makeWorld, until, type World } from '../fixtures/berth.ts'

/** An agent that asks in this way and writes down what came of it. */
const asking = (world: World, args: string) =>
  world.script(
    join(world.dir, 'ask.sh'),
    `#!/bin/sh\nberth ask ${args} > "${world.dir}/said" 2>&1; echo "exit $?" >> "${world.dir}/said"\n`,
  )

const said = (world: World) => readFileSync(join(world.dir, 'said'), 'utf8')

async function theItem(world: World, repo: string): Promise<ItemView> {
  return until('the question', async () => (await world.items(repo)).find(item => item.kind === 'decide'))
}

const start = (world: World, repo: string, agent: string) =>
  world.start(['run', '--detach', '--name', 't', '--command', agent, '--repo', repo, 'x']).ended

const ended = (world: World, repo: string) =>
  until('the run to end', async () => (await world.task(repo, 't')).status === 'failed')

test('the answer is printed with exit 0', async () => {
  const world = makeWorld()
  const repo = world.repository()
  await start(world, repo, asking(world, `"Which colour?" --choice red --choice "light blue"`))
  const item = await theItem(world, repo)
  expect(item).toMatchObject({
    task: 't',
    question: { text: 'Which colour?', choices: ['red', 'light blue'] },
  })
  expect(await world.task(repo, 't')).toMatchObject({
    status: 'waiting',
    reasonCode: 'question',
    waitsFor: 'person',
  })
  expect(await world.berth(['answer', 't', 'light', 'blue'], { cwd: repo })).toMatchObject({ code: 0 })
  await ended(world, repo)
  expect(said(world)).toBe('light blue\nexit 0\n')
})

test('a declined question exits with 3, one that nobody answers in time with 1', async () => {
  const world = makeWorld()
  const repo = world.repository()
  await start(world, repo, asking(world, '"Really?"'))
  const item = await theItem(world, repo)
  expect(await world.berth(['answer', item.id, '--decline'], { cwd: repo })).toMatchObject({ code: 0 })
  await ended(world, repo)
  expect(said(world)).toBe('berth: a person declined to answer\nexit 3\n')
  await world.berth(['rm', 't', '--wait', '--repo', repo])
  await start(world, repo, asking(world, '"Really?" --timeout 500ms'))
  await until('the timeout', () => said(world).includes('exit 1'))
  expect(said(world)).toBe('berth: nobody answered in time\nexit 1\n')
})

test('what a run reports is recorded; a false token is refused', async () => {
  const world = makeWorld()
  const repo = world.repository()
  const agent = world.script(
    join(world.dir, 'report.sh'),
    `#!/bin/sh\nberth report working "half way" && BERTH_TOKEN=no berth report done 2> "${world.dir}/said"; echo "exit $?" >> "${world.dir}/said"; berth report done "all of it"\n`,
  )
  const ran = await world.berth(['run', '--name', 't', '--command', agent, '--repo', repo, 'x'])
  expect(said(world)).toBe('berth: BERTH_RUN and BERTH_TOKEN name no run of this state directory\nexit 3\n')
  expect(ran.err).toContain('half way')
  const reports = (await world.facts(repo)).filter(fact => fact.kind === 'run.reported')
  expect(reports.map(fact => [fact['activity'], fact['note'], fact['from']])).toEqual([
    ['working', 'half way', 'agent'],
    ['done', 'all of it', 'agent'],
  ])
})
