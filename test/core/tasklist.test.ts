// Task files of YAML and JSON shape, and what is checked of every list of tasks.

import { expect, test } from 'vitest'
import { cycleOf, listProblem } from '../../src/core/tasklist.ts'
import { readDocument } from '../../src/cli/document.ts'

const yaml = `engine: codex
labels: [a]
tasks:
  - name: login
    title: Fix the login
    after: base
    gates: ["npm test"]
    timeout: 30m
    brief: |
      Do it.

        Indented.
  - name: base
    brief: "one\\r\\ntwo"
`

test('YAML gives defaults and tasks; a title is the first line of the brief', () => {
  expect(readDocument(yaml, 'yaml')).toEqual({
    is: 'tasks',
    defaults: { engine: 'codex', labels: ['a'] },
    notices: [],
    tasks: [
      {
        name: 'login',
        title: 'Fix the login',
        line: 4,
        brief: 'Do it.\n\n  Indented.\n',
        fields: { after: ['base'], gates: ['npm test'], timeoutMs: 1_800_000 },
      },
      { name: 'base', title: 'one', line: 13, brief: 'one\r\ntwo', fields: {} },
    ],
  })
})

test('JSON of the same shape, or a bare list of tasks, keeps every byte of a brief', () => {
  const brief = '\uFEFF完了 🧪 \u202e\u0000 ## x: y\r\n---\n'
  const one = { name: 'a', brief, budget: '2.50usd', pty: true }
  const expected = [{ name: 'a', brief, fields: { budget: { usd: 2.5 }, pty: true } }]
  expect(readDocument(JSON.stringify({ tasks: [one] }, null, 2), 'json')).toMatchObject({ tasks: expected })
  expect(readDocument(JSON.stringify([one]), 'json')).toMatchObject({ tasks: expected })
})

test.each([
  ['yaml', 'tasks:\n  - name: a\n    breif: x\n', 3, 5, "unknown key 'breif'", /^did you mean 'brief'\?$/],
  ['yaml', 'tasks:\n  - name: A b\n    brief: x\n', 2, 5, /^'A b' cannot be the name of a task/, undefined],
  ['yaml', 'tasks:\n  - brief: ""\n', 2, 5, /empty$/, undefined],
  ['yaml', 'tasks: [\n', 2, 1, /^YAML is malformed/, undefined],
  ['yaml', 'x: 1\n', 1, 1, "there is no list 'tasks' in it", /^write 'tasks: /],
  ['yaml', 'tasks:\n  - brief: x\n    priority: high\n', 3, 5, /^'priority' must be/, undefined],
  ['json', '{"tasks": [\n  {"name": "a", "brief": "x",}\n]}', 2, 30, 'JSON is malformed here', undefined],
  ['json', '{"tasks": [\n  {"brief": "x"} // no\n]}', 2, 18, 'JSON is malformed here', undefined],
  ['json', '{"tasks": [', 1, 12, 'JSON is malformed here', undefined],
  ['json', '[{"brief": "x", "land": "now"}]', 1, 17, /^'land' must be/, undefined],
] as const)('%s %j is refused with line and column', (format, text, line, column, message, advice) => {
  const mistake = readDocument(text, format)
  expect(mistake).toMatchObject({
    is: 'mistake',
    line,
    column,
    ...(advice && { advice: expect.stringMatching(advice) as unknown }),
  })
  expect('message' in mistake && mistake.message).toMatch(message)
})

test('two tasks of one name are named with their lines', () => {
  const tasks = [
    { name: 'a', after: [], line: 1 },
    { name: 'a', after: [], line: 7 },
  ]
  expect(listProblem(tasks, [])).toEqual({
    code: 'task-file',
    message: "two tasks have the name 'a', in lines 1 and 7",
    line: 7,
  })
})

test('a dependency on a task that nobody knows is refused with the nearest; one of the repository is known', () => {
  const tasks = [{ name: 'a', after: ['login'] }]
  expect(listProblem(tasks, ['logins'])).toEqual({
    code: 'not-found',
    message: "'a' waits for 'login', which is no task; did you mean 'logins'?",
  })
  expect(listProblem(tasks, ['login'])).toBeUndefined()
})

test('a cycle is printed along its way', () => {
  const of = (...pairs: [string, string[]][]) => pairs.map(([name, after]) => ({ name, after }))
  expect(listProblem(of(['a', ['b']], ['b', ['a']]), [])).toEqual({
    code: 'cycle',
    message: "tasks wait for each other: 'a -> b -> a'",
  })
  expect(cycleOf(of(['x', ['a']], ['a', ['b', 'c']], ['b', []], ['c', ['d']], ['d', ['a']]))).toEqual([
    'a',
    'c',
    'd',
    'a',
  ])
  expect(cycleOf(of(['a', ['a']]))).toEqual(['a', 'a'])
  expect(cycleOf(of(['a', ['b', 'c']], ['b', ['d']], ['c', ['d']], ['d', []]))).toBeUndefined()
})
