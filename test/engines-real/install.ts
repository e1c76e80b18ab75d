// The real agent programs, installed on demand from the npm registry into a cache outside the repository.
// They are test fixtures, never dependencies. The only place that names their versions.

import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'

export type RealEngine = 'claude' | 'codex' | 'gemini' | 'opencode'

export const packages: { [name in RealEngine]: { name: string; version: string } } = {
  claude: { name: '@anthropic-ai/claude-code', version: '2.1.197' },
  codex: { name: '@openai/codex', version: '0.171.0' },
  gemini: { name: '@google/gemini-cli', version: '0.61.0' },
  opencode: { name: 'opencode-ai', version: '1.18.33' },
}

export const realEngines = Object.keys(packages) as RealEngine[]

/** The folder that holds the program of `engine`, installed now if it is not there: to be put on PATH. */
export async function installed(engine: RealEngine): Promise<string> {
  const { name, version } = packages[engine]
  const place = join(cache(), 'engines', `${engine}-${version}`)
  const bin = join(place, 'node_modules', '.bin')
  if (exists(join(bin, engine))) return bin

  mkdirSync(dirname(place), { recursive: true })
  const fresh = mkdtempSync(`${place}.`)
  try {
    writeFileSync(join(fresh, 'package.json'), '{ "private": true }\n')
    await npmInstall(fresh, `${name}@${version}`)
    rmSync(place, { recursive: true, force: true })
    renameSync(fresh, place)
  } catch (error) {
    // Another test process may have been quicker.
    if (!exists(join(bin, engine))) throw error
  } finally {
    rmSync(fresh, { recursive: true, force: true })
  }
  return bin
}

/** Eight minutes at most: some of these packages are hundreds of megabytes. */
const installMs = 480_000

const npmInstall = (cwd: string, spec: string) =>
  promisify(execFile)('npm', ['install', '--no-audit', '--no-fund', '--loglevel=error', spec], {
    cwd,
    timeout: installMs,
    shell: process.platform === 'win32',
  })

const cache = (): string => process.env['BERTH_TEST_CACHE'] ?? join(tmpdir(), 'berth-test-cache')

function exists(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false }) !== undefined
}
