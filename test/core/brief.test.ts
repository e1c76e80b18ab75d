// The prompt of an attempt.

import fc from 'fast-check'
import { expect, test } from 'vitest'
import { promptOf } from '../../src/core/brief.ts'
import {
  type Told,
  attempt,
  claimed,
  collected,
  done,
  exited,
  failed,
  of,
  red,
  runId,
  started,
  submit,
  told,
  workspace,
} from './told.ts'

const prompt = (story: Told, brief = 'Do it.\r\n'): string =>
  promptOf(story.task(), story.task().runs.at(-1)!, brief)
const begun = (...facts: Parameters<typeof told>): Told => told(submit(), ...workspace(), ...facts)

test('the first attempt gets the brief, byte for byte, and nothing else', () => {
  fc.assert(fc.property(fc.string({ unit: 'binary' }), brief => prompt(begun(claimed()), brief) === brief))
})

test('the next one gets the brief first, byte for byte, and then how the one before ended', () => {
  expect(
    prompt(
      begun(...attempt(failed({ reason: 'exit code 1', evidence: 'boom\nat line 3' })), claimed('one', 2)),
    ),
  ).toBe(
    'Do it.\r\n\n---\n\nThis is attempt 2 at the task above. The work of earlier attempts is in this worktree; go on from it.\n\nAttempt 1 failed: exit code 1.\n\n    boom\n    at line 3\n',
  )
})

test('a gate that failed is told with its output', () => {
  expect(prompt(begun(...attempt(done()), ...red(), claimed('one', 2)))).toContain(
    'Attempt 1 was done, but the gate `test` failed: exited with 1. Its output ends with:\n\n    not ok 1\n    expected 2\n',
  )
})

test('answers and notes are told; a limit is told in a word', () => {
  const story = begun(...started(), {
    kind: 'question.asked',
    run: runId('one', 1),
    question: { id: 'q', text: 'which?', choices: [] },
    ...of('one'),
  })
  story.tell({
    kind: 'question.answered',
    run: runId('one', 1),
    id: 'q',
    answer: 'the left one',
    by: 'me',
    ...of('one'),
  })
  story.tell(
    exited(),
    collected({ is: 'limited', until: null, evidence: 'limit' }),
    { kind: 'task.noted', text: 'use tabs', ...of('one') },
    claimed('one', 2),
  )
  const text = prompt(story)
  expect(text).toContain('Attempt 1 was cut off by a usage limit.')
  expect(text).toContain('You asked: which?\nThe answer was: the left one')
  expect(text).toContain('Notes on this task:\n- use tabs')
})

test('an attempt that never started leaves the next one a first one', () => {
  const story = begun(
    claimed(),
    { kind: 'run.lost', run: runId('one', 1), reason: 'never-started', ...of('one') },
    collected(failed({ reason: 'never-started' })),
    claimed('one', 2),
  )
  expect(prompt(story)).toBe('Do it.\r\n')
})

test('what is told is bounded, its end kept', () => {
  const evidence = Array.from({ length: 3_000 }, (_, i) => `line ${i} ${'x'.repeat(2_000)}`).join('\n')
  const text = prompt(begun(...attempt(failed({ evidence })), claimed('one', 2)))
  expect(text.length).toBeLessThan(21_000)
  expect(text).toContain('line 2999')
})
