// Whatever a program prints, reading it never throws, and what is remembered can be kept.

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { engineFor, engines } from '../../src/engines/index.ts'
import { type Engine, type ReadState } from '../../src/engines/engine.ts'
import { now, type Line } from './replay.ts'

const recordings = join(import.meta.dirname, '../fixtures/recorded')

const recorded: Line[] = ['claude', 'codex', 'gemini', 'opencode'].flatMap(engine =>
  readdirSync(join(recordings, engine)).flatMap(file =>
    readFileSync(join(recordings, engine, file), 'utf8')
      .trimEnd()
      .split('\n')
      .slice(1)
      .map(line => JSON.parse(line) as Line),
  ),
)

/** A recorded line of any program with one of its values replaced by anything. */
const damaged = fc
  .tuple(fc.constantFrom(...recorded), fc.nat(), fc.jsonValue())
  .map(([{ stream, line }, at, value]): Line => ({ stream, line: replaceOne(line, at, value) }))

const garbage = fc.record({
  stream: fc.constantFrom('out' as const, 'err' as const),
  line: fc.oneof(fc.string({ unit: 'binary' }), fc.json()),
})

const codes = fc.oneof(fc.constant(null), fc.nat(255))

const all: [string, Engine][] = [
  ...Object.entries(engines),
  ['command as claude', engineFor({ type: 'command', reads: 'claude' })],
]

describe('nothing that is printed can break the reader of', () => {
  for (const [name, engine] of all) {
    test(name, () => {
      fc.assert(
        fc.property(fc.array(fc.oneof(damaged, garbage), { maxLength: 20 }), codes, (lines, code) => {
          let state: ReadState = {}
          for (const { stream, line } of lines) state = engine.read(state, line, stream, now).state
          const kept = JSON.parse(JSON.stringify(state)) as ReadState
          const stderr = lines.filter(({ stream }) => stream === 'err').map(({ line }) => line)
          const end = engine.conclude({ code, signal: null, stderr, state: kept, now })
          expect(end.is).toMatch(/^(ended|failed|limited|signed-out|cut-off)$/)
          if (code !== 0) expect(end.is).not.toBe('ended')
        }),
        { numRuns: 300 },
      )
    })
  }
})

function replaceOne(line: string, at: number, value: unknown): string {
  let count = 0
  try {
    const whole: unknown = JSON.parse(line)
    const places: number[] = []
    JSON.stringify(whole, (_, inner: unknown) => (places.push(count++), inner))
    count = 0
    const chosen = at % places.length
    return JSON.stringify(whole, (_, inner: unknown) => (count++ === chosen ? value : inner)) ?? line
  } catch {
    return line.slice(0, at % (line.length + 1))
  }
}
