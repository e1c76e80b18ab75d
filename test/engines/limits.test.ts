// The published table of limit and login texts, and the times in them.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { troubleAmong, troubleIn, troubleTexts } from '../../src/engines/limits.ts'
import { resetIn } from '../../src/engines/resets.ts'

const now = Date.parse('2026-11-29T13:00:00Z')
const at = (iso: string) => Date.parse(iso)

describe('the table', () => {
  test('is published', () => {
    const words = { limited: 'limited', 'signed-out': 'signed out', overloaded: 'may go well another time' }
    const published = readFileSync(join(import.meta.dirname, '../../docs/engines.md'), 'utf8')
    const rows = troubleTexts.map(({ is, example }) => `| ${words[is]} | ${example.replaceAll('|', '\\|')} |`)
    expect(published).toContain(rows.join('\n'))
  })

  for (const { is, example } of troubleTexts) {
    test(`'${example}' is ${is}`, () => {
      expect(troubleIn(example, now)?.is).toBe(is)
    })
  }

  const others: [string, string | undefined][] = [
    ["You've hit your limit · resets 1:27pm", 'limited'],
    ['You’ve hit your usage limit. Upgrade to Pro or try again at 3:45 PM.', 'limited'],
    ['5-hour limit reached ∙ resets 7pm', 'limited'],
    ['You have exceeded your monthly spending limit', 'limited'],
    ['Error: 429 {"type":"error","error":{"type":"rate_limit_error"}}', 'limited'],
    ['RESOURCE_EXHAUSTED', 'limited'],
    ['You have hit your limit · /login to switch accounts', 'limited'],
    [
      '401 {"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"}}',
      'signed-out',
    ],
    ['Missing environment variable: `OPENAI_API_KEY`.', 'signed-out'],
    ['Your session has expired. Please sign in again.', 'signed-out'],
    ['Error: getaddrinfo EAI_AGAIN api.example.com', 'overloaded'],
    ['unexpected status 529 <unknown status code>: overloaded', 'overloaded'],
    ['error: test failed at line 429 of limits.ts', undefined],
    ['assert 401 == 200', undefined],
    ['the speed limit is 50', undefined],
    ['Segmentation fault (core dumped)', undefined],
    ['ENOENT: no such file or directory', undefined],
    ['', undefined],
  ]
  for (const [text, is] of others) {
    test(`'${text}' is ${is ?? 'nothing of the kind'}`, () => {
      expect(troubleIn(text, now)?.is).toBe(is)
    })
  }

  test('the last line that says anything counts', () => {
    const lines = ['Attempt 1 failed with status 503', 'please log in again', 'bye']
    expect(troubleAmong(lines, now)).toEqual({ trouble: { is: 'signed-out' }, line: 'please log in again' })
  })
})

describe('the time at which a limit ends', () => {
  const cases: [string, string, string | null][] = [
    ['Claude AI usage limit reached|1790000000', 'UTC', '2026-09-21T14:13:20Z'],
    ['limit reached|1790000000123', 'UTC', '2026-09-21T14:13:20.123Z'],
    ['resets at 2026-11-30T01:02:03Z', 'UTC', '2026-11-30T01:02:03Z'],
    ['resets at 2026-11-30T01:02:03+02:00', 'UTC', '2026-11-29T23:02:03Z'],
    ['try again at 2026-11-30 01:02 UTC', 'UTC', '2026-11-30T01:02:00Z'],
    ['Please try again in 5 minutes.', 'UTC', '2026-11-29T13:05:00Z'],
    ['try again in 2 days, 3 hours and 4 minutes', 'UTC', '2026-12-01T16:04:00Z'],
    ['Your quota will reset after 5h30m12s.', 'UTC', '2026-11-29T18:30:12Z'],
    ['Please retry in 34.5s.', 'UTC', '2026-11-29T13:00:34.5Z'],
    ['Resets 7:10pm (UTC)', 'Asia/Tokyo', '2026-11-29T19:10:00Z'],
    ['resets 1:27pm', 'UTC', '2026-11-29T13:27:00Z'],
    ['resets 1:27pm', 'Europe/Berlin', '2026-11-30T12:27:00Z'],
    ['resets 9am', 'UTC', '2026-11-30T09:00:00Z'],
    ['resets 12:55pm', 'UTC', '2026-11-29T12:55:00Z'],
    ['resets 12am (America/New_York)', 'UTC', '2026-11-30T05:00:00Z'],
    ['resets 19:10', 'UTC', '2026-11-29T19:10:00Z'],
    ['resets Dec 6, 1pm', 'UTC', '2026-12-06T13:00:00Z'],
    ['resets Jan 2 at 1:30pm (Europe/Berlin)', 'UTC', '2027-01-02T12:30:00Z'],
    ['or try again at Dec 6th, 2026 3:45 PM.', 'UTC', '2026-12-06T15:45:00Z'],
    ['try again at 3:45 PM.', 'UTC', '2026-11-29T15:45:00Z'],
    ['resets 7pm (Nowhere/Land)', 'UTC', '2026-11-29T19:00:00Z'],
    ['try again later', 'UTC', null],
    ['resets 7', 'UTC', null],
    ['wrote 5 files in 3 folders', 'UTC', null],
  ]
  for (const [text, zone, expected] of cases) {
    test(`'${text}' in ${zone} is ${expected ?? 'not said'}`, () => {
      expect(resetIn(text, now, zone)).toBe(expected === null ? null : at(expected))
    })
  }
})
