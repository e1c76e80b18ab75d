// The error of every verb, for a program: one document on stdout, the code's exit code, a hint that can be typed.

import { readdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { buildProgram } from '../../src/cli/program.ts'
import { type ErrorCode, exitCodeOf } from '../../src/core/errors.ts'
import { makeWorld, type World } from '../fixtures/berth.ts'

const nowhere = ['--repo', 'nowhere']

/** One call of each verb that cannot be right, and the code of its error. */
const wrong: { [verb: string]: [string[], ErrorCode] } = {
  init: [['--repo', '../begun'], 'name-taken'],
  run: [['--jobs', 'many', 'x'], 'usage'],
  answer: [['nothing', 'yes'], 'not-found'],
  ls: [nowhere, 'not-a-repository'],
  inbox: [nowhere, 'not-a-repository'],
  show: [['nobody'], 'not-found'],
  log: [['--format', 'xml'], 'usage'],
  transcript: [['nobody'], 'not-found'],
  diff: [['nobody'], 'not-found'],
  stop: [['nobody'], 'not-found'],
  retry: [['nobody'], 'not-found'],
  pause: [['now'], 'usage'],
  resume: [['nobody'], 'not-found'],
  land: [['nobody'], 'not-found'],
  rm: [['--all', '--save', '--discard'], 'usage'],
  saved: [['rm'], 'usage'],
  restore: [['nothing'], 'not-found'],
  reconcile: [nowhere, 'not-a-repository'],
  doctor: [['--selftset'], 'unknown-flag'],
  daemon: [['strt'], 'usage'],
  config: [nowhere, 'not-a-repository'],
  purge: [nowhere, 'not-a-repository'],
  demo: [['--dir', '.'], 'path-refused'],
  completion: [['tcsh'], 'usage'],
  ask: [['why?'], 'usage'],
  report: [['blocked', 'why'], 'usage'],
}

type Document = { berth: 1; error: { code: ErrorCode; message: string; hint?: string } }

test.each(buildProgram().root.commands.map(command => command.name()))(
  'what is wrong with a call of %s is one document, its exit code and a command to type',
  async verb => {
    const world = makeWorld()
    const repo = repositories(world)
    const [args, code] = wrong[verb]!
    const ran = await world.berth([verb, '--json', ...args], { cwd: repo })
    expect(ran).toMatchObject({ code: exitCodeOf(code), err: '' })
    expect(ran.out.trimEnd().split('\n')).toHaveLength(1)
    const { berth, error } = JSON.parse(ran.out) as Document
    expect({ berth, code: error.code }).toEqual({ berth: 1, code })
    expect(error.message).not.toMatch(/[.\n]$|^[A-Z](?!erth)/)
    await canBeTyped(world, repo, error.hint ?? '')
  },
)

test('the demo, which removes its folder, leaves one alone that holds anything', async () => {
  const world = makeWorld()
  const file = world.write(join(world.dir, 'photos/cat.jpg'), 'meow')
  expect(await world.berth(['demo', '--dir', 'photos'])).toMatchObject({ code: 2 })
  expect(readdirSync(dirname(file))).toEqual(['cat.jpg'])
})

/** Two repositories that Berth has not worked in, of which one has a configuration. */
function repositories(world: World): string {
  world.repository('begun', { 'berth.toml': '' })
  return world.repository()
}

/** With words for what it leaves open it parses; as it is it does not end as wrong usage. */
async function canBeTyped(world: World, repo: string, hint: string): Promise<void> {
  expect(hint).toMatch(/^(berth|git|ls) /)
  const open = /\b(ID|TASK|BRANCH|BRIEF|QUESTION)\b|^berth demo$/.test(hint)
  const typed = await world.type(open ? `: ${hint}` : hint, { cwd: repo, env: { EDITOR: 'true' } })
  expect(typed).toMatchObject({ code: 0, err: expect.not.stringMatching(/^(berth|sh): /m) as unknown })
}
