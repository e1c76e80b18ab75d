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
  if (!isInstalled(JSON.parse(wanted).packages))
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

/** Whether npm itself, called by the person, has put there what the lock file says: all that is needed here. */
function isInstalled(packages) {
  const own = join(root, 'node_modules/.package-lock.json')
  if (!existsSync(own)) return false
  const { packages: found } = JSON.parse(readFileSync(own, 'utf8'))
  const needed = new Set(
    [packages[''], ...Object.values(found)].flatMap(one =>
      Object.keys({ ...one.dependencies, ...one.optionalDependencies }),
    ),
  )
  const isThere = path =>
    found[path].version === packages[path].version &&
    found[path].integrity === packages[path].integrity &&
    existsSync(join(root, path, 'package.json'))
  const isSpare = path =>
    packages[path].optional === true &&
    (!fitsHere(packages[path]) || !needed.has(path.slice(path.lastIndexOf('node_modules/') + 13)))
  return (
    Object.keys(found).every(path => path in packages) &&
    Object.keys(packages).every(path => path === '' || (path in found ? isThere(path) : isSpare(path)))
  )
}

/** By npm's rule for `os`, `cpu` and `libc`: a list of what is meant, or of `!` and what is not. */
function fitsHere({ os, cpu, libc }) {
  const glibc = process.report.getReport().header.glibcVersionRuntime
  const ownLibc = process.platform === 'linux' ? (glibc ? 'glibc' : 'musl') : ''
  const fits = (list, own) =>
    list === undefined ||
    list.includes(own) ||
    (!list.includes(`!${own}`) && list.every(one => one.startsWith('!')))
  return fits(os, process.platform) && fits(cpu, process.arch) && fits(libc, ownLibc)
}
