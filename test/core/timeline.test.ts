// The timeline's forms, and that no agent's text leaves its place in them.

import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type Event, type Fact } from '../../src/core/event.ts'
import { noUsage } from '../../src/core/outcome.ts'
import { sentenceOf } from '../../src/core/sentence.ts'
import {
  escapeMarkdown,
  fenced,
  jsonLine,
  markdownEntry,
  namesOf,
  oneLine,
  textLine,
} from '../../src/core/timeline.ts'
import { doing } from '../../src/core/words.ts'
import { play } from './fleets.ts'
import { of, red, runId, started, submit, told, workspace } from './told.ts'

const src = fileURLToPath(new URL('../../src', import.meta.url))
const story = told(submit(), ...workspace(), ...started())
const lineOf = (event: Event): string => textLine(event, namesOf(story.fleet, event))
const said = (text: string): Event => ({
  kind: 'message.said',
  role: 'agent',
  text,
  run: runId('one', 1),
  ...of('one'),
  seq: 9,
  at: 1_700_000_000_123,
  awake: 0,
  host: 'h',
})

test('a line has order, time, the run by its short name, and what happened', () => {
  expect(lineOf(said('hello'))).toBe('     9  2023-11-14T22:13:20.123Z  one#1             agent: hello')
  expect(lineOf(story.events[0]!)).toBe('     1  2023-11-14T22:13:20.000Z  -                 Berth 1 started')
})

test('a line stays one line, without escape sequences', () => {
  expect(oneLine('a\r\n\u001b[31mred\u001b[0m\u001b]0;title\u0007 b\u0008\tc\u202e')).toBe('a ⏎ red b  c')
  fc.assert(
    fc.property(
      fc.string({ unit: 'binary' }),
      // oxlint-disable-next-line no-control-regex
      text => !/[\u0000-\u001f\u007f-\u009f\u2028\u2029]/.test(lineOf(said(text))),
    ),
  )
})

test('a line of JSON names run, engine and worktree, also of an earlier life of the task', () => {
  const line: unknown = JSON.parse(jsonLine(said('hello'), namesOf(story.fleet, said('hello'))))
  expect(line).toEqual({
    seq: 9,
    at: '2023-11-14T22:13:20.123Z',
    host: 'h',
    project: 'p',
    task: 'one',
    run: 'one.1',
    engine: 'a',
    worktree: '/w/one',
    kind: 'message.said',
    role: 'agent',
    text: 'hello',
    awake: 0,
  })
  const later = told(...story.events, { kind: 'task.stopped', by: 'me', ...of('one') })
  later.tell(
    { kind: 'run.lost', run: 'one.1', reason: 'x', ...of('one') },
    {
      kind: 'teardown.asked',
      mode: { save: true, discard: false, branch: false, stop: true, unlock: false, by: 'person' },
      ...of('one'),
    },
    { kind: 'workspace.removed', named: [], ...of('one') },
    submit(),
  )
  expect(later.task().runs).toEqual([])
  expect(namesOf(later.fleet, said('x'))).toMatchObject({ name: 'one#1', engine: 'a', worktree: '/w/one' })
})

test('Markdown: headings, tables, links, code and HTML of an agent are plain text', () => {
  const entry = (text: string): string => markdownEntry(said(text), namesOf(story.fleet, said(text)))
  expect(entry('# x\n| a |\n```\n<script>alert(1)</script> [l](http://x) `c` &amp;')).toBe(
    '- `2023-11-14T22:13:20.123Z` #9 **one\\#1** agent\\: \\# x ⏎ \\| a \\| ⏎ \\`\\`\\` ⏎ &lt;script&gt;alert\\(1\\)&lt;/script&gt; \\[l\\]\\(http\\://x\\) \\`c\\` &amp;amp;',
  )
  fc.assert(fc.property(fc.string({ unit: 'binary' }), text => !entry(text).includes('\n')))
  fc.assert(fc.property(fc.string(), text => !/(^|[^\\])(\\\\)*[<>`*_[\]|#]/.test(escapeMarkdown(text))))
})

test('Markdown: output is in a block that its own backticks do not end', () => {
  expect(fenced(['a', '````', 'b'])).toBe('`````text\na\n````\nb\n`````')
  const event = told(...story.events, ...red()).events.find(({ kind }) => kind === 'gate.exited')!
  expect(markdownEntry(event, namesOf(story.fleet, event))).toBe(
    `- \`${new Date(event.at).toISOString()}\` #${event.seq} **one** gate 'test' failed after 5ms\\: exited with 1\n\n  \`\`\`text\n  not ok 1\n  expected 2\n  \`\`\`\n`,
  )
})

test('codes that facts carry are said in words', () => {
  const run = { run: runId('one', 1), ...of('one') }
  const failed = { is: 'failed', reason: 'engine-missing', evidence: '', transient: false } as const
  const facts: Fact[] = [
    { kind: 'run.lost', reason: 'never-started', ...run },
    { kind: 'run.lost', reason: 'host-restarted', ...run },
    { kind: 'run.ending', why: 'removal', ...run },
    { kind: 'run.exited', code: null, signal: null, usage: noUsage, end: failed, ...run },
    { kind: 'run.collected', outcome: { ...failed, escaped: [] }, ...run },
    { kind: 'run.collected', outcome: { is: 'unknown', step: 'changes', reason: 'x' }, ...run },
    { kind: 'task.held', reason: 'disk', detail: 'there is no room', ...of('one') },
    { kind: 'task.approved', commit: 'c1', what: 'no-work', by: 'person', ...of('one') },
    { kind: 'workspace.stuck', step: 'delete', reason: 'x', holders: [], ...of('one') },
    { kind: 'landing.landed', commit: 'c1', target: 'main', merge: 'm1', rule: 'contained', ...of('one') },
    { kind: 'gate.started', gate: 'test', commit: 'c1', where: 'integration', ...of('one') },
  ]
  expect(facts.map(sentenceOf)).toEqual([
    'agent lost: it was never started',
    'agent lost: the machine was restarted',
    'agent is being ended: its task is to be removed',
    'agent ended, its exit code unknown: the engine is not installed',
    'it failed: the engine is not installed',
    'what it left could not be found out: while counting its changes: x',
    'held: there is no room',
    'person approved that it changes nothing, at c1',
    'workspace is stuck: while deleting its files: x',
    'landed on main as m1 (it was there already)',
    "gate 'test' started on c1, on the merge with the target",
  ])
})

test('every step that a fact can name is said in words', async () => {
  const named = new Set<string>()
  for (const folder of ['core', 'git', 'workspace', 'daemon', 'daemon/perform'])
    for (const name of await readdir(join(src, folder)))
      if (name.endsWith('.ts'))
        for (const [, step] of (await readFile(join(src, folder, name), 'utf8')).matchAll(
          /(?:\bstep: |StepError\(|stepFailure\(|guarded\(input, |(?:failed|stuck)\(input, )'([a-z]+)'/g,
        ))
          named.add(step!)
  // These are never a reason by themselves: the workspace is made again.
  for (const quiet of ['held', 'missing']) named.delete(quiet)
  expect(named.size).toBeGreaterThan(25)
  expect([...named].filter(step => doing(step) === step)).toEqual([])
})

test('every fact of a long story has a sentence', async () => {
  const { events, loop } = await play(3)
  for (const event of events)
    expect(textLine(event, namesOf(loop.fleet(), event))).not.toMatch(/undefined|\[object/)
})
