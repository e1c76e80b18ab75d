// Task files in Markdown: what is a task, what is a field, and that briefs come back byte for byte.

import fc from 'fast-check'
import { expect, test } from 'vitest'
import { parseMarkdown, type FileTask } from '../../src/core/taskfile.ts'

const tasksOf = (text: string): FileTask[] => {
  const parsed = parseMarkdown(text)
  if (parsed.is === 'mistake') throw new Error(`${parsed.line}:${parsed.column} ${parsed.message}`)
  return parsed.tasks
}

const mistakeOf = (text: string) => {
  const parsed = parseMarkdown(text)
  if (parsed.is !== 'mistake') throw new Error('no mistake was found')
  const { is: _, ...mistake } = parsed
  return mistake
}

test('each level-2 heading of the form `name: title` is a task, with its fields and its brief', () => {
  const text = `---
engine: codex
labels: a, b
---
# The plan

Some words that belong to nobody.

## login: Fix the login
priority: 5
after: base, other
gates: npm test -- --run a,b
gates: npm run lint
labels: [c]

Do it.

## base: The base
Do that first.
`
  expect(parseMarkdown(text)).toEqual({
    is: 'tasks',
    defaults: { engine: 'codex', labels: ['a', 'b'] },
    notices: [],
    tasks: [
      {
        name: 'login',
        title: 'Fix the login',
        line: 9,
        brief: 'Do it.\n\n',
        fields: {
          priority: 5,
          after: ['base', 'other'],
          gates: ['npm test -- --run a,b', 'npm run lint'],
          labels: ['c'],
        },
      },
      { name: 'base', title: 'The base', line: 18, brief: 'Do that first.\n', fields: {} },
    ],
  })
})

test('one blank line separates; everything after it is the brief, whatever it looks like', () => {
  expect(tasksOf('## a: t\n\n\nengine: claude\n\nx')[0]).toMatchObject({
    brief: '\nengine: claude\n\nx',
    fields: {},
  })
  expect(tasksOf('## a: t\nNote: this is prose\nx\n')[0]).toMatchObject({
    brief: 'Note: this is prose\nx\n',
    fields: {},
  })
})

test('line endings, a byte order mark before the first line, and closing hashes are handled', () => {
  const [task] = tasksOf('\uFEFF## a: title ##\r\nkind: fix\r\n\r\none\r\ntwo\rthree')
  expect(task).toMatchObject({ title: 'title', fields: { kind: 'fix' }, brief: 'one\r\ntwo\rthree' })
})

test('a heading inside fenced code is no heading', () => {
  const brief = 'x\n```md\n## b: not a task\n~~~\n```\n~~~\n## c: nor this\n~~~\n'
  expect(tasksOf(`## a: t\n\n${brief}`)).toMatchObject([{ name: 'a', brief }])
})

test('with `headings: tasks` every level-2 heading is a task', () => {
  const tasks = tasksOf('---\nheadings: tasks\n---\n## Fix the login\n\nx\n## b: named\n\ny\n')
  expect(tasks).toMatchObject([
    { title: 'Fix the login', brief: 'x\n' },
    { name: 'b', title: 'named', brief: 'y\n' },
  ])
  expect(tasks[0]).not.toHaveProperty('name')
})

test('a field that looks mistyped begins the brief, and is named', () => {
  const parsed = parseMarkdown('## a: t\nengin: claude\nx\n')
  expect(parsed).toMatchObject({
    notices: ["line 2: 'engin' is no field, so the brief begins there; did you mean 'engine'?"],
    tasks: [{ brief: 'engin: claude\nx\n' }],
  })
})

test.each([
  [
    '## a: t\n\nx\n## Overview\n\ny\n',
    {
      code: 'task-file',
      line: 4,
      column: 1,
      message: "the heading '## Overview' is not a task",
      advice: "write '## overview: Overview' for a task, or '### Overview' inside a brief",
    },
  ],
  [
    '## Fix: the login\n\nx',
    {
      code: 'task-file',
      line: 1,
      column: 1,
      message: "the heading '## Fix: the login' is not a task",
      advice: "write '## fix: the login' for a task, or '### Fix: the login' inside a brief",
    },
  ],
  [
    '# only a title\n',
    {
      code: 'task-file',
      line: 1,
      column: 1,
      message: 'there is no task in it',
      advice: "write '## name: title' and the brief below it",
    },
  ],
  [
    '',
    {
      code: 'task-file',
      line: 1,
      column: 1,
      message: 'there is no task in it',
      advice: "write '## name: title' and the brief below it",
    },
  ],
  [
    '## a: t\n\n   \n',
    {
      code: 'empty-brief',
      line: 1,
      column: 1,
      message: "the brief of 'a' is empty",
      advice: 'write it below the heading',
    },
  ],
  [
    '## a: t\npriority: high\n\nx',
    {
      code: 'task-file',
      line: 2,
      column: 10,
      message: "'priority' must be a whole number, higher goes first, not 'high'",
    },
  ],
  [
    '## a: t\nkind: x\nkind: y\n\nx',
    { code: 'task-file', line: 3, column: 1, message: "'kind' is given twice" },
  ],
  [
    '---\nengin: claude\n---\n## a: t\n\nx',
    {
      code: 'task-file',
      line: 2,
      column: 1,
      message: "unknown key 'engin'",
      advice: "did you mean 'engine'?",
    },
  ],
  [
    '---\nengine: claude\n',
    {
      code: 'task-file',
      line: 1,
      column: 1,
      message: "the front matter that '---' opens is never closed",
      advice: "close it with '---'",
    },
  ],
  [
    '  ## con: t\n\nx',
    {
      code: 'bad-name',
      line: 1,
      column: 3,
      message: "'con' cannot be the name of a task: Windows reserves this name for a device",
      advice: "name it 'task-con'",
    },
  ],
  [
    '## a: t\n\nx\n  ```js\n\n## b: t\n\ny\n',
    {
      code: 'task-file',
      line: 4,
      column: 3,
      message: "fenced code that '```' opens is never closed, and swallows line 6",
      advice: "close it with '```'",
    },
  ],
])('%j is refused with line, column and the way out', (text, mistake) => {
  expect(mistakeOf(text)).toEqual(mistake)
})

const word = fc.stringMatching(/^[a-z][a-z0-9]{0,8}$/)
const ending = fc.constantFrom('\n', '\r\n')
const line = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 40 }).map(text => text.replaceAll(/[\r\n]/g, ' ')),
  fc.constantFrom(
    '### a: b',
    'engine: claude',
    '',
    '---',
    '# x',
    '    ## y: z',
    '##not',
    '- item',
    '\tx',
    '`a`',
  ),
)
// What would be a heading or open a fence is not part of a plain brief; fences are tested apart.
const plain = line.filter(text => !/^ {0,3}(##([ \t]|$)|`{3}|~{3})/.test(text))

test('briefs come back byte for byte, whatever they hold', () => {
  const brief = fc
    .tuple(
      fc.array(fc.tuple(plain, ending), { minLength: 1, maxLength: 8 }),
      fc.constantFrom('x', '## in: code'),
    )
    .map(
      ([lines, code]) => `${lines.map(([text, end]) => text + end).join('')}\`\`\`\n${code}\n\`\`\`\nend\n`,
    )
  const tasks = fc.uniqueArray(fc.record({ name: word, title: word, brief, kind: fc.option(word) }), {
    selector: task => task.name,
    minLength: 1,
    maxLength: 5,
  })
  fc.assert(
    fc.property(tasks, given => {
      const usable = given.filter(({ name }) => !/^(con|prn|aux|nul|com\d|lpt\d)$/.test(name))
      fc.pre(usable.length > 0)
      const text = usable.map(
        task => `## ${task.name}: ${task.title}\n${task.kind ? `kind: ${task.kind}\n` : ''}\n${task.brief}`,
      )
      const parsed = tasksOf(text.join(''))
      expect(parsed.map(({ name, title, brief }) => ({ name, title, brief }))).toEqual(
        usable.map(({ name, title, brief }) => ({ name, title, brief })),
      )
    }),
    { numRuns: 300 },
  )
})

test('any text at all is either tasks whose briefs stand in it, or a mistake with a place inside it', () => {
  fc.assert(
    fc.property(
      fc.array(fc.tuple(line, ending)).map(lines => lines.flat().join('')),
      text => {
        const parsed = parseMarkdown(`## a: t\n${text}`)
        if (parsed.is === 'tasks') {
          for (const task of parsed.tasks) expect(text).toContain(task.brief)
          return
        }
        expect(parsed.line).toBeGreaterThanOrEqual(1)
        expect(parsed.column).toBeGreaterThanOrEqual(1)
        expect(parsed.line).toBeLessThanOrEqual(text.split(/\r\n|\n|\r/).length + 1)
      },
    ),
    { numRuns: 500 },
  )
})
