// Case 46: prompts that break a command line.

import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { makeWorld } from '../fixtures/berth.ts'

const prompts = (dir: string): { [name: string]: string } => ({
  dash: '- fix the list\n- then stop\n--help',
  shell: `do $(touch ${dir}/pwned) \`id\` \${HOME} %PATH% !x {a,b} * ^ \\ \\n && echo\r\nlast line\n`,
  quotes: 'say "hi", it\'s <b>"</b> | > out ` $( unbalanced "\n',
  long: `${'p'.repeat(200_000)}END`,
  unicode: '\ufeff完了 🧪 e\u0301 \u202ertl \u200bzero\tTab',
})

test('each brief reaches the agent byte for byte, on stdin and in the file, at the first attempt and from the queue', async () => {
  const world = makeWorld()
  const repo = world.repository()
  const agent = world.script(
    join(world.dir, 'agent.sh'),
    `#!/bin/sh\ncat > stdin.got\ncp "$BERTH_PROMPT_FILE" file.got\n`,
  )
  const all = prompts(world.dir)
  // As arguments, but for the one that is longer than the system lets an argument be.
  const { long = '', ...short } = all
  const args = ['run', '--command', agent, '--jobs', '2', '--repo', repo]
  expect(await world.berth([...args, '--', ...Object.values(short)])).toMatchObject({ code: 0 })
  const file = world.write(
    join(world.dir, 'long.json'),
    JSON.stringify({ tasks: [{ name: 'long', title: 'long', brief: long }] }),
  )
  expect(await world.berth([...args, '-f', file])).toMatchObject({ code: 0 })
  const { tasks } = await world.json<{ tasks: { worktree: string }[] }>(['ls', '--repo', repo])
  const got = (name: string) => tasks.map(task => readFileSync(join(task.worktree, name), 'utf8')).toSorted()
  expect(got('stdin.got')).toEqual(Object.values(all).toSorted())
  expect(got('file.got')).toEqual(Object.values(all).toSorted())
  expect(existsSync(join(world.dir, 'pwned'))).toBe(false)
})

test('a brief in a task file keeps its line endings, also when tried again', async () => {
  const world = makeWorld()
  const repo = world.repository()
  const brief = 'one\r\ntwo\r\n\r\n```\n## not: a task\n```\n### part\nlast without newline'
  const agent = world.script(
    join(world.dir, 'agent.sh'),
    `#!/bin/sh\ncat > "${world.dir}/got.$BERTH_ATTEMPT"; [ "$BERTH_ATTEMPT" = 2 ] && echo x > x\n[ "$BERTH_ATTEMPT" = 2 ]\n`,
  )
  world.write(join(world.dir, 'tasks.md'), `## t: title\ncommand: ${agent}\n\n${brief}`)
  expect(await world.berth(['run', '-f', join(world.dir, 'tasks.md'), '--repo', repo])).toMatchObject({
    code: 0,
  })
  expect(readFileSync(join(world.dir, 'got.1'), 'utf8')).toBe(brief)
  expect(readFileSync(join(world.dir, 'got.2'), 'utf8').startsWith(brief)).toBe(true)
})

test('an empty brief is refused when the task is made', async () => {
  const world = makeWorld()
  const repo = world.repository()
  const ran = await world.berth(['run', '--command', 'true', '--repo', repo, ''])
  expect(ran.code).toBe(2)
  expect(ran.err).toMatch(/^berth: .*empty/m)
})
