// Agents that treat their worktree in ways nobody asked for: what becomes of the task is said, and nothing is lost.

import { execFileSync } from 'node:child_process'
import { existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { makeWorld, until } from '../fixtures/berth.ts'

const runs = (command: string): string[] => [
  'run',
  '--land',
  'auto',
  '--name',
  't',
  '--command',
  command,
  'do it',
]

/** Where an attempt that fails is tried again soon. */
const soon = { 'app.txt': 'one\n', 'berth.toml': '[recovery]\nbackoff = "1s"\n' }

test('a repository that an agent left inside its worktree is a decision, not work that keeps changing', async () => {
  const world = makeWorld()
  const repo = world.repository()
  const agent = 'echo x >new; git init -q sub && cd sub && echo y >y && git add -A && git commit -qm y'
  const ran = await world.berth(runs(agent), { cwd: repo })
  expect(ran.code).toBe(3)
  const [item] = await world.items(repo)
  expect(item).toMatchObject({ kind: 'decide', evidence: [{ kind: 'nested', text: 'sub/' }] })
  const gone = await world.berth(['rm', 't'], { cwd: repo })
  expect([gone.code, gone.err]).toEqual([3, expect.stringContaining('1 nested repository: sub')])
  await world.berth(['resume'], { cwd: repo })
  await world.berth(['answer', item?.id ?? '', 'go-on'], { cwd: repo })
  const ready = await until('the answer to be followed', async () => {
    const task = await world.task(repo, 't')
    return task.status === 'ready' && task.reasonCode === 'uncommitted-work' && task
  })
  expect(ready.changes.files).toBeGreaterThan(0)
  expect(world.git(repo, 'ls-tree', '-r', '--name-only', 'berth/t')).toBe('app.txt\nnew\n')
})

const inner = 'git init -q sub; (cd sub; echo y >y; git add -A; git commit -qm y)'
const declared = 'printf \'[submodule "s"]\\n path = sub\\n url = ./sub\\n\' >.gitmodules'

test.each([
  ['', 'git commit -qm new'],
  [' in an attempt before its last one', 'git commit -qm new; kill -9 $$'],
  [', and left more,', 'git commit -qm new; echo more >more'],
])('a repository that an agent committed as a link%s is a decision', async (_when, last) => {
  const world = makeWorld()
  const repo = world.repository()
  const agent = `[ -e new ] && exit; echo x >new; ${inner}; git add -A; ${last}`
  const ran = await world.berth(runs(agent), { cwd: repo })
  expect([ran.code, ran.err]).toEqual([3, expect.stringContaining("a link to the repository in 'sub'")])
  const [item] = await world.items(repo)
  expect(item).toMatchObject({ kind: 'decide', evidence: [{ kind: 'nested', text: 'sub' }] })
  expect(world.git(repo, 'ls-tree', '-r', '--name-only', 'main')).toBe('app.txt\n')
  await world.berth(['resume'], { cwd: repo })
  await world.berth(['answer', item?.id ?? '', 'go-on'], { cwd: repo })
  await until('the answer to be followed', async () => {
    const { status, reasonCode } = await world.task(repo, 't')
    return status === 'landed' || (status === 'ready' && reasonCode === 'uncommitted-work')
  })
})

test('a link that an agent committed is looked for again once it was taken out', async () => {
  const world = makeWorld()
  const repo = world.repository()
  const agent = `echo x >new; ${inner}; git add -A; git commit -qm new`
  expect((await world.berth(runs(agent), { cwd: repo })).code).toBe(3)
  const worktree = (await world.task(repo, 't')).worktree ?? ''
  world.git(worktree, 'rm', '-q', '--cached', 'sub')
  world.git(worktree, 'commit', '-qm', 'no link')
  rmSync(join(worktree, 'sub'), { recursive: true })
  await world.berth(['resume'], { cwd: repo })
  await world.berth(['answer', 't', 'look-again'], { cwd: repo })
  await until('it to land', async () => (await world.task(repo, 't')).status === 'landed')
  expect(world.git(repo, 'ls-tree', '-r', '--name-only', 'main')).toBe('app.txt\nnew\n')
})

test.each([
  ['committed', 'git add -A; git commit -qm new', 0],
  ['left staged', 'git add -A', 3],
])(
  'a submodule that .gitmodules names and that an agent %s is work like any other',
  async (_how, end, code) => {
    const world = makeWorld()
    const repo = world.repository()
    const ran = await world.berth(runs(`${inner}; ${declared}; ${end}`), { cwd: repo })
    expect([ran.code, (await world.items(repo)).map(({ kind }) => kind)]).toEqual([
      code,
      code === 0 ? [] : ['approve'],
    ])
    expect(world.git(repo, 'ls-tree', '--name-only', code === 0 ? 'main' : 'berth/t')).toContain('sub\n')
  },
)

test.each([
  ['deleted its worktree', 'rm -rf "$PWD"'],
  ['had git remove its worktree', 'cd /; git -C "$BERTH_REPO" worktree remove --force "$OLDPWD"'],
])(
  'an agent that %s has failed, and its next attempt finds its commits in a new one',
  async (_what, deed) => {
    const world = makeWorld()
    const repo = world.repository()
    const agent = `[ -e new ] || { echo x >new; git add -A; git commit -qm new; ${deed}; }`
    const ran = await world.berth(runs(agent), { cwd: repo })
    expect([ran.code, ran.err]).toEqual([0, expect.stringContaining('landed')])
    const failed = (await world.facts(repo)).find(({ kind }) => kind === 'run.collected')
    expect(failed).toMatchObject({
      outcome: { is: 'failed', reason: expect.stringContaining("' is gone; ") },
    })
    expect(world.git(repo, 'ls-tree', '--name-only', 'main')).toBe('app.txt\nnew\n')
  },
)

test("an agent that deleted its worktree's link to the repository has failed, and its commits are there", async () => {
  const world = makeWorld()
  const repo = world.repository('repo', soon)
  const agent = '[ -e new ] || { echo x >new; git add -A; git commit -qm new; rm .git; }'
  const ran = await world.berth(runs(agent), { cwd: repo })
  expect(ran.code).toBe(1)
  const task = await world.task(repo, 't')
  const told = "the '.git' file of its worktree '"
  expect([task.status, task.reason]).toEqual(['failed', expect.stringContaining(told)])
  expect(task.reason).toContain('remove the task, and run it again under its name')
  expect((await world.berth(['rm', 't', '--discard'], { cwd: repo })).code).toBe(0)
  const again = await world.berth([...runs('echo more >more'), '--gate', 'test -e new'], { cwd: repo })
  expect([again.code, again.err]).toEqual([0, expect.stringContaining('landed')])
  expect(existsSync(join(repo, 'new')) && existsSync(join(repo, 'more'))).toBe(true)
})

test.each([
  ["the person's repository", 'echo "gitdir: $BERTH_REPO/.git" >.git'],
  ['a repository of its own', 'rm .git; git init -q'],
])(
  'a worktree whose link an agent led to %s is worked in no more, and the checkout stays as it is',
  async (_where, deed) => {
    const world = makeWorld()
    const repo = world.repository('repo', soon)
    world.write(join(repo, 'staged'), 'mine\n')
    world.git(repo, 'add', 'staged')
    const before = world.git(repo, 'status', '--porcelain') + world.git(repo, 'rev-parse', 'HEAD')
    const agent = `[ -e new ] && git add -A && git commit -qm again; echo x >new; ${deed}`
    expect((await world.berth(runs(agent), { cwd: repo })).code).toBe(1)
    await world.berth(['retry', 't'], { cwd: repo })
    await until('it to rest', async () => (await world.task(repo, 't')).status === 'failed')
    expect((await world.task(repo, 't')).reason).toContain(" leads to '")
    expect(world.git(repo, 'status', '--porcelain') + world.git(repo, 'rev-parse', 'HEAD')).toBe(before)
  },
)

test('a branch that an agent renamed away is a decision, and an answer that rests says how it goes on', async () => {
  const world = makeWorld()
  const repo = world.repository()
  const agent = 'echo x >new; git add -A; git commit -qm new; git branch -m mine'
  const ran = await world.berth(runs(agent), { cwd: repo })
  const told = "left its worktree on 'mine', not on its branch 'berth/t'; 1 commit only there"
  expect([ran.code, ran.err]).toEqual([3, expect.stringContaining(told)])
  const answered = await world.berth(['answer', 't', 'take'], { cwd: repo })
  expect([answered.code, answered.err]).toEqual([0, expect.stringContaining('hint: berth resume')])
  await world.berth(['resume'], { cwd: repo })
  await until('it to land', async () => (await world.task(repo, 't')).status === 'landed')
  expect(world.git(repo, 'show', 'main:new')).toBe('x\n')
})

const commit = (file: string): string => `echo x >${file}; git add -A; git commit -qm ${file}`

test.each([
  ['a branch of its own', 'git switch -qc feat', "on 'feat'"],
  ['no branch at all', 'git checkout -q --detach', 'at the detached commit '],
])('work that an agent left on %s is a decision, and is taken up whole', async (_where, leave, told) => {
  const world = makeWorld()
  const repo = world.repository()
  const agent = `${commit('one')}; ${leave}; ${commit('two')}; echo more >three`
  const ran = await world.berth([...runs(agent), '--gate', 'test -e three'], { cwd: repo })
  expect([ran.code, ran.err]).toEqual([3, expect.stringContaining(`left its worktree ${told}`)])
  const [item] = await world.items(repo)
  const worktree = (await world.task(repo, 't')).worktree ?? ''
  const head = world.git(worktree, 'rev-parse', 'HEAD').trim()
  expect([item?.kind, item?.evidence[0]]).toEqual(['decide', { kind: 'commit', text: head }])
  expect(item?.reason).toContain(
    "not on its branch 'berth/t'; 1 commit only there; changes that are not committed",
  )
  expect(item?.actions.map(({ key }) => key)).toEqual(['take', 'look-again', 'retry', 'rm'])
  await world.berth(['resume'], { cwd: repo })
  expect((await world.berth(['answer', item?.id ?? '', 'take'], { cwd: repo })).code).toBe(0)
  await until('it to land', async () => (await world.task(repo, 't')).status === 'landed')
  expect(world.git(repo, 'ls-tree', '--name-only', 'main')).toBe('app.txt\none\nthree\ntwo\n')
})

test('a branch that is ahead of where its agent left the worktree is not given up: a person goes back to it', async () => {
  const world = makeWorld()
  const repo = world.repository()
  const agent = `${commit('one')}; git switch -qc other HEAD~1; ${commit('two')}`
  const ran = await world.berth(runs(agent), { cwd: repo })
  expect([ran.code, ran.err]).toEqual([
    3,
    expect.stringContaining("1 commit only there; 1 commit only on 'berth/t'"),
  ])
  const [item] = await world.items(repo)
  expect(item?.actions.map(({ key }) => key)).toEqual(['look-again', 'retry', 'rm'])
  const commands = item?.evidence.filter(({ kind }) => kind === 'command').map(({ text }) => text) ?? []
  world.git(repo, 'config', 'core.editor', 'true')
  for (const command of commands) execFileSync('sh', ['-c', command], { env: world.env, stdio: 'pipe' })
  await world.berth(['resume'], { cwd: repo })
  await world.berth(['answer', 't', 'look-again'], { cwd: repo })
  await until('it to land', async () => (await world.task(repo, 't')).status === 'landed')
  expect(world.git(repo, 'ls-tree', '--name-only', 'main')).toBe('app.txt\none\ntwo\n')
})

test('a rebase that an agent left unfinished is a decision that names it', async () => {
  const world = makeWorld()
  const repo = world.repository()
  const agent = `${commit('one')}; ${commit('two')}; GIT_SEQUENCE_EDITOR='sed -i 1s/pick/edit/' git rebase -qi HEAD~1`
  const ran = await world.berth(runs(agent), { cwd: repo })
  expect([ran.code, ran.err]).toEqual([3, expect.stringContaining('a rebase is not finished')])
  const [item] = await world.items(repo)
  expect(item?.actions.map(({ key }) => key)).toEqual(['look-again', 'retry', 'rm'])
})

test('a detached worktree that stands where its branch does is put back on it, and lands', async () => {
  const world = makeWorld()
  const repo = world.repository()
  const ran = await world.berth(runs(`${commit('one')}; git checkout -q --detach`), { cwd: repo })
  expect([ran.code, ran.err]).toEqual([0, expect.stringContaining('landed')])
})

test.each([
  ['an empty commit', 'git commit -q --allow-empty -m nothing'],
  ['a commit that it reverted', `${commit('one')}; git revert -n HEAD; git commit -qm back`],
])('%s is no work, and is accepted by a person as it is', async (_what, agent) => {
  const world = makeWorld()
  const repo = world.repository()
  const ran = await world.berth(runs(agent), { cwd: repo })
  expect([ran.code, (await world.task(repo, 't')).reasonCode]).toEqual([1, 'no-work'])
  await world.berth(['resume'], { cwd: repo })
  await world.berth(['answer', 't', 'accept'], { cwd: repo })
  await until('it to land', async () => (await world.task(repo, 't')).status === 'landed')
})

test.each([
  ['its task needs no change', 'changes: optional', ''],
  ['it reports so', 'changes: required', 'berth report done "nothing to do"'],
])('an empty commit is done when %s', async (_when, field, report) => {
  const world = makeWorld()
  const repo = world.repository()
  const agent = `git commit -q --allow-empty -m nothing; ${report}`
  const file = world.write(`${world.dir}/tasks.md`, `## t: do it\n${field}\ncommand: ${agent}\n\nDo it.\n`)
  const ran = await world.berth(['run', '--land', 'auto', '-f', file], { cwd: repo })
  expect([ran.code, ran.err]).toEqual([0, expect.stringContaining('landed')])
})

test('work that was committed before its agent was cut off is done when the next attempt has nothing to add', async () => {
  const world = makeWorld()
  const repo = world.repository()
  const agent = '[ -e new ] || { echo x >new; git add -A; git commit -qm new; kill -9 $$; }'
  const ran = await world.berth(runs(agent), { cwd: repo })
  expect([ran.code, ran.err]).toEqual([0, expect.stringContaining('landed')])
  const task = await world.task(repo, 't')
  expect([task.status, task.attempt, task.changes.files]).toEqual(['landed', 2, 1])
})

test('an attempt without any change after one without commits has still done nothing', async () => {
  const world = makeWorld()
  const repo = world.repository()
  const ran = await world.berth(runs('[ $BERTH_ATTEMPT -gt 1 ] || kill -9 $$'), { cwd: repo })
  expect(ran.code).toBe(1)
  expect((await world.task(repo, 't')).reasonCode).toBe('no-work')
})

test('a caller without a HOME has no global settings of git, and its tasks are worked', async () => {
  const world = makeWorld()
  const repo = world.repository()
  const agent = 'echo x >new; git add -A; git commit -qm new'
  const ran = await world.berth(runs(agent), {
    cwd: repo,
    env: { HOME: undefined, GIT_COMMITTER_NAME: 'C', GIT_COMMITTER_EMAIL: 'c@example.invalid' },
  })
  expect([ran.code, ran.err]).toEqual([0, expect.stringContaining('landed')])
})
