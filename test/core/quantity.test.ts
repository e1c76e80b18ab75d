// Durations, budgets, sizes and times as people write them, and the nearest word to a mistyped one.

import { expect, test } from 'vitest'
import { nearest } from '../../src/core/nearest.ts'
import {
  age,
  duration,
  parseBudget,
  parseDuration,
  parseSize,
  parseTime,
  size,
  sizeWord,
} from '../../src/core/quantity.ts'

test.each([
  ['90s', 90_000],
  ['30m', 1_800_000],
  ['2h', 7_200_000],
  ['1h30m', 5_400_000],
  ['500ms', 500],
  ['7d', 604_800_000],
  ['1.5h', 5_400_000],
  ['90', undefined],
  ['', undefined],
  ['2 h', undefined],
  ['-1s', undefined],
  ['1x', undefined],
])('the duration %j is %j ms', (text, ms) => expect(parseDuration(text)).toBe(ms))

test('a duration that was read is written as it was', () => {
  for (const text of ['90s', '30m', '2h', '36h', '3d', '0s', '1ms'])
    expect(duration(parseDuration(text)!)).toBe(text)
})

test.each([
  ['2.50usd', { usd: 2.5 }],
  ['200ktok', { tokens: 200_000 }],
  ['1mtok,3usd', { tokens: 1_000_000, usd: 3 }],
  ['5000tok', { tokens: 5_000 }],
  ['2.50', undefined],
  ['$2', undefined],
  ['', undefined],
])('the budget %j is %j', (text, budget) => expect(parseBudget(text)).toEqual(budget))

test.each([
  ['200MB', 200_000_000],
  ['2GB', 2_000_000_000],
  ['16MiB', 16_777_216],
  ['512kB', 512_000],
  ['7b', 7],
  ['1', undefined],
  ['x', undefined],
])('the size %j is %j bytes', (text, bytes) => expect(parseSize(text)).toBe(bytes))

test('sizes and ages are short for people', () => {
  expect([size(999), size(3_400_000), size(12_000_000_000)]).toEqual(['999 B', '3.4 MB', '12 GB'])
  expect([sizeWord(200_000_000), sizeWord(1_500)]).toEqual(['200MB', '1500B'])
  expect([age(3_999), age(720_000), age(7_200_000), age(400_000_000), age(-5)]).toEqual([
    '3s',
    '12m',
    '2h',
    '4d',
    '0s',
  ])
})

test('a time is ISO 8601, or a duration ago, or ahead', () => {
  const now = Date.parse('2030-01-31T12:00:00Z')
  expect(parseTime('2h', now)).toBe(now - 7_200_000)
  expect(parseTime('2h ago', now)).toBe(now - 7_200_000)
  expect(parseTime('in 2h', now)).toBe(now + 7_200_000)
  expect(parseTime('2030-01-31T17:00Z', now)).toBe(Date.parse('2030-01-31T17:00:00Z'))
  expect(parseTime('yesterday', now)).toBeUndefined()
  expect(parseTime('5', now)).toBeUndefined()
})

test('the nearest word is the one with the fewest edits, and none when none is near', () => {
  const verbs = ['run', 'ls', 'land', 'log', 'resume', 'restore', 'reconcile', 'transcript', 'rm']
  const found = ['rnu', 'lss', 'lnad', 'resum', 'recon', 'transcrpt', 'zebra', 'x', ''].map(word =>
    nearest(word, verbs),
  )
  expect(found).toEqual([
    'run',
    'ls',
    'land',
    'resume',
    'reconcile',
    'transcript',
    undefined,
    undefined,
    undefined,
  ])
})
