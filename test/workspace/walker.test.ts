// Deleting a tree: everything in it, nothing that it points at.

import {
  chmodSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { execFileSync, spawnSync } from 'node:child_process'
import { tmpdir } from 'node:os'
import { basename, dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { isBelow, removeTree } from '../../src/workspace/walker.ts'

const clock = () => performance.now()
let dir: string

beforeEach(() => {
  dir = realpathSync(mkdtempSync(join(tmpdir(), 'berth-walker-')))
})
afterEach(() => rmSync(dir, { recursive: true, force: true }))

const remove = (path: string, budgetMs = 10_000) =>
  removeTree(path, { under: dir, budgetMs, clock, windows: false })

const put = (path: string, text = 'x') => {
  mkdirSync(join(dir, path, '..'), { recursive: true })
  writeFileSync(join(dir, path), text)
}

test('a path that is not below the given directory is refused, also through a link and by a like prefix', async () => {
  put('root/a/file')
  put('root-2/file')
  symlinkSync(join(dir, 'root-2'), join(dir, 'root', 'away'))
  const under = join(dir, 'root')
  const limits = { under, budgetMs: 1000, clock, windows: false }
  await expect(removeTree(join(dir, 'root-2'), limits)).rejects.toThrow('not below')
  await expect(removeTree(join(dir, 'root', '..', 'root-2'), limits)).rejects.toThrow('not below')
  await expect(removeTree(join(under, 'away', 'file'), limits)).rejects.toThrow('not below')
  await expect(removeTree(under, limits)).rejects.toThrow('not below')
  expect(readFileSync(join(dir, 'root-2/file'), 'utf8')).toBe('x')
  expect(isBelow('/a/feat-2', '/a/feat')).toBe(false)
  expect(isBelow('/a/feat/x', '/a/feat')).toBe(true)
})

test('links to files and folders are removed, what they point at keeps content and mode', async () => {
  put('outside/deep/file', 'precious')
  chmodSync(join(dir, 'outside/deep'), 0o500)
  put('tree/own')
  symlinkSync(join(dir, 'outside'), join(dir, 'tree/folder'))
  symlinkSync(join(dir, 'outside/deep/file'), join(dir, 'tree/file'))
  symlinkSync('/nonexistent/x', join(dir, 'tree/dangling'))
  symlinkSync('.', join(dir, 'tree/loop'))
  linkSync(join(dir, 'outside/deep/file'), join(dir, 'tree/hard'))
  expect(await remove(join(dir, 'tree'))).toEqual({ is: 'gone', removed: 7 })
  expect(existsSync(join(dir, 'tree'))).toBe(false)
  expect(readFileSync(join(dir, 'outside/deep/file'), 'utf8')).toBe('precious')
  expect(lstatSync(join(dir, 'outside/deep')).mode & 0o777).toBe(0o500)
  chmodSync(join(dir, 'outside/deep'), 0o700)
})

test('names that are no UTF-8 are deleted like any other', async () => {
  put('tree/plain')
  const raw = (name: string) => Buffer.concat([Buffer.from(`${dir}/tree/`), Buffer.from(name, 'latin1')])
  try {
    mkdirSync(raw('caf\xe9'))
  } catch {
    return // a file system that takes UTF-8 alone
  }
  writeFileSync(raw('caf\xe9/\xff\n.txt'), 'x')
  symlinkSync('/nonexistent/x', raw('l\xefnk'))
  expect(await remove(join(dir, 'tree'), 1_000)).toEqual({ is: 'gone', removed: 5 })
})

test('a path that is a link itself is unlinked', async () => {
  put('outside/file')
  symlinkSync(join(dir, 'outside'), join(dir, 'link'))
  expect(await remove(join(dir, 'link'))).toEqual({ is: 'gone', removed: 1 })
  expect(existsSync(join(dir, 'outside/file'))).toBe(true)
})

test('a missing path is gone', async () => {
  expect(await remove(join(dir, 'none'))).toEqual({ is: 'gone', removed: 0 })
  expect(await remove(join(dir, 'none/deeper'))).toEqual({ is: 'gone', removed: 0 })
})

const root = process.getuid?.() === 0

test.runIf(root)('an ordinary person removes folders that are read-only or closed', () => {
  put('tree/mod/pkg/file')
  chmodSync(join(dir, 'tree/mod/pkg/file'), 0o444)
  chmodSync(join(dir, 'tree/mod/pkg'), 0o555)
  mkdirSync(join(dir, 'tree/closed/inner'), { recursive: true })
  chmodSync(join(dir, 'tree/closed'), 0o000)
  execFileSync('chown', ['-R', '65534:65534', dir])
  const script = `import { removeTree } from ${JSON.stringify(builtWalker())}
    const done = await removeTree(${JSON.stringify(join(dir, 'tree'))}, { under: ${JSON.stringify(dir)},
      budgetMs: 5000, clock: () => performance.now(), windows: false })
    process.stdout.write(JSON.stringify(done))`
  const done = spawnSync(
    'setpriv',
    ['--reuid=65534', '--clear-groups', process.execPath, '--input-type=module', '-e', script],
    { encoding: 'utf8', env: { PATH: process.env['PATH'] ?? '' } },
  )
  expect(done.stderr).toBe('')
  expect(JSON.parse(done.stdout)).toEqual({ is: 'gone', removed: 6 })
})

/** The walker and what it imports, without their types, where another user may read them. */
function builtWalker(): string {
  return built(fileURLToPath(new URL('../../src/workspace/walker.ts', import.meta.url)))
}

function built(source: string): string {
  const file = join(dir, `${basename(source, '.ts')}.mjs`)
  const { outputText } = ts.transpileModule(readFileSync(source, 'utf8'), {
    compilerOptions: { module: ts.ModuleKind.ESNext, target: ts.ScriptTarget.ES2022 },
  })
  const linked = outputText.replace(/ from '(\.[^']+\.ts)'/g, (_, path: string) => {
    const other = built(resolve(dirname(source), path))
    return ` from './${basename(other)}'`
  })
  writeFileSync(file, linked, { mode: 0o644 })
  return file
}

test.runIf(root && mayMount())(
  'a mount point, of another device or of the same, is left and named',
  async () => {
    put('tree/plain')
    put('elsewhere/precious', 'keep')
    mkdirSync(join(dir, 'tree/bind'))
    mkdirSync(join(dir, 'tree/other'))
    execFileSync('mount', ['--bind', join(dir, 'elsewhere'), join(dir, 'tree/bind')])
    execFileSync('mount', ['-t', 'tmpfs', 'tmpfs', join(dir, 'tree/other')])
    try {
      const done = await remove(join(dir, 'tree'))
      expect(done).toEqual({
        is: 'left',
        removed: 1,
        count: 2,
        left: expect.arrayContaining([
          { path: join(dir, 'tree/bind'), reason: 'it is a mount point' },
          { path: join(dir, 'tree/other'), reason: 'it is on another device' },
        ]),
      })
    } finally {
      execFileSync('umount', [join(dir, 'tree/bind')])
      execFileSync('umount', [join(dir, 'tree/other')])
    }
    expect(readFileSync(join(dir, 'elsewhere/precious'), 'utf8')).toBe('keep')
    expect(await remove(join(dir, 'tree'))).toEqual({ is: 'gone', removed: 3 })
  },
)

test.runIf(root && mayMarkImmutable())('an immutable file is left and named, all else is gone', async () => {
  put('tree/a/fixed')
  put('tree/a/plain')
  put('tree/b/plain')
  execFileSync('chattr', ['+i', join(dir, 'tree/a/fixed')])
  try {
    expect(await remove(join(dir, 'tree'), 300)).toEqual({
      is: 'left',
      removed: 3,
      count: 1,
      left: [
        { path: join(dir, 'tree/a/fixed'), reason: 'it may not be changed, as if marked immutable (EPERM)' },
      ],
    })
  } finally {
    execFileSync('chattr', ['-i', join(dir, 'tree/a/fixed')])
  }
  expect(await remove(join(dir, 'tree'))).toMatchObject({ is: 'gone' })
})

test('when the budget is spent, what stands still is named', async () => {
  put('tree/a/b/file')
  expect(await removeTree(join(dir, 'tree'), { under: dir, budgetMs: -1, clock, windows: false })).toEqual({
    is: 'left',
    removed: 0,
    count: 1,
    left: [{ path: join(dir, 'tree'), reason: 'out of time' }],
  })
  expect(existsSync(join(dir, 'tree/a/b/file'))).toBe(true)
})

function mayMount(): boolean {
  const at = mkdtempSync(join(tmpdir(), 'berth-mount-'))
  const done = spawnSync('mount', ['-t', 'tmpfs', 'tmpfs', at])
  if (done.status === 0) execFileSync('umount', [at])
  rmSync(at, { recursive: true, force: true })
  return done.status === 0
}

function mayMarkImmutable(): boolean {
  const at = mkdtempSync(join(tmpdir(), 'berth-immutable-'))
  writeFileSync(join(at, 'f'), '')
  const done = spawnSync('chattr', ['+i', join(at, 'f')])
  if (done.status === 0) execFileSync('chattr', ['-i', join(at, 'f')])
  rmSync(at, { recursive: true, force: true })
  return done.status === 0
}
