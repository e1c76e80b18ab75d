// What a refusal must be: one error, whole, in words and as JSON, and nothing half-made left by it.

import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import { type ErrorCode, exitCodeOf } from '../../../src/core/errors.ts'
import { makeWorld, type Options, processesIn, until, type World } from '../../fixtures/berth.ts'

export type Refusal = { error: ErrorCode; message: string; hint?: string }

/** A world whose temporary folder is its own, so that what is left in it can be seen. */
export const watchedWorld = (): World => makeWorld()

/** Expects exactly this error from a call: in words on stderr, and with --json as one document on stdout. */
export async function expectRefusal(
  world: World,
  args: string[],
  { error, message, hint }: Refusal,
  options: Options = {},
): Promise<void> {
  const said = `berth: ${message}\n${hint === undefined ? '' : `hint: ${hint}\n`}`
  expect(await world.berth(args, options)).toEqual({ code: exitCodeOf(error), out: '', err: said })
  const asked = await world.berth([args[0]!, '--json', ...args.slice(1)], options)
  expect(asked).toMatchObject({ code: exitCodeOf(error), err: '' })
  expect(asked.out.trimEnd().split('\n')).toHaveLength(1)
  const document = { berth: 1, error: { code: error, message, ...(hint !== undefined && { hint }) } }
  // A hint that is the call put right says '--json' as the call did.
  expect(JSON.parse(asked.out.replace(' --json', ''))).toEqual(document)
}

/** Of the repository's git, its folder, the temporary folder, the processes, and, if given, the state directory. */
export async function expectNothingMade(world: World, repo: string, state?: string): Promise<void> {
  expect(registered(world, repo)).toHaveLength(1)
  expect(world.git(repo, 'for-each-ref', '--format=%(refname)').trim()).toBe('refs/heads/main')
  expect(existsSync(`${repo}.berths`)).toBe(false)
  expect(readdirSync(join(world.dir, 'tmp'))).toEqual([])
  await until('its processes to end', () => processesIn(world.dir).length === 0)
  if (state === undefined) return
  const { tasks } = await world.json<{ tasks: unknown[] }>(['ls', '--all', '--repo', repo], {
    env: { BERTH_STATE_DIR: state },
  })
  expect(tasks).toEqual([])
  for (const folder of [state, join(state, 'private')].filter(existsSync))
    expect(readdirSync(folder).filter(name => name.endsWith('.tmp'))).toEqual([])
  for (const folder of ['runs', 'homes', 'private/briefs'])
    expect(existsSync(join(state, folder)) ? readdirSync(join(state, folder)) : []).toEqual([])
}

/** The worktrees that git knows. */
export const registered = (world: World, repo: string): string[] =>
  world
    .git(repo, 'worktree', 'list', '--porcelain')
    .split('\n')
    .filter(line => line.startsWith('worktree '))
    .map(line => line.slice('worktree '.length))

/** Whether this test may mount file systems; where it may not, it says how many tests are skipped for that. */
export const mayMount = process.platform === 'linux' && process.getuid?.() === 0
