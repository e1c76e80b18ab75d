// A state folder for one test, runs started in it, and their end.

import { randomUUID } from 'node:crypto'
import { mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, onTestFinished } from 'vitest'
import { platform } from '../../src/platform/platform.ts'
import { type RunSpec, type Started, endSpares, startSupervisor } from '../../src/process/spawn.ts'
import { type ExitRecord, readExit, readSpawn } from '../../src/process/record.ts'

export const supervisorFile = join(dirname(fileURLToPath(import.meta.url)), '../../dist/supervisor.cjs')
export const node = process.execPath

export type Place = ReturnType<typeof makePlace>

/** Everything started here is ended, and everything written here removed, when the test is over. */
export function makePlace() {
  const dir = realpathSync(mkdtempSync(join(tmpdir(), 'berth-process-')))
  const runtime = platform.runtimeDir({})
  const stateId = randomUUID()
  const runs: string[] = []
  onTestFinished(async () => {
    endSpares()
    for (const run of runs) {
      const spawn = readSpawn(join(dir, run))
      const supervisors = spawn.is === 'spawned' ? [spawn.supervisor] : []
      await platform.endTree(
        { marker: `${stateId}:${run}`, leaders: supervisors, under: supervisors },
        { graceMs: 0, limitMs: 10_000 },
      )
    }
    rmSync(dir, { recursive: true, force: true })
    rmSync(dirname(platform.socketPath(runtime, stateId, 'daemon')), { recursive: true, force: true })
  })

  function specOf(file: string, args: string[], more: Partial<RunSpec> = {}): RunSpec {
    const run = randomUUID()
    runs.push(run)
    return {
      stateId,
      run,
      task: 'task',
      project: 'project',
      runDir: join(dir, run),
      socket: platform.socketPath(runtime, stateId, run),
      file,
      args,
      cwd: dir,
      stdin: { is: 'none' },
      secrets: [],
      headBytes: 1_000_000,
      tailBytes: 1_000_000,
      graceMs: 300,
      ...more,
      env: { PATH: process.env['PATH'] ?? '', HOME: dir, BERTH_RUN: `${stateId}:${run}`, ...more.env },
    }
  }

  const start = async (spec: RunSpec): Promise<Started> => startSupervisor(spec, { supervisorFile })

  /** Starts, and waits for the exit record. */
  async function toEnd(spec: RunSpec): Promise<ExitRecord> {
    const started = await start(spec)
    if (started.is !== 'started') throw new Error(started.reason)
    return until(() => readExit(spec.runDir))
  }

  return { dir, stateId, specOf, start, toEnd }
}

/** Waits for a value, at most 20 s. */
export async function until<T>(look: () => T | undefined | false, limitMs = 20_000): Promise<T> {
  const begun = performance.now()
  for (;;) {
    const value = look()
    if (value !== undefined && value !== false) return value
    if (performance.now() - begun > limitMs) throw new Error('it did not come to be')
    await new Promise(resolve => setTimeout(resolve, 5))
  }
}

afterEach(() => endSpares())
