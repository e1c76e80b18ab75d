// Records what the real agent programs say in each situation, for the table tests of their adapters.
// Runs only when asked: BERTH_RECORD=all (or `claude,codex`) node scripts/vitest.mjs run --project engines record

import { randomUUID } from 'node:crypto'
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { engines } from '../../src/engines/index.ts'
import { promptFor } from '../fixtures/model/script.ts'
import { startModel } from '../fixtures/model/server.ts'
import { drive, makePlace, type Driven } from './drive.ts'
import { installed, packages, realEngines, type RealEngine } from './install.ts'
import { models, pointedAt, scenarioNames, scripts, type Scenario } from './scenarios.ts'

const wanted = process.env['BERTH_RECORD'] ?? ''
const recorded = join(import.meta.dirname, '../fixtures/recorded')
const limitMs = 120_000

describe.skipIf(wanted === '')('recording', () => {
  for (const engine of realEngines.filter(name => wanted === 'all' || wanted.split(',').includes(name))) {
    for (const scenario of scenarioNames) {
      test(
        `${engine} is recorded in the situation '${scenario}'`,
        async () => {
          const bin = await installed(engine)
          const place = realpathSync(mkdtempSync(join(tmpdir(), 'berth-record-')))
          const model = await startModel()
          try {
            makePlace(place)
            const driven = await run(engine, scenario, { bin, place, url: model.url })
            expect(driven.timedOut).toBe(false)
            write(engine, scenario, driven, [
              [place, '/place'],
              [join(bin, '../..'), '/installed'],
              [new URL(model.url).host, '127.0.0.1:1'],
            ])
          } finally {
            await model.close()
            rmSync(place, { recursive: true, force: true, maxRetries: 5 })
          }
        },
        limitMs * 2,
      )
    }
  }
})

function run(engine: RealEngine, scenario: Scenario, at: { bin: string; place: string; url: string }) {
  const pointed = pointedAt(engine, at.url)
  return drive({
    engine: engines[engine],
    program: [engine, ...pointed.args],
    bin: [at.bin],
    place: at.place,
    prompt: promptFor('Do what the script says.', scripts[scenario]),
    env: pointed.env,
    model: models[engine],
    session: randomUUID(),
    permission: scenario === 'denied' ? 'ask' : 'auto',
    timeoutMs: limitMs,
  })
}

function write(engine: RealEngine, scenario: Scenario, driven: Driven, scrub: [string, string][]): void {
  const { code, signal, lines } = driven
  const head = { engine, version: packages[engine].version, scenario, code, signal }
  const scrubbed = [head, ...lines]
    .map(line => JSON.stringify(line))
    .map(line => scrub.reduce((text, [from, to]) => text.replaceAll(from, to), line))
  const file = join(recorded, engine, `${scenario}.jsonl`)
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, `${scrubbed.join('\n')}\n`)
}
