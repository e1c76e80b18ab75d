// Text as it stands on a terminal: widths, cutting, tables that fit, and nothing that a terminal would obey.

import { expect, test } from 'vitest'
import { fit, table, visible, widthOf, wrap } from '../../src/cli/columns.ts'

test('wide characters take two columns, combining ones none, colours nothing', () => {
  expect(['abc', '日本', 'e\u0301', '🧪', '\u001B[31mred\u001B[39m'].map(widthOf)).toEqual([3, 4, 1, 2, 3])
})

test('what does not fit is cut with a mark, never in the middle of a character', () => {
  expect(fit('hello', 5)).toBe('hello')
  expect(fit('hello world', 8)).toBe('hello w…')
  expect(fit('日本語', 4)).toBe('日…')
  expect(wrap('one two three', 7)).toEqual(['one two', 'three'])
})

test('escape sequences go, control and direction characters are shown', () => {
  expect(visible('a\u001B[31mb\u001B]0;title\u0007c')).toBe('abc')
  expect(visible('a\nb\tc\u0007\u202Ed')).toBe('a b c\\u0007\\u202ed')
})

const columns = [
  { title: 'TASK' },
  { title: 'ENGINE', optional: true },
  { title: 'AGE', right: true, optional: true },
  { title: 'REASON' },
]
const rows = [
  ['login', 'claude', '5s', 'its agent is at work on something that takes long to say'],
  ['a-longer-name', 'codex', '12m', 'ready'],
]

test('a table is as wide as it needs to be where there is no terminal', () => {
  expect(table(columns, rows, undefined)).toEqual([
    'TASK           ENGINE  AGE  REASON',
    'login          claude   5s  its agent is at work on something that takes long to say',
    'a-longer-name  codex   12m  ready',
  ])
})

test('on a narrow terminal the last column is cut, and optional ones go', () => {
  expect(table(columns, rows, 60)).toEqual([
    'TASK           ENGINE  AGE  REASON',
    'login          claude   5s  its agent is at work on somethi…',
    'a-longer-name  codex   12m  ready',
  ])
  expect(table(columns, rows, 46)).toEqual([
    'TASK           REASON',
    'login          its agent is at work on someth…',
    'a-longer-name  ready',
  ])
  for (const width of [20, 30, 46, 60, 80]) {
    for (const line of table(columns, rows, width))
      expect(widthOf(line)).toBeLessThanOrEqual(Math.max(width, 25))
  }
})

test('an optional column that is empty in every row is left out', () => {
  expect(table(columns, [['a', '', '', 'x']], undefined)).toEqual(['TASK  REASON', 'a     x'])
})
