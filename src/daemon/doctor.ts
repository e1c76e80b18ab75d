// What this machine offers: git, engines, process tier, optional natives, storage. Looks, changes nothing.

import { createRequire } from 'node:module'
import { existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { BerthError } from '../core/errors.ts'
import { size } from '../core/quantity.ts'
import { engines } from '../engines/index.ts'
import { type Engine } from '../engines/engine.ts'
import { git, gitEnvironment, reasonOf } from '../git/git.ts'
import { atLeast, oldestGit } from '../git/open.ts'
import { run } from '../platform/exec.ts'
import { platform } from '../platform/platform.ts'
import { openState, requireWritable } from '../store/state.ts'
import { stateDirOf, statePaths } from '../store/paths.ts'
import { findToolHomes } from '../workspace/home.ts'
import { userConfigFile } from './configure.ts'

/** `problem`: Berth cannot work so. `note`: it can, with less. */
export type Check = { check: string; state: 'ok' | 'note' | 'problem'; text: string; hint?: string }

type Environment = { [name: string]: string | undefined }

const probeMs = 15_000

/** Every check, in the order of a person's interest. */
export async function examine(env: Environment, { cwd }: { cwd: string }): Promise<Check[]> {
  const agents = Object.values(engines).filter(engine => engine.program !== '')
  const [gitCheck, found, homes] = await Promise.all([
    checkGit(env, cwd),
    Promise.all(agents.map(engine => checkEngine(engine, env))),
    checkHomes(env),
  ])
  const none = found.every(check => check.state !== 'ok')
  const hint = {
    check: 'engines',
    state: 'note',
    text: 'no agent is installed; any program works with --command',
  } as const
  return [gitCheck, ...found, ...(none ? [hint] : []), ...checkNatives(), ...checkState(env), ...homes]
}

async function checkGit(env: Environment, cwd: string): Promise<Check> {
  const hooksDir = statePaths(stateDirOf(env, platform)).emptyHooks
  const result = await git({ dir: cwd, commonDir: cwd, env: gitEnvironment(env), hooksDir }, ['version'], {
    timeoutMs: probeMs,
  })
  const install =
    'install git (Ubuntu 22.04: sudo add-apt-repository ppa:git-core/ppa && sudo apt install git)'
  if (result.code !== 0) return { check: 'git', state: 'problem', text: reasonOf(result), hint: install }
  const version = /\d+\.\d+(\.\d+)?/.exec(result.out.toString('utf8'))?.[0] ?? '0.0'
  if (!atLeast(version, oldestGit)) {
    return { check: 'git', state: 'problem', text: `${version}, and ${oldestGit} is needed`, hint: install }
  }
  if (atLeast(version, '2.40')) return { check: 'git', state: 'ok', text: version }
  return { check: 'git', state: 'ok', text: `${version}; with 2.40 forecasts can name a merge base` }
}

async function checkEngine(engine: Engine, env: Environment): Promise<Check> {
  const options = { env: defined(env), timeoutMs: probeMs, maxBytes: 10_000 }
  const result = await run(engine.program, engine.versionArgs, options)
  const check = `engine ${engine.name}`
  if (result.missing) return { check, state: 'note', text: 'not installed', hint: engine.install }
  const version = result.out.toString('utf8').trim().split('\n')[0] ?? ''
  if (result.code === 0) return { check, state: 'ok', text: version || 'installed' }
  const reason = result.timedOut ? 'it did not answer in time' : `exit code ${result.code ?? result.signal}`
  return {
    check,
    state: 'note',
    text: `'${engine.program}' is there and does not work: ${reason}`,
    hint: engine.install,
  }
}

const defined = (env: Environment): { [name: string]: string } =>
  Object.fromEntries(
    Object.entries(env).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  )

/** How processes are held together, and what of the optional natives loads. */
function checkNatives(): Check[] {
  const koffi = resolved('koffi')
  const held = platform.contain({ job: platform.jobName('doctor', 'doctor'), koffi })
  const tier: Check =
    held.is === 'none'
      ? {
          check: 'processes',
          state: 'note',
          text: `found by group, session, marker and place; not by kinship: ${held.reason ?? 'no subreaper'}`,
        }
      : {
          check: 'processes',
          state: 'ok',
          text: `held by a ${held.is === 'job' ? 'job object' : held.is}; found by group, session, marker and place`,
        }
  const proc: Check = existsSync('/proc/self/stat')
    ? { check: 'proc', state: 'ok', text: '/proc says start times, places and markers' }
    : { check: 'proc', state: 'note', text: 'no /proc: ps and lsof are asked, which takes longer' }
  return [
    tier,
    ...(platform.name === 'windows' ? [] : [proc]),
    native('koffi', 'no subreaper or job object'),
    native('@lydell/node-pty', 'no `pty = true`'),
  ]
}

function native(name: string, without: string): Check {
  const found = resolved(name)
  if (!found)
    return { check: name, state: 'note', text: `not installed: ${without}`, hint: `npm install ${name}` }
  try {
    createRequire(import.meta.url)(name)
    return { check: name, state: 'ok', text: 'loads' }
  } catch (error) {
    return {
      check: name,
      state: 'note',
      text: `does not load: ${(error as Error).message.split('\n')[0]}; ${without}`,
    }
  }
}

function resolved(name: string): string | undefined {
  try {
    return createRequire(import.meta.url).resolve(name)
  } catch {
    return undefined
  }
}

const diskMin = 2_000_000_000

function checkState(env: Environment): Check[] {
  const dir = stateDirOf(env, platform)
  const checks: Check[] = [checkPlace(dir)]
  const free = platform.freeBytes(existing(dir))
  const enough = free >= diskMin
  checks.push({
    check: 'disk',
    state: enough ? 'ok' : 'problem',
    text: `${size(free)} free beside '${dir}'`,
    ...(!enough && { hint: `nothing starts below ${size(diskMin)}` }),
  })
  try {
    checks.push({ check: 'sockets', state: 'ok', text: `'${platform.runtimeDir(env)}'` })
  } catch (error) {
    checks.push({ check: 'sockets', state: 'problem', text: (error as Error).message })
  }
  const file = userConfigFile(env)
  return [
    ...checks,
    { check: 'config', state: 'ok', text: `'${file}'${existsSync(file) ? '' : ', which is not there'}` },
  ]
}

function checkPlace(dir: string): Check {
  const isNetworkFileSystem = (path: string) => platform.isNetworkFileSystem(path)
  try {
    requireWritable(dir)
    const { id } = openState(dir, { readOnly: true, isNetworkFileSystem })
    return { check: 'state', state: 'ok', text: `'${dir}', schema ${id.schema}` }
  } catch (error) {
    if (!(error instanceof BerthError)) throw error
    const { code, message, hint } = error
    if (code === 'not-found') return { check: 'state', state: 'ok', text: `'${dir}', not made yet` }
    return { check: 'state', state: 'problem', text: message, ...(hint && { hint }) }
  }
}

function existing(dir: string): string {
  for (let folder = dir; ; folder = join(folder, '..'))
    if (existsSync(folder) || folder === join(folder, '..')) return folder
}

/** Docs/decisions/0012: what agents share with the person in spite of a home of their own. */
async function checkHomes(env: Environment): Promise<Check[]> {
  const homes = await findToolHomes(env, env['HOME'] ?? env['USERPROFILE'] ?? platform.accountHome())
  const names = Object.keys(homes).sort()
  const shared: Check = {
    check: 'tool homes',
    state: 'ok',
    text: names.length > 0 ? `shared with agents: ${names.join(' ')}` : 'none is shared',
  }
  const ssh: Check = {
    check: 'ssh',
    state: 'note',
    text: "ssh keys are not isolated: ssh looks in the account's own folder, whatever HOME says",
  }
  return [shared, ssh]
}

/** Agents on the PATH, for `berth init`: nothing is run. */
export function installedEngines(env: Environment): string[] {
  const folders = (env['PATH'] ?? env['Path'] ?? '').split(delimiter).filter(Boolean)
  const ends = platform.name === 'windows' ? ['.exe', '.cmd', ''] : ['']
  return Object.values(engines)
    .filter(
      ({ program }) =>
        program !== '' && folders.some(folder => ends.some(end => existsSync(join(folder, program + end)))),
    )
    .map(engine => engine.name)
}
