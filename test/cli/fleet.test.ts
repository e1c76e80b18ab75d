// A small fleet driven through the real binary: what a person reads, whole; and that every JSON document is of its
// published shape.

import { join } from 'node:path'
import { expect, test } from 'vitest'
import { type ShapeName, shapes } from '../../src/core/schema.ts'
import { makeWorld, until, type World } from '../fixtures/berth.ts'
import { talkWith } from './transcript.ts'

const tasks = `## good: Write a file
command: echo good > good.txt; git add -A; git commit -qm "good: a file"

Write good.txt.

## asks: Ask first
command: A=$(berth ask "Which colour?" --choice red --choice blue); echo "$A" > colour.txt; git add -A; git commit -qm "asks: a colour"

Ask for a colour.

## fails: Fail
command: echo "starting"; echo "no such luck" >&2; exit 3

Fail.

## after: Wait
after: good
command: echo after > after.txt; git add -A; git commit -qm "after: a file"

Wait for good.
`

function makeFleet(world: World): string {
  const repo = world.repository('repo', { 'app.txt': 'one\n', 'berth.toml': '[recovery]\nattempts = 1\n' })
  world.write(join(world.dir, 'tasks.md'), tasks)
  return repo
}

test('a fleet as a person meets it: run, ls, inbox, answer, show, log, land, rm', async () => {
  const world = makeWorld()
  const repo = makeFleet(world)
  const { berth, isGolden } = talkWith(world, repo)
  // Progress comes in the order of events, which differs: names and the end are compared.
  const ran = await world.berth(['run', '-f', '../tasks.md', '--jobs', '2'], { cwd: repo })
  expect(ran).toMatchObject({ code: 1, out: 'good\nasks\nfails\nafter\n' })
  expect(ran.err.split('\n\n').at(-1)).toBe(
    [
      'good                  ready      its agent is done, and there is no gate; it waits for `berth land`',
      'asks                  waiting    its agent asks: Which colour?',
      'fails                 failed     ended with exit code 3, after 1 attempt',
      "after                 queued     waits behind 'good'",
      'hint: berth land',
      'hint: berth inbox',
      "the rest goes on in the background: see 'berth ls' and 'berth inbox'",
      '',
    ].join('\n'),
  )
  await berth(['ls'])
  await berth(['inbox'])
  await berth(['answer', 'asks'])
  await berth(['answer', 'asks', 'red'])
  await until('the answer to be used', async () => (await world.task(repo, 'asks')).status === 'ready')
  await berth(['diff', 'asks'])
  await berth(['diff', 'asks', '--stat'])
  await berth(['diff', 'asks', '--name-only'])
  await berth(['show', 'fails'])
  await berth(['transcript', 'fails'])
  await berth(['log', '--task', 'good', '--kind', 'run.*'])
  await berth(['log', '--file', 'good.txt'])
  await berth(['log', '--run', 'fails#1', '--format', 'md', '--kind', 'run.exited'])
  await berth(['land', '--dry-run', 'good'])
  await berth(['stop', 'fails'])
  await berth(['rm', 'fails', '--wait'])
  await berth(['saved'])
  await isGolden('fleet')
})

test('every JSON document is of its published shape', async () => {
  const world = makeWorld()
  const repo = makeFleet(world)
  const check = async (name: ShapeName, args: string[]) => {
    const { out } = await world.berth([...args, '--json'], { cwd: repo })
    expect(shapes[name].parse(JSON.parse(out)), args.join(' ')).toBeTruthy()
  }
  const lines = (out: string) =>
    out
      .trim()
      .split('\n')
      .map(line => JSON.parse(line) as { kind: string })
  await check('init', ['init', '--repo', world.repository('other')])
  await check('config', ['config'])
  await check('doctor', ['doctor'])
  const run = lines((await world.berth(['run', '-f', '../tasks.md', '--json'], { cwd: repo })).out)
  expect(shapes.summary.parse(run.at(-1))).toMatchObject({ exit: 1 })
  for (const fact of run.slice(0, -1)) shapes.fact.parse(fact)
  expect(run.map(fact => fact.kind)).toContain('run.started')
  await check('ls', ['ls'])
  await check('inbox', ['inbox'])
  await check('show', ['show', 'fails'])
  await check('show', ['show', 'good'])
  await check('diff', ['diff', 'good'])
  await check('diff', ['diff', 'good', '--stat'])
  await check('answer', ['answer', 'asks', 'red'])
  for (const fact of lines((await world.berth(['log', '--format', 'jsonl'], { cwd: repo })).out))
    shapes.fact.parse(fact)
  const speech = lines((await world.berth(['transcript', 'fails', '--json'], { cwd: repo })).out)
  for (const line of speech) shapes.transcript.parse(line)
  expect(speech.at(-1)).toMatchObject({ kind: 'output', text: 'starting\nstderr | no such luck' })
  await check('stop', ['stop', 'fails'])
  await check('pause', ['pause'])
  await check('resume', ['resume'])
  await check('retry', ['retry', 'fails'])
  await until('the second attempt', async () => (await world.task(repo, 'fails')).status === 'failed')
  await check('land', ['land', '--dry-run', 'good'])
  await check('reconcile', ['reconcile'])
  await check('daemon', ['daemon', 'status'])
  const worktree = (await world.task(repo, 'fails')).worktree!
  world.write(join(worktree, 'left.txt'), 'left\n')
  await check('rm', ['rm', 'fails'])
  await check('rm', ['rm', 'fails', '--save', '--wait'])
  await check('saved', ['saved'])
  const { saved } = await world.json<{ saved: { id: string }[] }>(['saved'], { cwd: repo })
  await check('restore', ['restore', saved[0]!.id, '--to', 'back'])
  await check('saved-show', ['saved', 'show', saved[0]!.id])
  await check('saved-rm', ['saved', 'rm', saved[0]!.id])
  await check('purge', ['purge'])
  await check('error', ['show', 'nobody'])
  await check('error', ['run', '--nmae', 'x'])
  await check('run-dry', ['run', '-f', '../tasks.md', '--dry-run'])
  await check('daemon', ['daemon', 'stop'])
})
