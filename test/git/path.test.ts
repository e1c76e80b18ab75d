// Paths as bytes: whatever git prints comes through a string and back without loss.

import fc from 'fast-check'
import { expect, test } from 'vitest'
import { bytesOf, hasRawBytes, isWithin, joinNul, pathOf, shownPath, splitNul } from '../../src/git/path.ts'

test('any bytes become a string and the same bytes again', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 60 }), bytes => {
      expect(bytesOf(pathOf(bytes)).equals(Buffer.from(bytes))).toBe(true)
    }),
    { numRuns: 2_000 },
  )
})

test('a string of whole characters is the path itself, an emoji too', () => {
  for (const path of ['src/a.ts', 'naïve €.txt', 'rocket 🚀.md', '\ufeffbom']) {
    expect([pathOf(Buffer.from(path)), hasRawBytes(path), shownPath(path)]).toEqual([path, false, path])
  }
})

test('raw bytes and control characters are shown as git quotes them', () => {
  expect(shownPath(pathOf(Buffer.from([0x61, 0xff, 0x0a, 0x09, 0x1b])))).toBe('a\\xff\\n\\t\\x1b')
})

test('NUL-separated output splits and joins, newlines within names included', () => {
  const bytes = Buffer.concat([Buffer.from('a\nb\0'), Buffer.from([0xff, 0]), Buffer.from('c d\0')])
  const paths = splitNul(bytes)
  expect(paths).toEqual(['a\nb', '\udcff', 'c d'])
  expect(joinNul(paths).equals(bytes)).toBe(true)
  expect(splitNul(Buffer.from('a\0\0b'))).toEqual(['a', '', 'b'])
})

test('a path lies within a folder by whole components only (case 36)', () => {
  expect(
    ['/x/feat', '/x/feat/a', '/x/feat-2', '/x/fea', '/x'].map(path => isWithin(path, '/x/feat')),
  ).toEqual([true, true, false, false, false])
})
