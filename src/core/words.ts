// Small parts of what is said to people.

import { type TeardownStep } from './event.ts'

/** What a statement rests on: of which kind, and the text itself. */
export type Evidence = { kind: string; text: string }

/** Names for a sentence: the first three, and how many more. */
export function list(names: readonly string[]): string {
  const shown = names
    .slice(0, 3)
    .map(name => `'${name}'`)
    .join(', ')
  return names.length > 3 ? `${shown} and ${names.length - 3} more` : shown
}

/** `1 file`, `2 files`. */
export const count = (many: number, what: string): string => `${many} ${what}${many === 1 ? '' : 's'}`

/** `text: note`, or `text` alone where there is no note. */
export const noted = (text: string, note: string): string => (note === '' ? text : `${text}: ${note}`)

/** Of a removal that goes on: nothing stopped it. */
export const beingRemoved = 'it is being removed'

/** What each step of a removal has done. */
export const removalDone: { [step in TeardownStep]: string } = {
  refuse: 'removal: nothing speaks against it',
  cancel: 'removal: setup and gates are cancelled',
  quit: 'removal: the agent was asked to stop',
  kill: 'removal: its processes are ended',
  save: 'removal: looked again for what would be lost',
  aside: 'removal: the directory is out of the way',
  unregister: "removal: it is out of git's list of worktrees",
  delete: 'removal: its files are deleted',
  branch: 'removal: its branch is seen to',
  release: 'removal: ports, temporary folders and home are given back',
}

/** What a removal was doing when it stopped. */
export const removalDoing: { [step: string]: string } = {
  refuse: 'looking for what would be lost',
  cancel: 'cancelling setup and gates',
  quit: 'asking the agent to stop',
  kill: 'ending its processes',
  save: 'saving what would be lost',
  aside: 'moving the directory out of the way',
  unregister: "taking it out of git's list of worktrees",
  delete: 'deleting its files',
  branch: 'deleting its branch',
  release: 'giving back ports, temporary folders and home',
} satisfies { [step in TeardownStep]: string }

/** Empty for none. */
export const stashWords = (count: number): string =>
  count === 0
    ? ''
    : `${count} ${count === 1 ? 'stash' : 'stashes'} made in it ${count === 1 ? 'stays' : 'stay'}`

/** Of a branch that a workspace found: its commits beyond the base, which stay in it. */
export const tookUpWords = (commits: number): string =>
  commits === 0
    ? 'with no commit of its own'
    : `and its ${commits === 1 ? 'commit is' : `${commits} commits are`} kept`

/** Why nothing is lost with a branch that was deleted. */
export const branchRules: { [rule: string]: string } = {
  empty: 'it had no commit of its own',
  same: 'the target is at this commit',
  ancestor: 'its commits are in the target',
  'no-change': 'its commits change nothing',
  tree: 'the target has its changes already',
  rebased: 'its changes are in the target, as other commits',
  squashed: 'its changes are in the target, as one commit',
  asked: 'as asked',
}

/** What decided where a workspace began. */
export const baseRules: { [rule: string]: string } = {
  config: 'the configured target',
  'remote-head': "the remote's default branch",
  'ls-remote': "the remote's default branch",
  'current-branch': 'the branch that was checked out',
  option: 'the base that was asked for',
  local: 'the local branch',
  remote: 'the remote branch',
  dependency: 'what it waited for',
  integration: 'for landing',
}
