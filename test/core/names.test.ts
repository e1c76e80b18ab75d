// Names of tasks: one a title, none colliding on any disk (case 03).

import fc from 'fast-check'
import { execFileSync } from 'node:child_process'
import { expect, test } from 'vitest'
import {
  branchOf,
  folderOf,
  foldName,
  nameLimit,
  nameProblem,
  slugOf,
  uniqueName,
} from '../../src/core/names.ts'
import { titles } from '../fixtures/titles.ts'

/** Names as tasks get them, one after another. */
function namesOf(all: readonly string[]): string[] {
  const names: string[] = []
  for (const title of all) names.push(uniqueName(slugOf(title), names))
  return names
}

test('every title of case 03 gets a name of its own that is a folder and a branch everywhere', () => {
  const names = namesOf(titles)
  expect(new Set(names.map(name => foldName(folderOf(name)))).size).toBe(33)
  for (const name of names) {
    expect(nameProblem(name), name).toBe(undefined)
    expect(() =>
      execFileSync('git', ['check-ref-format', '--branch', branchOf('berth/', name)], { stdio: 'pipe' }),
    ).not.toThrow()
  }
})

test('names say what the titles say', () => {
  const wanted = {
    'Fix Login': 'fix-login',
    'Add a README, please!': 'add-a-readme-please',
    'Größe & Straße': 'grosse-strasse',
    "don't stop": 'dont-stop',
    'v1.2.3 release': 'v1.2.3-release',
    aux: 'task-aux',
    'CON.txt': 'task-con.txt',
    'x.lock': 'x-lock',
    'a..b': 'a.b',
    '../../escape': 'escape',
    日本語: 'task',
    '': 'task',
  }
  expect(Object.fromEntries(Object.keys(wanted).map(title => [title, slugOf(title)]))).toEqual(wanted)
})

test('a taken name gets the next number, and stays within the limit', () => {
  expect(uniqueName('login', [])).toBe('login')
  expect(uniqueName('login', ['LOGIN', 'login-2'])).toBe('login-3')
  const long = 'x'.repeat(nameLimit)
  expect(uniqueName(long, [long])).toBe(`${'x'.repeat(nameLimit - 2)}-2`)
})

test('any titles at all give different, valid names', () => {
  fc.assert(
    fc.property(fc.array(fc.string({ unit: 'binary', maxLength: 80 }), { maxLength: 12 }), all => {
      const names = namesOf(all)
      expect(new Set(names.map(foldName)).size).toBe(names.length)
      for (const name of names) expect(nameProblem(name), name).toBe(undefined)
    }),
    { numRuns: 1_000 },
  )
})

test('a name that a person chose is refused with the reason', () => {
  expect(nameProblem('login')).toBe(undefined)
  for (const name of [
    'Login',
    '-rf',
    '.hidden',
    'a b',
    'a/b',
    '',
    'a..b',
    'a.',
    'x.lock',
    'con',
    'nul.txt',
    'lpt0',
    'y'.repeat(49),
  ]) {
    expect(nameProblem(name), name).not.toBe(undefined)
  }
})
