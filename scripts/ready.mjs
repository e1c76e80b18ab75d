// Makes a checkout ready: installs what the lock file says if it is not installed, builds if a source is newer
// than the build. Both are skipped when there is nothing to do. `--build` always builds.
import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { root, run } from './tool.mjs'

const lock = join(root, 'package-lock.json')
const installed = join(root, 'node_modules/.berth-lock')
const built = join(root, 'dist/.built')

const newest = dir =>
  readdirSync(dir, { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile())
    .reduce(
      (latest, entry) => Math.max(latest, statSync(join(entry.parentPath ?? entry.path, entry.name)).mtimeMs),
      0,
    )

const wanted = readFileSync(lock, 'utf8')
if (!existsSync(installed) || readFileSync(installed, 'utf8') !== wanted) {
  execFileSync('npm', ['ci', '--no-audit', '--no-fund', '--loglevel=error'], {
    cwd: root,
    stdio: ['ignore', 2, 2],
    shell: process.platform === 'win32',
  })
  writeFileSync(installed, wanted)
}

const sources = Math.max(
  newest(join(root, 'src')),
  ...['tsdown.config.ts', 'package.json'].map(file => statSync(join(root, file)).mtimeMs),
)
if (process.argv.includes('--build') || !existsSync(built) || statSync(built).mtimeMs < sources) {
  // Built aside and moved into place: a build that is cut off leaves the one before it.
  const made = join(root, 'dist.new')
  rmSync(made, { recursive: true, force: true })
  const code = run('tsdown/dist/run.mjs', ['--log-level', 'error'])
  if (code !== 0) process.exit(code)
  writeFileSync(join(made, '.built'), '')
  rmSync(join(root, 'dist.old'), { recursive: true, force: true })
  if (existsSync(join(root, 'dist'))) renameSync(join(root, 'dist'), join(root, 'dist.old'))
  renameSync(made, join(root, 'dist'))
  rmSync(join(root, 'dist.old'), { recursive: true, force: true })
}
