// The runner: what of the caller's environment reaches git, in which language, and how failures are told.

import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { agentSettings } from '../../src/git/agent.ts'
import { failure, git, gitEnvironment, line, lockFileOf, ok, reasonOf } from '../../src/git/git.ts'
import { openRepository } from '../../src/git/open.ts'
import { readStatus } from '../../src/git/status.ts'
import { addWorktree } from '../../src/git/worktree.ts'
import { makeWorld, type World } from '../fixtures/repository.ts'

let world: World

beforeEach(() => {
  world = makeWorld()
})
afterEach(() => world.clean())

test('every variable that git calls local to a repository is dropped, and the author of the caller', () => {
  const names = world.git(world.dir, 'rev-parse', '--local-env-vars').split('\n')
  const more = [
    'GIT_AUTHOR_NAME',
    'GIT_COMMITTER_EMAIL',
    'GIT_INDEX_FILE',
    'GIT_TRACE',
    'GIT_QUARANTINE_PATH',
    'GIT_REFLOG_ACTION',
    'LANGUAGE',
  ]
  const caller = Object.fromEntries([...names, ...more].map(name => [name, 'x']))
  const env = gitEnvironment({
    ...caller,
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_SSL_CAINFO: '/ca',
    HOME: '/h',
    PATH: '/bin',
  })
  expect(Object.keys(env).toSorted()).toEqual([
    'GIT_ASKPASS',
    'GIT_CONFIG_NOSYSTEM',
    'GIT_EDITOR',
    'GIT_MERGE_AUTOEDIT',
    'GIT_OPTIONAL_LOCKS',
    'GIT_PAGER',
    'GIT_SEQUENCE_EDITOR',
    'GIT_SSL_CAINFO',
    'GIT_TERMINAL_PROMPT',
    'HOME',
    'LC_ALL',
    'PATH',
    'SSH_ASKPASS_REQUIRE',
  ])
})

test('called from inside the hook of another repository, everything lands in the right one (case 15)', async () => {
  const victim = world.repository('victim')
  const dir = world.repository()
  const index = readFileSync(join(victim, '.git/index'))
  const env = {
    ...world.env,
    GIT_DIR: join(victim, '.git'),
    GIT_WORK_TREE: victim,
    GIT_INDEX_FILE: join(victim, '.git/index'),
    GIT_PREFIX: '',
    GIT_AUTHOR_NAME: 'Somebody Else',
  }
  const repo = await openRepository(dir, { env, hooksDir: world.hooksDir })
  const commit = await line(repo, ['rev-parse', 'HEAD'])
  const outcome = await addWorktree(repo, {
    path: world.path('wt'),
    branch: 'berth/x',
    commit,
    lock: world.lock,
    takeUp: false,
  })
  expect(outcome.is).toBe('made')
  expect(world.git(dir, 'branch', '--list', 'berth/*')).toContain('berth/x')
  expect(world.git(victim, 'branch', '--list', 'berth/*')).toBe('')
  expect(existsSync(join(victim, '.git/worktrees'))).toBe(false)
  expect(readFileSync(join(victim, '.git/index')).equals(index)).toBe(true)
})

test('git answers in English whatever the language of the caller (case 64)', async () => {
  const dir = world.repository()
  world.git(dir, 'worktree', 'add', '-q', '-b', 'task/d', world.path('wt'))
  world.write(world.path('wt/dirty.txt'), 'd')
  const env = { ...world.env, LANGUAGE: 'de', LC_ALL: 'C.UTF-8', LANG: 'C.UTF-8' }
  const repo = await openRepository(dir, { env, hooksDir: world.hooksDir })
  const result = await git(repo, ['worktree', 'remove', world.path('wt')])
  expect([result.code, reasonOf(result)]).toEqual([
    128,
    `'${world.path('wt')}' contains modified or untracked files, use --force to delete it`,
  ])
  await expect(openRepository(world.path('home'), { env, hooksDir: world.hooksDir })).rejects.toMatchObject({
    code: 'not-a-repository',
  })
})

test('repository hooks, background maintenance and the file-system monitor are off', async () => {
  const dir = world.repository()
  for (const hook of ['pre-commit', 'post-commit', 'reference-transaction', 'post-index-change']) {
    world.write(
      join(dir, '.git/hooks', hook),
      `#!/bin/sh\necho ${hook} >> '${world.path('hooked')}'\n`,
      0o755,
    )
  }
  world.git(dir, 'config', 'core.fsmonitor', world.path('monitor.sh'))
  world.write(world.path('monitor.sh'), `#!/bin/sh\necho monitor >> '${world.path('hooked')}'\n`, 0o755)
  const repo = await world.open(dir)
  await ok(repo, ['commit', '--allow-empty', '-q', '-m', 'x'])
  await ok(repo, ['status'])
  expect(existsSync(world.path('hooked'))).toBe(false)
})

test('a failure is told by the first line of git, and a lock by its file', async () => {
  const dir = world.repository()
  const repo = await world.open(dir)
  await expect(ok(repo, ['rev-parse', '--verify', 'nowhere'])).rejects.toMatchObject({
    code: 'git-failed',
    message: `'git rev-parse' in '${dir}' failed: Needed a single revision`,
  })
  world.write(join(dir, '.git/index.lock'), '')
  const added = await git(repo, ['add', '-A'])
  const lock = join(dir, '.git/index.lock')
  expect(lockFileOf(added.err)).toBe(lock)
  expect(failure(repo, ['add'], added)).toMatchObject({
    code: 'git-busy',
    message: `git is busy in '${dir}': '${lock}' is there, and can go if no program holds it`,
    hint: `ls -l ${lock}`,
  })
  const configured = await git(repo, ['config', 'a.b', 'c'], {})
  expect(configured.code).toBe(0)
  world.write(join(dir, '.git/config.lock'), '')
  expect(lockFileOf((await git(repo, ['config', 'a.b', 'd'])).err)).toMatch(/config\.lock$/)
})

test('a command that takes too long ends and says so', async () => {
  const repo = await world.open(world.repository())
  const args = ['-c', 'alias.slow=!sleep 30', 'slow']
  const result = await git(repo, args, { timeoutMs: 100 })
  expect([result.code, result.timedOut, failure(repo, ['slow'], result).code]).toEqual([
    null,
    true,
    'timeout',
  ])
})

test('a command that is killed says by what', async () => {
  const repo = await world.open(world.repository())
  const result = await git(repo, ['-c', 'alias.dies=!kill -9 $PPID; sleep 5', 'dies'])
  expect([result.code, result.signal, failure(repo, ['dies'], result).message]).toEqual([
    null,
    'SIGKILL',
    `'git dies' in '${repo.dir}' failed: it was ended by SIGKILL`,
  ])
})

test('a bare push of an agent moves no branch of the remote, renamed or not (case 09)', async () => {
  const dir = world.repository()
  const remote = world.remote(dir)
  world.git(dir, 'config', '--global', 'push.default', 'upstream')
  world.git(dir, 'config', '--global', 'push.autoSetupRemote', 'true')
  world.git(dir, 'config', '--global', 'branch.autoSetupMerge', 'always')
  const repo = await world.open(dir)
  const main = world.git(remote, 'rev-parse', 'main')
  const path = world.path('wt')
  await addWorktree(repo, { path, branch: 'berth/x', commit: main, lock: world.lock, takeUp: false })
  expect(world.tryGit(path, 'rev-parse', '@{u}').code).not.toBe(0)
  world.commit(path, 'x', { 'x.txt': 'x' })
  const settings = agentSettings.flatMap(({ key, value }) => ['-c', `${key}=${value}`])
  expect(world.tryGit(path, ...settings, 'push').code).not.toBe(0)
  world.git(path, ...settings, 'branch', '-m', 'renamed')
  expect(world.tryGit(path, ...settings, 'push').code).not.toBe(0)
  world.git(path, ...settings, 'switch', '-q', '-c', 'again', 'origin/main')
  world.commit(path, 'y', { 'y.txt': 'y' })
  expect(world.tryGit(path, ...settings, 'push').code).not.toBe(0)
  expect(world.git(remote, 'for-each-ref', '--format=%(refname) %(objectname)')).toBe(
    `refs/heads/main ${main}`,
  )
})

test('exactly the untracked files are reported by their true names (case 17)', async () => {
  const dir = world.repository('my Répos/re po')
  const names = ['d ir/naïve €.txt', 'a -> b.txt', '"quoted".txt']
  for (const name of names) world.write(join(dir, name), 'x')
  const status = await readStatus(await world.open(dir))
  expect(status).toMatchObject({ is: 'status', branch: 'main', changed: [] })
  expect(status.is === 'status' ? status.untracked.toSorted() : []).toEqual(names.toSorted())
})
