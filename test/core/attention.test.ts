// What needs a person: which items there are, in what order, and what an answer becomes.

import { expect, test } from 'vitest'
import { type Fact } from '../../src/core/event.ts'
import { answerFacts } from '../../src/core/action.ts'
import { findItems, items } from '../../src/core/attention.ts'
import { exitOf } from '../../src/core/exit.ts'
import { type Landing, type Outcome } from '../../src/core/outcome.ts'
import { stageOf } from '../../src/core/stage.ts'
import { statusOf } from '../../src/core/status.ts'
import {
  type Told,
  attempt,
  collected,
  done,
  exited,
  failed,
  landed,
  landing,
  of,
  ready,
  red,
  redBefore,
  runId,
  started,
  submit,
  told,
  upToReady,
  workspace,
} from './told.ts'

const ids = ({ fleet, clock }: Told): string[] => items(fleet, clock).map(({ id }) => id)
const only = ({ fleet, clock }: Told) => {
  const all = items(fleet, clock)
  expect(all).toHaveLength(1)
  return all[0]!
}
const answer = (story: Told, item: string, text: string | null): Told => {
  const [found] = findItems(story.fleet, story.clock, { item })
  expect(found, item).toBeDefined()
  const answered = answerFacts(found!, text, 'me')
  if (answered.is === 'refused') throw new Error(`${answered.reason} (${answered.hint})`)
  return story.tell(...answered.facts)
}
const failing = (failure: Landing): Told =>
  told(submit(), ...upToReady(), landing(), { kind: 'landing.failed', commit: 'c1', failure, ...of('one') })
const status = ({ fleet, clock, task }: Told) => {
  const { status: word, reasonCode, waitsFor } = statusOf(fleet, task(), clock)
  return [word, reasonCode, waitsFor]
}
const question = (id: string, choices: string[] = []): Fact => ({
  kind: 'question.asked',
  run: runId('one', 1),
  question: { id, text: `${id}?`, choices },
  ...of('one'),
})

test('a task that goes well raises nothing', () => {
  const story = told(submit())
  for (const fact of [...upToReady(), ...landed()]) expect(ids(story.tell(fact))).toEqual([])
})

test('a question is an item with its choices; each question of a task has its own id', () => {
  const story = told(submit(), ...workspace(), ...started(), question('which', ['a', 'b']))
  expect(only(story)).toMatchObject({
    id: 'decide:one:q1',
    kind: 'decide',
    reason: 'its agent asks: which?',
    question: { text: 'which?', choices: ['a', 'b'] },
    actions: [
      { key: 'a', label: 'a', command: 'berth answer decide:one:q1 a' },
      { key: 'b', label: 'b', command: 'berth answer decide:one:q1 b' },
    ],
  })
  expect(status(story)).toEqual(['waiting', 'question', 'person'])
  expect(() => answer(story, 'one', 'c')).toThrow(
    "'c' is no answer to 'decide:one:q1': it takes 'a', 'b' (berth inbox)",
  )
  answer(story, 'one', 'a')
  expect(ids(story)).toEqual([])
  expect(story.task().runs[0]?.questions[0]).toMatchObject({ state: 'answered', answer: 'a' })
  story.tell(question('which'), question('why'))
  expect(ids(story)).toEqual(['decide:one:q2'])
  answer(story, 'decide:one:q2', null)
  expect(story.task().runs[0]?.questions[1]).toMatchObject({ state: 'declined' })
  story.tell(question('when'), exited())
  expect(ids(story)).toEqual([])
})

test('a failed task names its evidence, and goes on with another attempt or away', () => {
  const story = told(submit(), ...workspace())
  for (let n = 1; n <= 3; n++) story.tell(...attempt(failed(), 'one', n)).wait(1e6)
  expect(only(story)).toMatchObject({
    id: 'failed:one',
    reason: 'exit code 1, after 3 attempts',
    evidence: [{ kind: 'output', text: 'boom' }],
    actions: [
      { key: 'retry', command: 'berth retry one' },
      { key: 'rm', command: 'berth rm one' },
    ],
  })
  expect(status(story)).toEqual(['failed', 'exit', null])
  answer(story, 'failed:one', 'retry')
  expect(status(story)).toEqual(['retrying', 'slot', 'slot'])
})

test('an end without any change can be taken as it is', () => {
  const story = told(submit(), ...workspace(), ...attempt({ is: 'no-work', denied: [], escaped: [] }))
  expect(status(story)).toEqual(['failed', 'no-work', null])
  answer(story, 'one', 'accept')
  expect(status(story)).toEqual(['verifying', 'gates', null])
})

const nothing: Outcome = { is: 'no-work', denied: [], escaped: [] }

test('an attempt without any change after a red gate leaves the gate as what a person must know', () => {
  const story = told(submit(), ...workspace(), ...attempt(done('c1')), ...red('one', 'c1'))
  story.tell(...attempt(nothing, 'one', 2))
  expect(only(story)).toMatchObject({
    id: 'gate:one',
    reason: "gate 'test' failed: exited with 1, and the next attempt changed nothing",
    evidence: [
      { kind: 'gate', text: 'test' },
      { kind: 'output', text: 'not ok 1' },
      { kind: 'output', text: 'expected 2' },
      { kind: 'hint', text: "less '/s/a gate.log'" },
    ],
    actions: [{ key: 'retry' }, { key: 'land' }, { key: 'rm' }],
  })
  expect(status(story)).toEqual(['failed', 'gate', null])
  answer(story, 'one', 'land')
  expect(status(story)).toEqual(['verifying', 'collecting', null])
})

test('an attempt without any change after a conflict leaves the conflict; after work that was ready it is told', () => {
  const story = failing({ is: 'conflict', paths: ['a.ts'], tip: 'm1' })
  story.tell({ kind: 'task.retried', by: 'me', ...of('one') }, ...attempt(nothing, 'one', 2))
  expect(only(story)).toMatchObject({
    id: 'conflict:one',
    reason: "it conflicts with the target in 'a.ts', and the next attempt changed nothing",
  })
  story.tell({ kind: 'task.retried', by: 'me', ...of('one') }, ...attempt(done('c2'), 'one', 3))
  story.tell(ready('one', 'c2'), { kind: 'task.retried', by: 'me', ...of('one') })
  story.tell(...attempt(nothing, 'one', 4))
  expect(only(story)).toMatchObject({ id: 'failed:one', reason: 'its agent ended without any change' })
})

test('work that was mended by hand is verified however the last attempt ended, and a red gate before it is told', () => {
  const story = told(submit(), ...workspace(), ...attempt(done('c1')), ...red('one', 'c1'))
  for (let n = 2; n <= 3; n++) story.wait(1e6).tell(...attempt(failed(), 'one', n))
  expect(only(story)).toMatchObject({
    id: 'failed:one',
    reason: "exit code 1, after 3 attempts; before that gate 'test' failed: exited with 1",
    actions: [{ key: 'retry' }, { key: 'land', command: 'berth land one' }, { key: 'rm' }],
  })
  expect(only(story).evidence).toContainEqual({ kind: 'output', text: 'not ok 1' })
  story.tell({ kind: 'task.retried', by: 'me', ...of('one') })
  for (let n = 4; n <= 6; n++) story.tell(...attempt(failed(), 'one', n)).wait(1e6)
  expect(only(story).reason).toContain('exit code 1, after 6 attempts; before that')
  answer(story, 'failed:one', 'land')
  expect(status(story)).toEqual(['verifying', 'collecting', null])
  const again = (outcome: Outcome): Fact => ({
    kind: 'run.collected',
    run: runId('one', 6),
    outcome,
    ...of('one'),
  })
  story.tell(again(done('c7')))
  expect(status(story)).toEqual(['verifying', 'gates', null])
})

const astray = { is: 'astray', commit: 'c7', on: 'feat', ahead: 2, behind: 0, dirty: false } as const

test('a run that left HEAD astray is a decision; taking it names exactly that commit and looks again', () => {
  const story = told(submit(), ...workspace(), ...attempt(astray))
  expect(only(story)).toMatchObject({
    id: 'decide:one',
    reason: "its agent left its worktree on 'feat', not on its branch 'berth/one'; 2 commits only there",
    evidence: [
      { kind: 'commit', text: 'c7' },
      { kind: 'branch', text: 'feat' },
    ],
    actions: [{ key: 'take' }, { key: 'look-again' }, { key: 'retry' }, { key: 'rm' }],
  })
  expect(status(story)).toEqual(['verifying', 'decide', 'person'])
  answer(story, 'one', 'take')
  expect(story.task().approved).toEqual([{ commit: 'c7', what: 'astray' }])
  expect(status(story)).toEqual(['verifying', 'collecting', null])
})

test.each([
  [{ behind: 1 }, ['git -C /w/one switch berth/one', 'git -C /w/one merge feat']],
  [{ behind: 1, ahead: 0 }, ['git -C /w/one switch berth/one']],
  [{ operation: 'rebase' }, ['git -C /w/one status']],
])('what a branch cannot simply take up is mended by hand: %j', (more, commands) => {
  const item = only(told(submit(), ...workspace(), ...attempt({ ...astray, ...more })))
  expect(item.evidence.filter(({ kind }) => kind === 'command').map(({ text }) => text)).toEqual(commands)
  expect(item.actions.map(({ key }) => key)).toEqual(['look-again', 'retry', 'rm'])
})

test('a run that wrote outside its worktree is a trespass, with the files', () => {
  const story = told(
    submit(),
    ...workspace(),
    ...attempt({ is: 'no-work', denied: [], escaped: ['/repo/a.ts'] }),
  )
  expect(only(story)).toMatchObject({ kind: 'trespass', evidence: [{ kind: 'path', text: '/repo/a.ts' }] })
})

test('a red gate is an item only when the attempts are used up, with its output', () => {
  const story = told(submit(), ...workspace())
  for (let n = 1; n <= 3; n++) {
    expect(ids(story)).toEqual([])
    story.tell(...attempt(done(`c${n}`), 'one', n), ...red('one', `c${n}`)).wait(1e6)
  }
  expect(only(story)).toMatchObject({
    id: 'gate:one',
    reason: "gate 'test' failed: exited with 1, after 3 attempts",
    evidence: [
      { kind: 'gate', text: 'test' },
      { kind: 'output', text: 'not ok 1' },
      { kind: 'output', text: 'expected 2' },
      { kind: 'hint', text: "less '/s/a gate.log'" },
    ],
  })
  expect(status(story)).toEqual(['failed', 'gate', null])
})

test.each<[Landing, string, string[], string[]]>([
  [
    { is: 'conflict', paths: ['a.ts'], tip: 'm0' },
    'conflict:one',
    ['failed', 'conflict'],
    ['retry', 'land', 'rm'],
  ],
  [
    { is: 'gate', gate: 'test', reason: 'exited with 1', tail: ['x'], tip: 'm0' },
    'gate:one',
    ['failed', 'gate'],
    ['retry', 'land', 'rm'],
  ],
  [
    { is: 'target-red', gate: 'test', reason: 'exited with 1', tail: [], tip: 'm0' },
    'target:one',
    ['ready', 'target-red'],
    ['land', 'retry', 'rm'],
  ],
  [
    { is: 'target-busy', paths: ['a.ts'], reason: 'files are in the way' },
    'target:one',
    ['ready', 'target-busy'],
    ['land', 'rm'],
  ],
  [
    { is: 'target-rewritten', was: 'm0', tip: 'm9', left: ['c8'] },
    'target:one',
    ['ready', 'target'],
    ['land', 'retry', 'rm'],
  ],
  [
    { is: 'protected', paths: ['berth.toml'] },
    'approve:one',
    ['ready', 'protected'],
    ['approve', 'retry', 'rm'],
  ],
  [{ is: 'branch-moved', expected: 'c1', found: 'c2' }, 'decide:one', ['ready', 'decide'], ['take', 'rm']],
])('a landing that failed: %j', (failure, id, words, keys) => {
  const story = failing(failure)
  expect(only(story)).toMatchObject({ id })
  expect(status(story).slice(0, 2)).toEqual(words)
  expect(only(story).actions.map(({ key }) => key)).toEqual(keys)
})

test.each(['auto', 'ask', 'never'] as const)('a target that was red before, with --land %s', land => {
  const story = told(submit('one', { land }), ...workspace(), ...attempt(done()), redBefore())
  const reason = "gate 'test' fails without its work, too, on c0: exited with 1"
  if (land === 'auto') {
    expect(ids(story)).toEqual([])
    expect(status(story)).toEqual(['ready', 'ready', 'landing'])
    return
  }
  expect(status(story)).toEqual(['ready', 'target-red', 'person'])
  expect(only(story)).toMatchObject({
    id: 'target:one',
    reason,
    evidence: [
      { kind: 'commit', text: 'c0' },
      { kind: 'gate', text: 'test' },
      { kind: 'output', text: 'not ok 1' },
    ],
    actions: [
      { key: 'land', label: 'test it on the target as it is now, and land it', command: 'berth land one' },
      { key: 'retry' },
      { key: 'rm' },
    ],
  })
  expect(status(answer(story, 'one', 'land'))).toEqual(['ready', 'ready', 'landing'])
})

test('it needs nobody any more when another landing has moved the target since', () => {
  const story = told(submit('one', { land: 'ask' }), submit('two'), ...upToReady('two', 'c2'))
  story.tell(...landed('two', 'c2'))
  story.tell(...workspace(), ...attempt(done()), redBefore())
  expect(ids(story)).toEqual(['target:one'])
  story.tell(submit('mend'), ...upToReady('mend', 'c3'), ...landed('mend', 'c3'))
  expect(ids(story)).toEqual([])
  expect(status(story)).toEqual(['ready', 'ready', 'person'])
})

test('each way out of a landing that failed leads somewhere', () => {
  expect(status(answer(failing({ is: 'conflict', paths: ['a'], tip: 'm0' }), 'one', 'land'))).toEqual([
    'verifying',
    'collecting',
    null,
  ])
  expect(status(answer(failing({ is: 'conflict', paths: ['a'], tip: 'm0' }), 'one', 'retry'))).toEqual([
    'retrying',
    'slot',
    'slot',
  ])
  expect(status(answer(failing({ is: 'protected', paths: ['a'] }), 'one', 'approve'))).toEqual([
    'ready',
    'ready',
    'landing',
  ])
  expect(status(answer(failing({ is: 'branch-moved', expected: 'c1', found: 'c2' }), 'one', 'take'))).toEqual(
    ['verifying', 'collecting', null],
  )
  expect(status(answer(failing({ is: 'target-busy', paths: [], reason: 'busy' }), 'one', 'land'))).toEqual([
    'ready',
    'ready',
    'landing',
  ])
})

test('work that no gate saw is an item only where it would land by itself', () => {
  const unseen = (land: 'auto' | 'ask' | 'never'): Told =>
    told(
      submit('one', { land }),
      ...workspace(),
      ...attempt(done('c1', { uncommitted: true })),
      ready('one', 'c1', { gates: [], uncommitted: true }),
    )
  expect(ids(unseen('ask'))).toEqual([])
  expect(ids(unseen('never'))).toEqual([])
  expect(status(unseen('ask'))).toEqual(['ready', 'uncommitted-work', 'person'])
  expect(only(unseen('auto'))).toMatchObject({
    id: 'approve:one',
    actions: [{ key: 'approve' }, { key: 'retry' }, { key: 'rm' }],
  })
  expect(status(answer(unseen('auto'), 'one', 'approve'))).toEqual(['ready', 'ready', 'landing'])
  const asked = unseen('ask').tell({ kind: 'task.land-asked', by: 'me', ...of('one') })
  expect(status(asked)).toEqual(['ready', 'ready', 'landing'])
})

test('files that Berth must not commit are decided by a person', () => {
  const story = told(
    submit(),
    ...workspace(),
    ...attempt(done('c1', { withheld: [{ path: 'big.bin', why: 'large' }] })),
  )
  expect(only(story)).toMatchObject({ id: 'decide:one', evidence: [{ kind: 'large', text: 'big.bin' }] })
  expect(status(answer(story, 'one', 'go-on'))).toEqual(['verifying', 'gates', null])
})

test('an engine that is signed out is one item, whatever waits for it', () => {
  const story = told(
    submit('one'),
    submit('two'),
    ...workspace(),
    ...attempt({ is: 'signed-out', evidence: '401' }),
  )
  expect(only(story)).toMatchObject({ id: 'signed-out:a', task: 'one', blocks: ['one', 'two'] })
  expect(status(story)).toEqual(['retrying', 'signed-out', 'person'])
  answer(story, 'signed-out:a', 'done')
  expect(ids(story)).toEqual([])
})

test('a clean-up that would lose something is an item, a removal that a person asked for is not', () => {
  const refusal: Fact = {
    kind: 'teardown.refused',
    code: 'loss',
    reason: '3 ignored files',
    losses: [{ kind: 'ignored', count: 3, examples: ['.env'] }],
    holders: [],
    ...of('one'),
  }
  const mode = { save: false, discard: false, branch: false, stop: false, unlock: false }
  const clean = told(
    submit(),
    ...upToReady(),
    ...landed(),
    { kind: 'teardown.asked', mode: { ...mode, by: 'landing' }, ...of('one') },
    refusal,
  )
  expect(only(clean)).toMatchObject({
    id: 'leftover:one',
    evidence: [{ kind: 'ignored', text: '.env' }],
    actions: [
      { key: 'rm', command: 'berth rm one' },
      { key: 'save', command: 'berth rm one --save' },
      { key: 'discard', command: 'berth rm one --discard' },
    ],
  })
  expect(status(clean)).toEqual(['landed', 'landed', null])
  const asked = told(
    submit('one', { land: 'ask' }),
    ...upToReady(),
    { kind: 'teardown.asked', mode: { ...mode, by: 'person' }, ...of('one') },
    refusal,
  )
  expect(ids(asked)).toEqual([])
  expect(status(asked)).toEqual(['ready', 'ready', 'person'])
  // What stood against it then is not what stands against the clean-up after the landing.
  asked.tell(...landed())
  expect(ids(asked)).toEqual([])
  expect(stageOf(asked.fleet, asked.task())).toMatchObject({ is: 'removing', mode: { by: 'landing' } })
})

test('a setup that failed is an item; another try makes the workspace again', () => {
  const story = told(submit(), workspace()[0]!, {
    kind: 'workspace.failed',
    step: 'setup',
    reason: "'npm ci' exited with 1",
    tail: ['ERR'],
    ...of('one'),
  })
  expect(only(story)).toMatchObject({
    id: 'setup:one',
    reason: "while running its setup: 'npm ci' exited with 1",
    evidence: [{ kind: 'output', text: 'ERR' }],
  })
  expect(status(story)).toEqual(['failed', 'setup-failed', null])
  expect(status(answer(story, 'one', 'retry'))).toEqual(['queued', 'slot', 'slot'])
})

test('consent is asked once for a project, and answered once', () => {
  const story = told(submit('one'), submit('two'))
  const { policy } = story.fleet.projects.get('p')!
  story.tell({ kind: 'project.configured', project: 'p', policy: policy!, source: 'berth.toml', hash: 'h1' })
  expect(only(story)).toMatchObject({
    id: 'approve:repo',
    blocks: ['one', 'two'],
    actions: [{ key: 'approve' }],
  })
  expect(status(story)).toEqual(['queued', 'consent', 'person'])
  answer(story, 'approve:repo', 'approve')
  expect(ids(story)).toEqual([])
  expect(status(story)).toEqual(['queued', 'slot', 'slot'])
})

test('what is held is one item for all, and tried again together', () => {
  const held = (task: string): Fact[] => [
    workspace(task)[0]!,
    { kind: 'task.held', reason: 'diverged', detail: "'main' and 'origin/main' have diverged", ...of(task) },
  ]
  const story = told(submit('one'), submit('two'), ...held('one'), ...held('two'))
  expect(only(story)).toMatchObject({ id: 'target:repo:diverged', blocks: ['one', 'two'] })
  expect(status(story)).toEqual(['queued', 'diverged', 'person'])
  answer(story, 'target:repo:diverged', 'resume')
  expect(status(story)).toEqual(['queued', 'slot', 'slot'])
})

test('what blocks the most comes first, then priority, then the oldest; a dependent is listed, also behind another', () => {
  const story = told(
    submit('one'),
    submit('two', { priority: 5 }),
    submit('three'),
    submit('four', { after: ['three'] }),
    submit('five', { after: ['four'] }),
  )
  for (const task of ['one', 'two', 'three'])
    story.tell(...workspace(task), ...attempt(failed({ reason: 'engine-missing' }), task))
  expect(ids(story)).toEqual(['failed:three', 'failed:two', 'failed:one'])
  expect(items(story.fleet, story.clock)[0]).toMatchObject({
    blocks: ['four', 'five'],
    reason: 'the engine is not installed',
  })
})

test('an agent that is blocked or quiet is an item until it goes on', () => {
  const report = (activity: 'blocked' | 'quiet' | 'working', from: 'agent' | 'clock'): Fact => ({
    kind: 'run.reported',
    run: runId('one', 1),
    activity,
    note: 'no key',
    from,
    ...of('one'),
  })
  const story = told(submit(), ...workspace(), ...started(), report('blocked', 'agent'))
  expect(only(story)).toMatchObject({ id: 'blocked:one', reason: 'its agent says it is blocked: no key' })
  expect(status(story)).toEqual(['waiting', 'blocked', 'person'])
  expect(ids(story.tell(report('working', 'agent')))).toEqual([])
  story.tell(report('quiet', 'clock'))
  expect(only(story)).toMatchObject({
    id: 'quiet:one',
    actions: [{ key: 'wait' }, { key: 'stop', command: 'berth stop one' }],
  })
  expect(status(story)).toEqual(['running', 'quiet', null])
  expect(ids(answer(story, 'one', 'wait'))).toEqual([])
})

test('a damaged store is an item until somebody has seen it', () => {
  const story = told({
    kind: 'store.damaged',
    what: 'a page of zeros',
    kept: '/s/berth.db.damaged',
    recovered: 9,
    missing: 'nothing',
  })
  expect(only(story)).toMatchObject({
    id: 'damaged',
    evidence: [{ kind: 'kept' }, { kind: 'missing', text: 'nothing' }],
  })
  expect(ids(answer(story, 'damaged', 'seen'))).toEqual([])
})

test('a task with several items is not answered by its name', () => {
  const story = told(submit(), ...workspace(), ...started(), question('q'), collected(done()))
  expect(findItems(story.fleet, story.clock, { item: 'one' }).map(({ id }) => id)).toEqual(['decide:one:q1'])
  expect(findItems(story.fleet, story.clock, { item: 'two' })).toEqual([])
})

test('work that keeps changing is a decision, and a person who looks again begins the count anew', () => {
  const story = told(submit(), ...upToReady())
  const change = (commit: string): Told =>
    story.tell(
      { kind: 'task.withdrawn', commit, reason: 'HEAD moved', ...of('one') },
      collected(done(`${commit}x`)),
    )
  for (const i of [1, 2, 3, 4, 5]) change(`d${i}`)
  expect(ids(story)).toEqual([])
  change('d6')
  const item = only(story)
  expect([item.kind, item.actions.map(({ key }) => key)]).toEqual(['decide', ['look-again', 'retry', 'rm']])
  answer(story, item.id, 'look-again').tell(collected(done('e1')))
  expect([ids(story), status(story)[0]]).toEqual([[], 'verifying'])
})

test('what holds the landing queue names those that it holds up, and a call of theirs needs a person too', () => {
  const rewritten: Landing = {
    is: 'target-rewritten',
    was: 'a'.repeat(40),
    tip: 'b'.repeat(40),
    left: ['c8'],
  }
  const story = told(submit('one'), ...upToReady('one'), landing('one'))
  story.tell({ kind: 'landing.failed', commit: 'c1', failure: rewritten, ...of('one') })
  story.tell(submit('two'), ...upToReady('two', 'c2'), submit('three', { after: ['two'] }))
  expect(only(story)).toMatchObject({
    id: 'target:one',
    reason: 'the target was rewritten: bbbbbbbbbb does not contain aaaaaaaaaa',
    blocks: ['two', 'three'],
  })
  expect(exitOf(story.fleet, [story.task('two')], story.clock)).toBe(3)
  story.tell({ kind: 'task.land-asked', by: 'me', ...of('one') })
  expect(ids(story)).toEqual([])
})
