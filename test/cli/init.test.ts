// `berth init`: what it finds and proposes, that what it writes is accepted, and that it never overwrites.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { parse } from 'smol-toml'
import { checkSettings } from '../../src/core/settings.ts'
import { makeWorld } from '../fixtures/berth.ts'

const kinds: [string, { [path: string]: string }, object][] = [
  [
    'node',
    { 'package.json': '{"scripts": {"test": "vitest", "lint": "x", "build": "y"}}', 'pnpm-lock.yaml': '' },
    { setup: ['pnpm install --frozen-lockfile'], gates: ['pnpm run lint', 'pnpm run test'] },
  ],
  ['rust', { 'Cargo.toml': '' }, { setup: ['cargo fetch'], gates: ['cargo test'] }],
  ['go', { 'go.mod': '' }, { setup: ['go mod download'], gates: ['go vet ./...', 'go test ./...'] }],
  [
    'python',
    { 'pyproject.toml': '[tool.pytest]', 'uv.lock': '' },
    { setup: ['uv sync'], gates: ['uv run pytest'] },
  ],
  ['make', { Makefile: 'CC := cc\ntest: all\n\ttrue\n' }, { gates: ['make test'] }],
  ['nothing', { 'a.txt': '' }, {}],
]

test.each(kinds)(
  'for %s it proposes setup and gates in a file that is accepted',
  async (_, files, proposed) => {
    const world = makeWorld()
    const repo = world.repository('repo', files)
    expect(await world.berth(['init'], { cwd: repo })).toMatchObject({
      code: 0,
      out: `wrote '${repo}/berth.toml'\n`,
    })
    const text = readFileSync(join(repo, 'berth.toml'), 'utf8')
    expect(checkSettings(parse(text), text, 'repository')).toEqual({
      is: 'settings',
      settings: { target: 'main', land: 'ask', ...proposed },
    })
    // What stands there as a comment is right as well.
    const whole = text.replaceAll(/^# (?=[\w[]+ = |\[)/gm, '')
    expect(checkSettings(parse(whole), whole, 'repository')).toMatchObject({ is: 'settings' })
    expect(await world.berth(['init'], { cwd: repo })).toMatchObject({ code: 5 })
    expect(readFileSync(join(repo, 'berth.toml'), 'utf8')).toBe(text)
    expect(await world.berth(['config', '--repo', repo])).toMatchObject({ code: 0 })
  },
)
