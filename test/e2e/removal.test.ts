// Removing tasks as a person does it: what is said of what stays, and that every command it names works as typed.

import { spawn } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { type RemovalAnswer } from '../../src/core/api.ts'
import { kill, makeWorld, processesIn, until, type World } from '../fixtures/berth.ts'

const limit = 120_000

const commit = 'echo work > w.txt; git add -A; git commit -qm work'

/** A task of this name that rests with one commit, and is not landed. */
async function readyTask(world: World, repo: string, name: string, command = commit): Promise<void> {
  const args = ['run', '--repo', repo, '--name', name, '--land', 'never', '--command', command, 'x']
  expect(await world.berth(args)).toMatchObject({ code: 0 })
}

/** The hint of what was printed, as arguments of `berth`. */
const hintIn = (err: string): string[] => /^hint: berth (.+)$/m.exec(err)?.[1]?.split(' ') ?? []

const branches = (world: World, repo: string): string =>
  world.git(repo, 'for-each-ref', '--format=%(refname:short)', 'refs/heads')

test(
  'the branch that a removal keeps is named with the command that takes it, which saves its commits first',
  async () => {
    const world = makeWorld()
    const repo = world.repository()
    await readyTask(world, repo, 'a')
    const tip = world.git(repo, 'rev-parse', 'berth/a').trim()
    expect(await world.berth(['land'], { cwd: repo })).toEqual({
      code: 0,
      out: '',
      err: "kept back, since 'land' is 'never' there: 'a'\nhint: berth land a\n",
    })
    const first = await world.berth(['rm', 'a'], { cwd: repo })
    expect(first).toEqual({
      code: 0,
      out: "'a' is out of the way, its files are being deleted, branch 'berth/a' kept: its commits are not in 'main'\n",
      err: 'hint: berth rm a --branch --save\n',
    })
    const plain = await world.berth(['rm', 'a', '--branch'], { cwd: repo })
    expect(plain).toMatchObject({ code: 3, out: '' })
    const only = `1 commit that nothing else holds (${tip.slice(0, 10)})`
    expect(plain.err).toContain(`work of branch 'berth/a' would be lost: ${only}\n`)
    expect(hintIn(plain.err)).toEqual(['rm', 'a', '--branch', '--save'])
    expect(branches(world, repo)).toBe('berth/a\nmain\n')
    expect((await world.task(repo, 'a')).status).toBe('dropped')
    expect(await world.items(repo)).toEqual([])

    const second = await world.berth(hintIn(plain.err), { cwd: repo })
    expect(second).toMatchObject({ code: 0, err: '' })
    const saved = /^removed 'a', branch deleted, saved as '(.+)'\n$/.exec(second.out)?.[1]
    expect(branches(world, repo)).toBe('main\n')
    expect(await world.berth(['rm', 'a', '--branch'], { cwd: repo })).toEqual({
      code: 0,
      out: "removed 'a'\n",
      err: '',
    })
    expect(await world.berth(['restore', String(saved), '--to', 'back'], { cwd: repo })).toMatchObject({
      code: 0,
    })
    expect(world.git(repo, 'merge-base', '--is-ancestor', tip, 'back')).toBe('')
    expect(world.git(repo, 'show', 'back:w.txt')).toBe('work\n')
  },
  limit,
)

test(
  'a kept branch that moved since is not taken; one that landed goes without a word; --discard gives it up',
  async () => {
    const world = makeWorld()
    const repo = world.repository()
    for (const name of ['moved', 'landed', 'given']) {
      await readyTask(world, repo, name, commit.replaceAll('w.txt', `${name}.txt`))
      expect(await world.berth(['rm', name, '--wait'], { cwd: repo })).toMatchObject({ code: 0 })
    }
    const was = world.git(repo, 'rev-parse', 'berth/moved').trim()
    const tip = world.git(repo, 'commit-tree', '-p', was, '-m', 'mine', `${was}^{tree}`).trim()
    world.git(repo, 'branch', '-f', 'berth/moved', tip)
    world.git(repo, 'merge', '-q', '--no-edit', 'berth/landed')
    const { removed } = await world.json<{ removed: RemovalAnswer[] }>(
      ['rm', 'moved', 'landed', 'given', '--branch', '--discard'],
      { cwd: repo },
    )
    expect(removed).toMatchObject([
      {
        task: 'moved',
        branch: 'kept',
        kept: { branch: 'berth/moved', commit: tip, reason: `it moved from ${was} to ${tip}` },
      },
      { task: 'landed', is: 'removed', branch: 'deleted' },
      { task: 'given', is: 'removed', branch: 'deleted' },
    ])
    expect(branches(world, repo)).toBe('berth/moved\nmain\n')
  },
  limit,
)

test(
  'stashes made in a workspace stay and are named, with the command that lists them',
  async () => {
    const world = makeWorld()
    const repo = world.repository()
    await readyTask(world, repo, 'a', `${commit}; echo more >> w.txt; git stash -q`)
    world.git(repo, 'checkout', '-q', '-b', 'mine')
    world.write(join(repo, 'app.txt'), 'mine\n')
    world.git(repo, 'stash', '-q')
    const done = await world.berth(['rm', 'a', '--wait'], { cwd: repo })
    expect(done).toEqual({
      code: 0,
      out: "removed 'a', branch 'berth/a' kept: its commits are not in 'main'\n",
      err: '  left alone: 1 stash made in it\nhint: git stash list\nhint: berth rm a --branch --save\n',
    })
    expect(world.git(repo, 'stash', 'list').trim().split('\n')).toHaveLength(2)
    expect(existsSync(join(`${repo}.berths`, 'a'))).toBe(false)
  },
  limit,
)

/** All that a purge has to tell apart. */
async function makeMixed(world: World): Promise<string> {
  const repo = world.repository()
  const at = (name: string) => join(`${repo}.berths`, name)
  const names = ['unlanded', 'landed', 'moved', 'away', 'reset', 'kept', 'merged']
  const task = (name: string) =>
    `## ${name}: Work\ncommand: ${commit.replaceAll('w.txt', `${name}.txt`)}\nland: never\n\nx\n`
  world.write(join(world.dir, 'tasks.md'), names.map(task).join('\n'))
  expect(await world.berth(['run', '-f', '../tasks.md'], { cwd: repo })).toMatchObject({ code: 0 })
  world.git(repo, 'merge', '-q', '--no-edit', 'berth/landed')
  world.git(at('moved'), 'commit', '-q', '--allow-empty', '-m', 'by hand')
  world.git(at('away'), 'switch', '-q', '--detach', 'main')
  world.git(at('reset'), 'reset', '-q', '--hard', 'main')
  expect(await world.berth(['rm', 'kept', 'merged', '--wait'], { cwd: repo })).toMatchObject({ code: 0 })
  world.git(repo, 'merge', '-q', '--no-edit', 'berth/merged')
  world.git(repo, 'branch', 'berth/out', 'main')
  world.git(repo, 'worktree', 'add', '-q', join(world.dir, 'out'), 'berth/out')
  return repo
}

type Purged = { would: string[]; removed: string[]; kept: { what: string; reason: string }[] }

const expected = {
  gone: [
    "workspace 'landed'",
    "branch 'berth/landed'",
    "workspace 'away'",
    "workspace 'reset'",
    "branch 'berth/merged'",
  ],
  kept: [
    "workspace 'unlanded'",
    "workspace 'moved'",
    "branch 'berth/away'",
    "branch 'berth/kept'",
    "branch 'berth/out'",
  ],
}

test.each([{ daemon: 'without a daemon' }, { daemon: 'with a daemon' }])(
  '$daemon: what a purge lists is what it does',
  async ({ daemon }) => {
    const world = makeWorld()
    const repo = await makeMixed(world)
    const verb = daemon === 'with a daemon' ? 'start' : 'stop'
    await world.berth(['daemon', verb], { cwd: repo })
    const before = world.git(repo, 'for-each-ref') + world.git(repo, 'worktree', 'list')
    const listed = await world.json<Purged>(['purge'], { cwd: repo })
    expect(world.git(repo, 'for-each-ref') + world.git(repo, 'worktree', 'list')).toBe(before)
    const done = await world.json<Purged>(['purge', '--yes'], { cwd: repo })
    expect({ would: done.removed, kept: done.kept }).toEqual({ would: listed.would, kept: listed.kept })
    const short = (what: string) => what.replace(/^workspace .*'(\w+)'$/, "workspace '$1'")
    expect(done.removed.map(short)).toEqual(expect.arrayContaining(expected.gone))
    expect(done.kept.map(({ what }) => short(what))).toEqual(expect.arrayContaining(expected.kept))
    expect(done.kept.find(({ what }) => what.endsWith("task 'unlanded'"))?.reason).toMatch(
      /would be lost: 1 commit that nothing else holds \([0-9a-f]{10}\) \(berth rm unlanded --branch --save\)$/,
    )
    for (const name of ['unlanded', 'moved']) expect(existsSync(join(`${repo}.berths`, name))).toBe(true)
    expect(branches(world, repo).trim().split('\n')).toEqual(
      ['away', 'kept', 'moved', 'out', 'unlanded'].map(name => `berth/${name}`).concat('main'),
    )
  },
  limit,
)

/** A task whose agent says that it is there, and works until it is ended. */
async function liveTask(world: World, repo: string, name: string): Promise<void> {
  const sign = join(world.dir, `${name}-started`)
  const command = `echo half > half.txt; touch '${sign}'; exec sleep 600`
  const args = [
    'run',
    '--repo',
    repo,
    '--detach',
    '--name',
    name,
    '--land',
    'never',
    '--command',
    command,
    'x',
  ]
  expect(await world.berth(args)).toMatchObject({ code: 0 })
  await until('the agent to work', () => existsSync(sign))
}

const agents = (world: World): string[] =>
  processesIn(world.dir)
    .map(({ command }) => command.trim())
    .filter(command => command === 'sleep 600')

test(
  'a live run refuses a removal; with --stop it ends first, and a refusal then leaves a task that rests as stopped',
  async () => {
    const world = makeWorld()
    const repo = world.repository()
    await liveTask(world, repo, 'a')
    const live = await world.berth(['rm', 'a'], { cwd: repo })
    expect(live).toEqual({
      code: 3,
      out: '',
      err: "berth: 'a' is not removed: 'a' has a live run\nhint: berth stop a\n",
    })
    expect((await world.task(repo, 'a')).status).toBe('running')
    expect(agents(world)).toHaveLength(1)

    const loss = await world.berth(['rm', 'a', '--stop'], { cwd: repo })
    expect(loss).toMatchObject({ code: 3, out: '' })
    expect(loss.err).toContain('half.txt')
    expect(hintIn(loss.err)).toEqual(['rm', 'a', '--save'])
    expect(agents(world)).toEqual([])
    expect((await world.task(repo, 'a')).status).toBe('stopped')
    expect(await world.items(repo)).toEqual([])

    const saved = await world.berth([...hintIn(loss.err), '--wait'], { cwd: repo })
    expect(saved).toMatchObject({ code: 0, err: '' })
    expect(saved.out).toMatch(/^removed 'a', branch deleted, saved as 'a-\w+'\n$/)
    expect((await world.task(repo, 'a')).status).toBe('dropped')
    expect((await world.facts(repo)).filter(({ kind }) => kind === 'run.claimed')).toHaveLength(1)
  },
  limit,
)

test(
  "a person's shell in the worktree lives on, is named, and does not hold up the removal, with --stop or without",
  async () => {
    const world = makeWorld()
    const repo = world.repository()
    const at = (name: string) => join(`${repo}.berths`, name)
    const shellIn = (name: string) => {
      const child = spawn('sleep', ['600'], {
        cwd: at(name),
        env: { PATH: world.env['PATH'] },
        stdio: 'ignore',
      })
      onTestFinished(() => kill(child.pid ?? 0))
      return child
    }
    await readyTask(world, repo, 'rests')
    await liveTask(world, repo, 'works')
    for (const [name, more] of [
      ['rests', []],
      ['works', ['--stop', '--discard']],
    ] as const) {
      const shell = shellIn(name)
      const done = await world.berth(['rm', name, ...more], { cwd: repo })
      expect(done.code).toBe(0)
      expect(done.err).toContain(`left alone: ${shell.pid} sleep 600 (works in ${at(name)})\n`)
      expect([shell.exitCode, shell.signalCode]).toEqual([null, null])
      expect(existsSync(at(name))).toBe(false)
    }
    expect(agents(world)).toEqual([])
  },
  limit,
)

test(
  'after a kill of Berth in a gate, and of a supervisor, a purge leaves nothing but the timeline',
  async () => {
    const world = makeWorld()
    const cut = join(world.dir, 'cut')
    const gate = `test -e ${cut} || { touch ${cut}; exec sleep 1000; }`
    const config = `gates = ["${gate}"]\n[recovery]\nbackoff = "1s"\n`
    const repo = world.repository('repo', { 'app.txt': 'one\n', 'berth.toml': config })
    const cutOff = `test "$BERTH_ATTEMPT" = 1 && kill -9 $PPID && exit; ${commit}`
    const args = ['run', '--trust', '--land', 'auto', '--name', 'a', '--command', cutOff, 'x']
    const run = world.start(args, { cwd: repo })
    await until('the gate', () => existsSync(cut))
    run.child.kill('SIGKILL')
    await run.ended
    expect(await world.berth(['resume'], { cwd: repo })).toMatchObject({ code: 0 })
    await until('the landing', async () => (await world.task(repo, 'a')).status === 'landed')
    expect(await world.berth(['rm', 'a', '--wait'], { cwd: repo })).toMatchObject({ code: 0 })
    expect(await world.berth(['purge', '--yes'], { cwd: repo })).toMatchObject({ code: 0 })
    expect(await world.berth(['purge'], { cwd: repo })).toMatchObject({
      out: "would leave the timeline, with the facts of 1 task, which 'berth log' shows\n",
    })
    expect(await world.berth(['daemon', 'stop'])).toMatchObject({ code: 0 })
    const files = (dir: string) => readdirSync(dir, { recursive: true }).map(String)
    expect(files(join(world.dir, 'rt'))).toEqual(['berth-ports'])
    expect(files(join(world.state, 'runs'))).toEqual([])
    const own = ['id.json', 'token-key']
    expect(
      files(join(world.state, 'private')).filter(name => name.includes('/') || own.includes(name)),
    ).toEqual(own)
  },
  limit,
)
