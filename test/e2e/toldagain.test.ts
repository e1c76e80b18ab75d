// What is said where a verb has nothing to do, meets what is over, or waits: true, and with a command that works.

import { expect, test } from 'vitest'
import { type SavedDetail } from '../../src/core/api.ts'
import { makeWorld, until } from '../fixtures/berth.ts'

const limited = 'berth report limited --until 1h; exit 1'

test('a question that was declined or ran out is not open any more, and has no item to answer', async () => {
  const world = makeWorld()
  const repo = world.repository('repo', { '.gitignore': '*.env\n' })
  const at = { cwd: repo }
  const agent = 'berth ask "soon?" --timeout 1s; berth ask "sure?" --choice yes; echo x >x; echo k >k.env'
  const ran = await world.berth(['run', '--name', 't', '--command', agent, '--detach', 'do it'], at)
  expect(ran.code).toBe(0)
  await until('the second question', async () =>
    (await world.items(repo)).some(({ id }) => id === 'decide:t:q2'),
  )
  const declined = await world.berth(['answer', 't', '--decline'], at)
  expect([declined.code, declined.out]).toEqual([0, "declined 'decide:t:q2' of 't'\n"])
  const shown = await world.berth(['show', 't'], at)
  expect(shown.out).toContain('questions\n  soon?  (expired)\n  sure?  (declined)\n')
  await until('it to be ready', async () => (await world.task(repo, 't')).status === 'ready')
  const none = "there is no open item 'nobody', nor of such a task"
  for (const [args, told] of [
    [['decide:t:q1', 'yes'], "'decide:t:q1' is no longer asked: nobody answered it in time"],
    [['decide:t:q2', 'yes'], "'decide:t:q2' is already declined"],
    [['t', 'yes'], "'decide:t:q2' is already declined"],
    [['nobody'], none],
  ] as const) {
    const late = await world.berth(['answer', ...args], at)
    expect([late.code, late.err]).toEqual([2, `berth: ${told}\nhint: berth inbox\n`])
  }
  const resumed = await world.berth(['resume'], at)
  expect([resumed.code, resumed.out]).toEqual([0, 'nothing was paused\n'])
  const gone = await world.berth(['rm', 't', '--save', '--branch', '--wait'], at)
  expect([gone.code, gone.out]).toEqual([0, expect.stringContaining("removed 't', branch deleted, saved as")])
  const again = await world.berth(['rm', 't'], at)
  expect([again.code, again.out]).toEqual([0, "'t' was removed already\n"])
  const [work] = (await world.json<{ saved: { id: string }[] }>(['saved'], at)).saved
  const id = work?.id ?? ''
  const listed = await world.berth(['saved'], at)
  expect(listed.out).toMatch(/1 commit that nothing else holds: [0-9a-f]{10}\n/)
  const wrong = async (args: string[]) => {
    const { code, err } = await world.berth(args, at)
    return [code, err]
  }
  const hint = `hint: berth restore ${id}\n`
  expect(await wrong(['restore', id, '--to', 'main'])).toEqual([
    5,
    `berth: the branch 'main' is there already\n${hint}`,
  ])
  expect(await wrong(['restore', id, '--to', 'a b'])).toEqual([
    2,
    `berth: 'a b' is no name for a branch\n${hint}`,
  ])
  const look = `hint: berth saved show ${id}\n`
  expect(await wrong(['restore', id])).toEqual([0, `not brought back: 'k.env'\n${look}`])
  const { saved } = await world.json<{ saved: SavedDetail }>(['saved', 'show', id], at)
  expect(saved).toMatchObject({ id, archived: ['k.env'] })
  const copy = `files of '${id}' would be lost that no commit holds: 'k.env'`
  const last = [3, `berth: ${copy}\nhint: berth saved rm ${id} --yes\n`]
  expect(await wrong(['saved', 'rm', id])).toEqual(last)
  expect(await wrong(['saved', '--yes'])).toEqual([
    2,
    "berth: '--older-than' goes with 'prune', '--yes' with 'rm' and 'prune'\nhint: berth saved\n",
  ])
  expect((await wrong(['daemon', 'start', '--stop-runs']))[0]).toBe(2)
  const kept = await world.berth(['purge', '--yes'], at)
  const typed = /'(berth saved rm [^']+)'/.exec(kept.out)?.[1] ?? ''
  expect([kept.code, typed]).toEqual([3, `berth saved rm ${id}`])
  expect(await world.type(typed, at)).toMatchObject({ code: 3, err: last[1] })
  expect((await world.type(`${typed} --yes`, at)).code).toBe(0)
  expect((await world.berth(['purge', '--yes'], at)).code).toBe(0)
})

test('a task that cannot begin for a usage limit says so where it is run, until when, and without an empty note', async () => {
  const world = makeWorld()
  const repo = world.repository()
  const first = world.start(['run', '--name', 'one', '--command', limited, 'do it'], { cwd: repo })
  const one = await until('the limit', async () => {
    const task = await world.task(repo, 'one').catch(() => undefined)
    return task?.reasonCode === 'quota' && task
  })
  expect(one.reason).toBe("'command' reached a usage limit")
  const second = world.start(['run', '--name', 'two', '--command', 'touch x', 'do it'], { cwd: repo })
  let told = ''
  second.child.stderr?.on('data', (bytes: Buffer) => (told += bytes.toString()))
  await until('the second to say why it waits', () => told.includes('waits: '))
  expect(told).toMatch(
    /^two {19}waits: 'command' reached a usage limit; next attempt in \d+[mh]( \([-0-9: ]+ UTC\))?$/m,
  )
  for (const { child, ended } of [second, first]) {
    child.kill('SIGINT')
    expect((await ended).code).toBe(130)
  }
})
