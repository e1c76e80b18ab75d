// Scratch folders: gone when the work is done, and when the process that worked in them was killed.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { clearTempFolders, withTempFolder } from '../../src/git/temp.ts'
import { platform } from '../../src/platform/platform.ts'
import { until } from '../fixtures/berth.ts'

function scratch(): string {
  const dir = mkdtempSync(join(tmpdir(), 'berth-temp-'))
  vi.stubEnv('TMPDIR', dir)
  onTestFinished(() => {
    vi.unstubAllEnvs()
    rmSync(dir, { recursive: true, force: true })
  })
  return dir
}

test('the folder is gone after the work, also after a failure', async () => {
  const dir = scratch()
  const place = await withTempFolder(async folder => {
    writeFileSync(join(folder, 'index'), 'x')
    return folder
  })
  expect(existsSync(place)).toBe(false)
  await expect(withTempFolder(() => Promise.reject(new Error('no')))).rejects.toThrow('no')
  expect(readdirSync(dir)).toEqual([])
})

test('what a killed process left is cleared, and nothing else', async () => {
  const dir = scratch()
  const dead = spawn('sleep', ['300'])
  const start = platform.identity(dead.pid!)!
  const left = `berth-git-${dead.pid}-${start}-abcdef`
  const [, namespace] = start.split('.')
  const kept = [
    `berth-git-${dead.pid}-00000000.${namespace}.1-abcdef`,
    `berth-git-${process.pid}-${platform.identity(process.pid)}-abcdef`,
    'berth-git-mine',
    'berth-git-1-2-3',
  ]
  for (const name of [left, ...kept]) mkdirSync(join(dir, name, 'objects'), { recursive: true })
  await clearTempFolders()
  expect(readdirSync(dir).sort()).toEqual([left, ...kept].sort())
  dead.kill('SIGKILL')
  await once(dead, 'exit')
  await until('the process to be gone', () => platform.identity(dead.pid!) === undefined)
  await clearTempFolders()
  expect(readdirSync(dir).sort()).toEqual(kept.sort())
})
