// Landing: on the side, tested on the result, the target moved by compare-and-swap, the person's checkout untouched.

import { existsSync, readFileSync } from 'node:fs'
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type GatePolicy } from '../../src/core/config.ts'
import { type Fact } from '../../src/core/event.ts'
import { integrate, land, type LandingInput } from '../../src/workspace/integration.ts'
import { integrationPath, integrationTask, mergeCommits } from '../../src/workspace/mergespace.ts'
import { prepare } from '../../src/workspace/prepare.ts'
import { type Site, workspaceMark } from '../../src/workspace/site.ts'
import { kinds, makeVoice, makeYard, type Yard } from '../fixtures/workspace.ts'

let yard: Yard
beforeEach(() => {
  yard = makeYard({ 'app.txt': 'one\n', 'other.txt': '1\n' })
})
afterEach(() => yard.clean())

const gate = (run: string): GatePolicy => ({ name: 'test', run, timeoutMs: 20_000, mayWrite: false })

const landing = (site: Site, task: string, over: Partial<LandingInput> = {}): LandingInput => ({
  ...site,
  task,
  title: `title of ${task}`,
  run: `run-of-${task}`,
  commit: yard.git(yard.repo, 'rev-parse', `berth/${task}`),
  branch: `berth/${task}`,
  target: 'main',
  gates: [],
  secrets: [],
  pass: [],
  portsTaken: [],
  ...over,
})

/** A workspace of a task with one commit in it. */
async function worked(site: Site, task: string, files: { [path: string]: string }): Promise<void> {
  const record = await yard.made(site, task)
  yard.commit(record.path, `work of ${task}`, files)
}

async function lands(input: LandingInput): Promise<Fact[]> {
  const voice = makeVoice()
  const [tested, ...more] = await integrate(input, voice)
  if (tested?.kind !== 'landing.tested') return [...(tested === undefined ? [] : [tested]), ...more]
  return land({ ...input, tip: tested.tip, merge: tested.merge }, voice)
}

const main = (): string => yard.git(yard.repo, 'rev-parse', 'main')

test('a task lands as a merge commit of its own and the person’s names, with its trailers', async () => {
  const site = await yard.site()
  await worked(site, 'login', { 'login.txt': 'x' })
  const before = main()
  const [fact] = await lands(landing(site, 'login'))
  expect(fact).toEqual({
    kind: 'landing.landed',
    project: site.project,
    task: 'login',
    commit: yard.git(yard.repo, 'rev-parse', 'berth/login'),
    target: 'main',
    merge: main(),
    rule: 'merged',
  })
  expect(
    yard.git(yard.repo, 'log', '-1', '--format=%an|%cn|%s|%(trailers:separator=%x2C,unfold)', 'main'),
  ).toBe(
    "login (berth)|Test Person|Merge task 'login': title of login|Berth-Task: login,Berth-Run: run-of-login",
  )
  expect(yard.git(yard.repo, 'rev-parse', 'main^1')).toBe(before)
  expect(readFileSync(join(yard.repo, 'login.txt'), 'utf8')).toBe('x')
  expect(yard.git(yard.repo, 'status', '--porcelain')).toBe('')
})

test('asked again after a crash, what has landed has landed', async () => {
  const site = await yard.site()
  await worked(site, 'login', { 'login.txt': 'x' })
  const input = landing(site, 'login')
  const [tested] = await integrate(input, makeVoice())
  if (tested?.kind !== 'landing.tested') throw new Error(JSON.stringify(tested))
  const both = { ...input, tip: tested.tip, merge: tested.merge }
  expect(await land(both, makeVoice())).toMatchObject([{ kind: 'landing.landed', merge: tested.merge }])
  const after = main()
  expect(await land(both, makeVoice())).toMatchObject([{ kind: 'landing.landed', merge: tested.merge }])
  expect(await integrate(input, makeVoice())).toMatchObject([{ kind: 'landing.landed', rule: 'contained' }])
  expect(main()).toBe(after)
})

test('a conflict names its files and leaves the person’s dirty checkout alone; the next task goes on', async () => {
  const site = await yard.site()
  await worked(site, 'bad', { 'app.txt': 'theirs\n' })
  await worked(site, 'good', { 'new.txt': 'fine\n' })
  yard.commit(yard.repo, 'main moved', { 'app.txt': 'ours\n' })
  yard.write(join(yard.repo, 'other.txt'), 'user edit\n')
  yard.write(join(yard.repo, 'staged.txt'), 'staged\n')
  yard.git(yard.repo, 'add', 'staged.txt')
  yard.write(join(yard.repo, 'untracked.txt'), 'u\n')
  const [tip, status] = [main(), yard.git(yard.repo, 'status', '--porcelain')]
  expect(await lands(landing(site, 'bad'))).toMatchObject([
    { kind: 'landing.failed', failure: { is: 'conflict', paths: ['app.txt'], tip } },
  ])
  expect([main(), yard.git(yard.repo, 'status', '--porcelain')]).toEqual([tip, status])
  expect(existsSync(join(yard.repo, '.git/MERGE_HEAD'))).toBe(false)
  expect(await lands(landing(site, 'good'))).toMatchObject([{ kind: 'landing.landed' }])
  expect(yard.git(yard.repo, 'status', '--porcelain')).toBe(status)
})

test('a checkout with work in the way moves nothing and names the paths', async () => {
  const site = await yard.site()
  await worked(site, 'login', { 'other.txt': '2\n' })
  yard.write(join(yard.repo, 'other.txt'), 'user edit\n')
  const tip = main()
  expect(await lands(landing(site, 'login'))).toMatchObject([
    { kind: 'landing.failed', failure: { is: 'target-busy', paths: ['other.txt'] } },
  ])
  expect(main()).toBe(tip)
  expect(readFileSync(join(yard.repo, 'other.txt'), 'utf8')).toBe('user edit\n')
})

test('two tasks that are green alone and red together: the second is stopped, the third goes in', async () => {
  const lib = 'area() { echo $(( $1 * $2 )); }\n'
  const testSh = '#!/bin/sh\nfor t in t*.sh; do [ "$t" = test.sh ] || sh "./$t" || exit 1; done\n'
  yard.write(join(yard.repo, 'test.sh'), testSh, 0o755)
  yard.commit(yard.repo, 'lib', { 'lib.sh': lib, 't1.sh': '. ./lib.sh; [ "$(area 2 3)" = 6 ]\n' })
  const site = await yard.site()
  await worked(site, 'rename', {
    'lib.sh': lib.replace('area', 'rect_area'),
    't1.sh': '. ./lib.sh; [ "$(rect_area 2 3)" = 6 ]\n',
  })
  await worked(site, 'uses', { 't2.sh': '. ./lib.sh; [ "$(area 4 5)" = 20 ]\n' })
  await worked(site, 'docs', { 'README.md': 'doc\n' })
  const gates = [gate('./test.sh')]
  expect(await lands(landing(site, 'rename', { gates }))).toMatchObject([{ kind: 'landing.landed' }])
  const voice = makeVoice()
  const [red] = await integrate(landing(site, 'uses', { gates }), voice)
  expect(red).toMatchObject({ kind: 'landing.failed', failure: { is: 'gate', gate: 'test', tip: main() } })
  expect(JSON.stringify(red)).toContain('area')
  // The target's own tip was green as the merge that had landed: nothing was run on it again.
  expect(kinds(voice.facts)).toEqual(['gate.started', 'gate.exited'])
  expect(await lands(landing(site, 'docs', { gates }))).toMatchObject([{ kind: 'landing.landed' }])
})

test('a target that is red by itself blames nobody, and is tried once per tip', async () => {
  const site = await yard.site()
  yard.commit(yard.repo, 'broken', { 'broken.txt': 'x' })
  await worked(site, 'a', { 'a.txt': 'x' })
  await worked(site, 'b', { 'b.txt': 'x' })
  const gates = [gate('test ! -f broken.txt')]
  const first = makeVoice()
  expect(await integrate(landing(site, 'a', { gates }), first)).toMatchObject([
    {
      kind: 'landing.failed',
      failure: { is: 'target-red', gate: 'test', reason: 'exit code 1', tip: main() },
    },
  ])
  expect(first.facts.map(fact => ('where' in fact ? fact.where : ''))).toEqual([
    'integration',
    'integration',
    'target',
    'target',
  ])
  const second = makeVoice()
  expect(await integrate(landing(site, 'b', { gates }), second)).toMatchObject([
    { failure: { is: 'target-red' } },
  ])
  expect(second.facts).toHaveLength(2)
})

test('a target that moved meanwhile, was rewritten or is gone holds the landing, each told apart', async () => {
  const site = await yard.site()
  await worked(site, 'login', { 'login.txt': 'x' })
  const input = landing(site, 'login')
  const [tested] = await integrate(input, makeVoice())
  if (tested?.kind !== 'landing.tested') throw new Error(JSON.stringify(tested))
  const was = yard.commit(yard.repo, 'meanwhile', { 'm.txt': 'x' })
  expect(await land({ ...input, tip: tested.tip, merge: tested.merge }, makeVoice())).toMatchObject([
    { kind: 'landing.failed', failure: { is: 'target-moved', tip: was } },
  ])
  yard.git(yard.repo, 'reset', '-q', '--hard', 'HEAD~1')
  const now = yard.commit(yard.repo, 'rewritten', { 'r.txt': 'x' })
  expect(await integrate({ ...input, lastTip: was }, makeVoice())).toMatchObject([
    { failure: { is: 'target-rewritten', was, tip: now, left: [was] } },
  ])
  expect(await integrate({ ...input, target: 'gone' }, makeVoice())).toMatchObject([
    { failure: { is: 'target-rewritten', tip: '' } },
  ])
})

test('a branch that was moved from outside is not landed', async () => {
  const site = await yard.site()
  await worked(site, 'login', { 'login.txt': 'x' })
  const input = landing(site, 'login')
  const found = yard.commit(join(yard.root, 'login'), 'sneaky', { 's.txt': 'x' })
  expect(await integrate(input, makeVoice())).toMatchObject([
    { failure: { is: 'branch-moved', expected: input.commit, found } },
  ])
})

test('changes to what the repository protects need a person, then they land', async () => {
  const site = await yard.site({ protect: ['ci/**'] })
  await worked(site, 'login', {
    'berth.toml': 'x',
    'ci/deploy.sh': 'x',
    '.husky/pre-commit': 'x',
    'fine.txt': 'x',
  })
  expect(await integrate(landing(site, 'login'), makeVoice())).toMatchObject([
    { failure: { is: 'protected', paths: ['.husky/pre-commit', 'berth.toml', 'ci/deploy.sh'] } },
  ])
  expect(await lands(landing(site, 'login', { approved: true }))).toMatchObject([{ kind: 'landing.landed' }])
})

test('a step that was killed in the middle is cleared by the next, and nothing else is', async () => {
  const site = await yard.site()
  await worked(site, 'bad', { 'app.txt': 'theirs\n' })
  await worked(site, 'login', { 'login.txt': 'x' })
  yard.commit(yard.repo, 'main moved', { 'app.txt': 'ours\n' })
  const space = integrationPath(site)
  await integrate(landing(site, 'bad'), makeVoice())
  yard.tryGit(space, 'merge', '-q', 'berth/bad')
  expect(yard.git(space, 'status', '--porcelain')).not.toBe('')
  yard.write(join(space, 'left.txt'), 'x')
  yard.write(join(yard.root, 'bad', 'work.txt'), 'mine')
  const orphan = spawn('sleep', ['120'], {
    stdio: 'ignore',
    detached: true,
    env: { PATH: yard.env['PATH'], BERTH_RUN: workspaceMark(site, integrationTask) },
  })
  const ended = new Promise(resolve => orphan.once('exit', (_code, signal) => resolve(signal)))
  expect(await lands(landing(site, 'login', { gates: [gate('test ! -f left.txt')] }))).toMatchObject([
    { kind: 'landing.landed' },
  ])
  expect(await ended).toMatch(/^SIG(TERM|KILL)$/)
  expect(readFileSync(join(yard.root, 'bad', 'work.txt'), 'utf8')).toBe('mine')
})

test('setup runs in the integration workspace once, and again when a file that names dependencies changed', async () => {
  const site = await yard.site({ setup: [{ run: 'echo set-up', timeoutMs: 20_000 }] })
  await worked(site, 'a', { 'a.txt': 'x' })
  await worked(site, 'b', { 'b.txt': 'x' })
  await worked(site, 'c', { 'package.json': '{}' })
  const setups = async (task: string): Promise<number> => {
    const voice = makeVoice()
    const input = landing(site, task)
    const [tested] = await integrate(input, voice)
    if (tested?.kind !== 'landing.tested') throw new Error(JSON.stringify(tested))
    await land({ ...input, tip: tested.tip, merge: tested.merge }, voice)
    return voice.facts.filter(({ kind }) => kind === 'setup.started').length
  }
  expect([await setups('a'), await setups('b'), await setups('c')]).toEqual([1, 0, 1])
})

test('landing by push moves the remote’s branch, and a rejected push is a target that moved', async () => {
  const remote = yard.remote(yard.repo)
  const site = await yard.site({ mode: 'push' })
  await worked(site, 'login', { 'login.txt': 'x' })
  const local = main()
  expect(await lands(landing(site, 'login'))).toMatchObject([{ kind: 'landing.landed', rule: 'pushed' }])
  expect(yard.git(remote, 'log', '-1', '--format=%s', 'main')).toBe("Merge task 'login': title of login")
  expect(main()).toBe(local)
  await worked(site, 'late', { 'late.txt': 'x' })
  const input = landing(site, 'late')
  const [tested] = await integrate(input, makeVoice())
  if (tested?.kind !== 'landing.tested') throw new Error(JSON.stringify(tested))
  const clone = yard.clone(remote, 'clone')
  yard.commit(clone, 'theirs', { 'theirs.txt': 'x' })
  yard.git(clone, 'push', '-q')
  expect(await land({ ...input, tip: tested.tip, merge: tested.merge }, makeVoice())).toMatchObject([
    { kind: 'landing.failed', failure: { is: 'target-moved' } },
  ])
})

test('several dependencies are merged into one base; a conflict among them names it', async () => {
  const site = await yard.site()
  await worked(site, 'a', { 'a.txt': 'x' })
  await worked(site, 'b', { 'b.txt': 'x' })
  await worked(site, 'c', { 'a.txt': 'other' })
  const commitOf = (task: string): { task: string; commit: string } => ({
    task,
    commit: yard.git(yard.repo, 'rev-parse', `berth/${task}`),
  })
  const start = { is: 'dependencies' as const, commits: [commitOf('a'), commitOf('b')] }
  const [ready] = await prepare(yard.input(site, 'd', { start }), makeVoice())
  expect(ready).toMatchObject({ kind: 'workspace.ready', baseRule: 'dependency' })
  expect(existsSync(join(yard.root, 'd', 'a.txt')) && existsSync(join(yard.root, 'd', 'b.txt'))).toBe(true)
  expect(await mergeCommits(site, [commitOf('a'), commitOf('c')], makeVoice().signal)).toEqual({
    is: 'conflict',
    reason: "the commits of 'a' and 'c' conflict in a.txt",
  })
})

test('an integration workspace whose making was cut off before it was marked is made anew', async () => {
  const site = await yard.site()
  await worked(site, 'login', { 'login.txt': 'x' })
  const path = integrationPath(site)
  yard.git(yard.repo, 'worktree', 'add', '-q', '--no-checkout', '--detach', path)
  expect(await lands(landing(site, 'login'))).toMatchObject([{ kind: 'landing.landed', rule: 'merged' }])
})

test('a whole worktree at its place that is not marked is left alone', async () => {
  const site = await yard.site()
  await worked(site, 'login', { 'login.txt': 'x' })
  const path = integrationPath(site)
  yard.git(yard.repo, 'worktree', 'add', '-q', '--detach', path)
  yard.write(join(path, 'mine.txt'), 'mine\n')
  const tip = main()
  await lands(landing(site, 'login')).catch((error: unknown) => error)
  expect([main(), readFileSync(join(path, 'mine.txt'), 'utf8')]).toEqual([tip, 'mine\n'])
})
