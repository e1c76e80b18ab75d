// Bad input, the task file: every mistake with line and column, in every form it may have, before anything is made.

import { basename, join } from 'node:path'
import { test } from 'vitest'
import { meaning } from '../../../src/core/shellword.ts'
import { expectNothingMade, expectRefusal, type Refusal, watchedWorld } from './refusal.ts'

const edit = (file: string, line: number): string => `\${EDITOR:-vi} +${line} ${file}`
const shape = 'use a-z, 0-9, dot, underscore and dash, beginning with a letter or digit'

const files: [string, string, string | Buffer, Refusal][] = [
  [
    'a heading that is no task',
    'heading.md',
    '## a: t\n\nx\n\n## Overview\n\ny\n',
    {
      error: 'task-file',
      message:
        "'heading.md', line 5, column 1: the heading '## Overview' is not a task; " +
        "write '## overview: Overview' for a task, or '### Overview' inside a brief",
      hint: edit('heading.md', 5),
    },
  ],
  [
    'a key that is not known',
    'key.yaml',
    'tasks:\n  - name: a\n    breif: x\n',
    {
      error: 'task-file',
      message: "'key.yaml', line 3, column 5: unknown key 'breif'; did you mean 'brief'?",
      hint: edit('key.yaml', 3),
    },
  ],
  [
    'JSON that is malformed',
    'bad.json',
    '{"tasks": [{"brief": "x",}]}',
    {
      error: 'task-file',
      message: "'bad.json', line 1, column 26: JSON is malformed here",
      hint: edit('bad.json', 1),
    },
  ],
  [
    'YAML that is malformed',
    'bad.yaml',
    'tasks:\n  - name: a\n    brief: "x\n',
    {
      error: 'task-file',
      message: "'bad.yaml', line 4, column 1: YAML is malformed: Missing closing \"quote",
      hint: edit('bad.yaml', 4),
    },
  ],
  [
    'a value of the wrong kind',
    'kind.json',
    '{"tasks": [\n  {"brief": "x", "priority": "high"}]}',
    {
      error: 'task-file',
      message:
        "'kind.json', line 2, column 18: 'priority' must be a whole number, higher goes first, not 'high'",
      hint: edit('kind.json', 2),
    },
  ],
  [
    'a path outside the repository',
    'touches.md',
    '## a: t\ntouches: src, ../../etc/passwd\n\nx\n',
    {
      error: 'task-file',
      message:
        "'touches.md', line 2, column 9: 'touches' must be paths or globs inside the repository, " +
        "with commas between them, not 'src, ../../etc/passwd'",
      hint: edit('touches.md', 2),
    },
  ],
  [
    'bytes that are no UTF-8',
    'latin.md',
    Buffer.from('## a: t\n\ncaf\u00E9\n', 'latin1'),
    {
      error: 'task-file',
      message: "'latin.md', line 3, column 4: this is not UTF-8",
      hint: 'iconv -t UTF-8 latin.md',
    },
  ],
  [
    'a brief that is empty',
    'empty.md',
    '## a: t\n\nx\n\n## b: t\npriority: 3\n\n \n',
    {
      error: 'empty-brief',
      message: "'empty.md', line 5, column 1: the brief of 'b' is empty; write it below the heading",
      hint: edit('empty.md', 5),
    },
  ],
  [
    'a name that is there twice',
    'twice.md',
    '## a: t\n\nx\n\n## a: t\n\ny\n',
    {
      error: 'task-file',
      message: "two tasks have the name 'a', in lines 1 and 5",
      hint: edit('twice.md', 5),
    },
  ],
  [
    'a name that no task can have',
    'name.yaml',
    'tasks:\n  - name: Fix It\n    brief: x\n',
    {
      error: 'bad-name',
      message: `'name.yaml', line 2, column 5: 'Fix It' cannot be the name of a task: ${shape}; name it 'fix-it'`,
      hint: edit('name.yaml', 2),
    },
  ],
  [
    'a cycle of dependencies, printed whole',
    'cycle.md',
    '## z: t\n\nx\n\n## a: t\nafter: b\n\nx\n\n## b: t\nafter: c\n\nx\n\n## c: t\nafter: a\n\nx\n',
    { error: 'cycle', message: "tasks wait for each other: 'a -> b -> c -> a'", hint: edit('cycle.md', 5) },
  ],
  [
    'a dependency that nobody knows',
    'unknown.md',
    '## login: t\n\nx\n\n## b: t\nafter: logni\n\ny\n',
    {
      error: 'not-found',
      message: "'b' waits for 'logni', which is no task; did you mean 'login'?",
      hint: edit('unknown.md', 5),
    },
  ],
  [
    'a gate whose program is missing',
    'gate.md',
    '## a: t\ngates: no-such-program --all\n\nx\n',
    {
      error: 'gate-missing',
      message: "the gate 'no-such-program --all' needs 'no-such-program', which is not installed",
      hint: 'berth run --gate COMMAND "BRIEF"',
    },
  ],
  [
    'an engine that is unknown, after tasks that are right',
    'engine.md',
    '## a: t\n\nx\n\n## b: t\nengine: cluade\n\nx\n',
    {
      error: 'unknown-engine',
      message: "unknown engine 'cluade'; did you mean 'claude'?",
      hint: 'berth doctor',
    },
  ],
]

test.each(files)('%s is refused, and no task of the file is made', async (_what, name, text, refusal) => {
  const world = watchedWorld()
  const repo = world.repository()
  const file = world.write(join(world.dir, 'tasks', name), text)
  const options = { cwd: join(file, '..') }
  const args = ['run', '--command', 'true', '--repo', repo, '-f', basename(file)]
  const hint = refusal.hint === undefined ? {} : { hint: meaning(repo, refusal.hint) }
  await expectRefusal(world, args, { ...refusal, ...hint }, options)
  await expectNothingMade(world, repo, world.state)
})

test('a task file that is not there is named', async () => {
  const world = watchedWorld()
  const repo = world.repository()
  await expectRefusal(
    world,
    ['run', '-f', 'none.md'],
    { error: 'not-found', message: "there is no task file 'none.md'", hint: `ls ${repo}` },
    { cwd: repo },
  )
  await expectNothingMade(world, repo, world.state)
})
