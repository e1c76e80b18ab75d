// Commands that people type: the words, and the repository that they mean.

import { expect, test } from 'vitest'
import { gitCall, meaning } from '../../src/core/shellword.ts'

test('a call of git works from everywhere, whatever its words hold', () => {
  expect(gitCall("/a b's", 'switch', 'berth/x')).toBe("git -C '/a b'\\''s' switch berth/x")
})

test.each([
  ['berth show x', "berth show x --repo '../a b'"],
  ['berth answer decide:x:q1 "…"', 'berth answer decide:x:q1 "…" --repo \'../a b\''],
  ["berth run -- '- x'", "berth run --repo '../a b' -- '- x'"],
  ['git stash list', "git -C '../a b' stash list"],
  ['git -C /r log', 'git -C /r log'],
  ['git config --global a b', 'git config --global a b'],
  ['berth show x --repo /other', 'berth show x --repo /other'],
  ['berth run --help', 'berth run --help'],
  ['less /s/gate.log', 'less /s/gate.log'],
])('%s names the repository that the call named', (command, typed) => {
  expect(meaning('../a b', command)).toBe(typed)
  expect(meaning(undefined, command)).toBe(command)
})
