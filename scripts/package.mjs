// Checks the package as a person gets it: packed, installed from the tarball into an empty folder, started.
// Fails when it is too large, needs more than it says, or does not run on the oldest Node that it supports.
import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { root, run } from './tool.mjs'

const limitMb = 40
const oldestNode = '20.12.2'

const fail = what => {
  console.error(`package: ${what}`)
  process.exitCode = 1
}
if (run('knip/bin/knip.js', ['--no-progress']) !== 0) fail('knip found what nobody uses')
if (run('publint/src/cli.js', ['--strict']) !== 0) fail('publint found a mistake')

const scratch = mkdtempSync(join(tmpdir(), 'berth-package-'))
try {
  const npm = (args, cwd) =>
    execFileSync('npm', args, { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] })
  npm(['pack', '--silent', '--pack-destination', scratch], root)
  const tarball = readdirSync(scratch).find(name => name.endsWith('.tgz'))
  const place = join(scratch, 'place')
  mkdirSync(place)
  const cache = join(scratch, 'cache')
  const from = performance.now()
  npm(
    [
      'install',
      '--silent',
      '--no-audit',
      '--no-fund',
      '--prefix',
      place,
      '--cache',
      cache,
      join(scratch, tarball),
    ],
    place,
  )
  const seconds = (performance.now() - from) / 1000
  const mb = sizeOf(join(place, 'node_modules')) / 1e6
  console.log(
    `package: ${tarball} installs from a cold cache in ${seconds.toFixed(1)} s, ${mb.toFixed(1)} MB`,
  )
  if (mb > limitMb) fail(`${mb.toFixed(1)} MB installed, at most ${limitMb}`)

  const main = join(place, 'node_modules/berth/dist/main.cjs')
  for (const node of [process.execPath, oldest(npm)]) {
    const version = execFileSync(node, ['--version'], { encoding: 'utf8' }).trim()
    execFileSync(node, [main, '--version'], { stdio: 'ignore' })
    try {
      const out = execFileSync(node, [main, 'demo', '--json'], {
        cwd: scratch,
        stdio: ['ignore', 'pipe', 'pipe'],
        encoding: 'utf8',
        timeout: 180_000,
      })
      if (JSON.parse(out).broken.length > 0) fail(out)
      console.log(`package: the demo passes on node ${version}`)
    } catch (error) {
      fail(`the demo fails on node ${version}:\n${error.stdout}\n${error.stderr}`)
    }
  }
} finally {
  rmSync(scratch, { recursive: true, force: true })
}

/** The oldest supported Node, as the npm registry has it. */
function oldest(npm) {
  const name = `node-${process.platform === 'win32' ? 'win' : process.platform}-${process.arch}`
  const folder = join(scratch, 'node')
  mkdirSync(folder)
  npm(['pack', '--silent', `${name}@${oldestNode}`], folder)
  execFileSync('tar', ['-xzf', readdirSync(folder)[0]], { cwd: folder })
  // Its parent is named like an installation, so that nothing of this Node's is found beside it.
  cpSync(join(folder, 'package'), join(scratch, 'oldest'), { recursive: true })
  return join(scratch, 'oldest/bin', process.platform === 'win32' ? 'node.exe' : 'node')
}

function sizeOf(folder) {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile())
    .reduce((sum, entry) => sum + statSync(join(entry.parentPath ?? entry.path, entry.name)).size, 0)
}
