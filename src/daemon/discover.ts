// What a repository and this machine suggest for a first configuration: target, engines, setup, gates, copies.

import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { BerthError } from '../core/errors.ts'
import { type Repository } from '../git/open.ts'
import { findTarget } from '../git/target.ts'
import { installedEngines } from './doctor.ts'

export type Discovered = {
  target: { branch: string; rule: string }
  engines: string[]
  setup: string[]
  gates: string[]
  copies: string[]
  notices: string[]
}

/** `folder`: the checkout whose files are looked at. Runs nothing of the repository. */
export async function discover(
  repo: Repository,
  folder: string,
  env: { [name: string]: string | undefined },
): Promise<Discovered> {
  const target = await findTarget(repo, { target: null })
  if (target.is === 'missing') throw new BerthError('config', target.what, target.hint)
  const found = [node, cargo, go, python].flatMap(look => look(folder) ?? [])
  const made = make(folder)
  const gates = found.flatMap(one => one.gates)
  return {
    target: { branch: target.branch, rule: target.rule },
    engines: installedEngines(env),
    setup: found.flatMap(one => one.setup),
    gates: gates.length > 0 ? gates : made,
    copies: ['.env', '.env.local'].filter(name => existsSync(join(folder, name))),
    notices: target.notices,
  }
}

type Found = { setup: string[]; gates: string[] }

const lockFiles = [
  ['package-lock.json', 'npm ci', 'npm'],
  ['pnpm-lock.yaml', 'pnpm install --frozen-lockfile', 'pnpm'],
  ['yarn.lock', 'yarn install --immutable', 'yarn'],
  ['bun.lock', 'bun install --frozen-lockfile', 'bun'],
  ['bun.lockb', 'bun install --frozen-lockfile', 'bun'],
] as const

function node(folder: string): Found | undefined {
  const text = read(folder, 'package.json')
  if (text === undefined) return undefined
  const scripts = scriptsOf(text)
  const lock = lockFiles.find(([name]) => existsSync(join(folder, name)))
  const tool = lock?.[2] ?? 'npm'
  const gates = ['check', 'lint', 'typecheck', 'test'].filter(
    name => Object.hasOwn(scripts, name) && !/no test specified/.test(scripts[name] ?? ''),
  )
  // Without a lock file in the repository, none may appear in every task's changes.
  return {
    setup: [lock?.[1] ?? 'npm install --no-package-lock'],
    gates: gates.map(name => `${tool} run ${name}`),
  }
}

function scriptsOf(text: string): { [name: string]: string } {
  try {
    return (JSON.parse(text) as { scripts?: { [name: string]: string } }).scripts ?? {}
  } catch {
    return {}
  }
}

function cargo(folder: string): Found | undefined {
  return existsSync(join(folder, 'Cargo.toml'))
    ? { setup: ['cargo fetch'], gates: ['cargo test'] }
    : undefined
}

function go(folder: string): Found | undefined {
  if (!existsSync(join(folder, 'go.mod'))) return undefined
  return { setup: ['go mod download'], gates: ['go vet ./...', 'go test ./...'] }
}

function python(folder: string): Found | undefined {
  const text = read(folder, 'pyproject.toml')
  if (text === undefined) return undefined
  const tool = (['uv', 'poetry'] as const).find(name => existsSync(join(folder, `${name}.lock`)))
  const venv = 'python3 -m venv .venv && .venv/bin/pip install -e .'
  const setup = tool === undefined ? venv : { uv: 'uv sync', poetry: 'poetry install' }[tool]
  const runs = tool === undefined ? '.venv/bin/python -m pytest' : `${tool} run pytest`
  return { setup: [setup], gates: /\bpytest\b/.test(text) ? [runs] : [] }
}

/** Only where nothing better is known: the targets that a Makefile usually has. */
function make(folder: string): string[] {
  const text = read(folder, 'Makefile') ?? ''
  const goal = ['check', 'test'].find(name => new RegExp(`^${name}\\s*:(?!=)`, 'm').test(text))
  return goal === undefined ? [] : [`make ${goal}`]
}

function read(folder: string, name: string): string | undefined {
  try {
    return readFileSync(join(folder, name), 'utf8')
  } catch {
    return undefined
  }
}
