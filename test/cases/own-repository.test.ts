// Real input: the fleet works on a clone of the repository that this test belongs to.

import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync, realpathSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { makeWorld, type World } from '../fixtures/berth.ts'

const checkout = join(dirname(fileURLToPath(import.meta.url)), '../..')
const modules = realpathSync(join(checkout, 'node_modules'))

/** Every relative import of the sources leads to a file. */
const imports = `import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
const files = readdirSync('src', { recursive: true }).filter(name => name.endsWith('.ts'))
const lost = files.flatMap(name => {
  const at = join('src', name)
  const wanted = [...readFileSync(at, 'utf8').matchAll(/^(?:import|export) .*from '([.][^']+)'/gm)]
  return wanted.map(found => join(dirname(at), found[1])).filter(path => !existsSync(path)).map(path => at + ' wants ' + path)
})
for (const line of lost) console.error(line)
process.exit(lost.length > 0 || files.length === 0 ? 1 : 0)
`

/** Like `npm test`, but quick: the sources parse and find each other, and so do the scripts. */
const gates = [
  'node node_modules/oxlint/bin/oxlint --quiet src/core',
  'node scripts/imports.mjs',
  'for script in scripts/*.mjs; do node --check "$script" || exit 1; done',
]

const tasks = `## docs: say where the fleet works
command: printf '\\nThe fleet worked here.\\n' >> README.md; git commit -qam 'docs: one line more'

Add a line to the README.

## core: a function more
after: docs
command: printf '\\nexport const fleetSize = (tasks: readonly string[]): number => tasks.length\\n' >> src/core/names.ts

Add a function to the core.

## script: a script more
after: core
command: printf '// Says hello.\\nprocess.stdout.write("hello")\\n' > scripts/hello.mjs; git add .; git commit -qm 'scripts: hello'

Add a script.
`

test('three tasks on a clone of this repository land one after another, and it is green after each', async () => {
  const world = makeWorld()
  const repo = cloned(world)
  const start = world.git(repo, 'rev-parse', 'main').trim()
  const file = world.write(join(world.dir, 'tasks.md'), tasks)
  const ran = await world.berth(['run', '-f', file, '--land', 'auto', '--trust', '--repo', repo])
  expect(ran).toMatchObject({ code: 0 })

  const steps = world
    .git(repo, 'rev-list', '--first-parent', '--reverse', `${start}..main`)
    .trim()
    .split('\n')
  expect(steps).toHaveLength(3)
  expect(
    world
      .git(
        repo,
        'log',
        '--first-parent',
        '--reverse',
        '--format=%(trailers:key=Berth-Task,valueonly,separator=)',
        `${start}..main`,
      )
      .trim()
      .split('\n'),
  ).toEqual(['docs', 'core', 'script'])
  for (const commit of steps) expect(gatesOn(world, repo, commit)).toBe('green')
  expect(existsSync(join(repo, 'scripts/hello.mjs'))).toBe(true)
  expect(readFileSync(join(repo, 'src/core/names.ts'), 'utf8')).toContain('fleetSize')
  expect(world.git(repo, 'status', '--porcelain')).toBe('')
  expect(world.git(repo, 'for-each-ref', '--format=%(refname)', 'refs/heads').trim()).toBe('refs/heads/main')
}, 180_000)

test('work that breaks the sources of this repository does not land', async () => {
  const world = makeWorld()
  const repo = cloned(world)
  const start = world.git(repo, 'rev-parse', 'main')
  const bad = `printf "export * from './gone.ts'\\\\n" >> src/core/names.ts; git commit -qam wrong`
  const ran = await world.berth([
    'run',
    '--name',
    'wrong',
    '--command',
    bad,
    '--land',
    'auto',
    '--trust',
    '--repo',
    repo,
    'break it',
  ])
  expect(ran.code).toBe(1)
  expect(world.git(repo, 'rev-parse', 'main')).toBe(start)
  expect(await world.task(repo, 'wrong')).toMatchObject({ status: 'failed' })
  expect(JSON.stringify(await world.items(repo))).toContain('src/core/names.ts wants src/core/gone.ts')
}, 180_000)

/** A clone on `main`, without a remote: what is fetched would be the checkout of whoever runs the test. */
function cloned(world: World): string {
  const repo = join(world.dir, 'berth')
  world.git(world.dir, 'clone', '-q', '--no-hardlinks', checkout, repo)
  world.git(repo, 'switch', '-q', '-C', 'main')
  world.git(repo, 'remote', 'remove', 'origin')
  const lines = ['target = "main"', '[[setup]]', `run = "ln -s '${modules}' node_modules"`]
  for (const run of gates) lines.push('[[gates]]', `run = ${JSON.stringify(run)}`)
  world.write(join(repo, 'berth.toml'), `${lines.join('\n')}\n`)
  world.write(join(repo, 'scripts/imports.mjs'), imports)
  world.write(join(repo, '.git/info/exclude'), 'node_modules\n')
  world.git(repo, 'add', '-A')
  world.git(repo, 'commit', '-qm', 'the fleet and its gates')
  return repo
}

/** Checks a commit out afresh and runs the gates there: by hand, without Berth. */
function gatesOn(world: World, repo: string, commit: string): string {
  const at = join(world.dir, `check-${commit.slice(0, 8)}`)
  world.git(repo, 'worktree', 'add', '-q', '--detach', at, commit)
  const sh = (line: string) =>
    execFileSync('sh', ['-c', line], {
      cwd: at,
      env: { ...world.env, TMPDIR: world.dir },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
  sh(`ln -s '${modules}' node_modules`)
  for (const line of gates) sh(line)
  world.git(repo, 'worktree', 'remove', '--force', at)
  return 'green'
}
