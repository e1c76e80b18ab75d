// Small parts of what is said to people.

import { type ReasonCode, reasonCodes } from './api.ts'
import { type EndWhy } from './effect.ts'
import { type Approval, type TeardownStep } from './event.ts'
import { type RedTarget } from './outcome.ts'
import { neverStarted } from './run.ts'

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

/** What was being done when something did not go on, by the step that a fact names. */
const steps: { [step: string]: string } = {
  ...({
    refuse: 'looking for what would be lost',
    cancel: 'cancelling setup and gates',
    quit: 'asking the agent to stop',
    kill: 'ending its processes',
    save: 'saving what would be lost',
    aside: 'moving the directory out of the way',
    unregister: "taking it out of git's list of worktrees",
    delete: 'deleting its files',
    branch: 'seeing to its branch',
    release: 'giving back ports, temporary folders and home',
  } satisfies { [step in TeardownStep]: string }),
  ask: 'asking git',
  base: 'finding where it begins',
  'branch-busy': 'taking up its branch',
  'branch-checked-out': 'taking up its branch',
  'branch-clash': 'making its branch',
  bug: 'doing what nobody foresaw',
  changes: 'counting its changes',
  checkout: 'checking out its files',
  clear: 'clearing the place of the merge',
  collect: 'looking at what its agent left',
  commit: 'committing',
  conflict: 'merging what it waited for',
  copy: 'copying its records aside',
  create: 'making its worktree',
  files: 'making its files',
  find: 'looking for it',
  gates: 'running its gates',
  home: 'making its home',
  integrate: 'merging it with the target',
  land: 'moving the target',
  list: "reading git's list of worktrees",
  merge: 'merging it with the target',
  mode: 'landing',
  move: 'moving the target',
  path: 'looking at its place',
  'path-folds': 'looking at its place',
  'path-inside': 'looking at its place',
  'path-registered': 'looking at its place',
  push: 'pushing the target',
  register: 'making its worktree',
  room: 'copying its records aside',
  remove: "taking it out of git's list of worktrees",
  reset: 'taking back what was restored',
  rollback: 'taking back what was made',
  setup: 'running its setup',
  snapshot: 'saving its files',
  status: 'reading its worktree',
  survey: 'looking for what there is to save',
  target: 'reading the target',
  unpack: 'unpacking its files',
  verify: 'checking what was done',
}

/** `deleting its files`, for what stopped while it was being done. */
export const doing = (step: string): string => (Object.hasOwn(steps, step) ? steps[step]! : step)

/** `while deleting its files: device busy`. */
export const failedWhile = ({ step, reason }: { step: string; reason: string }): string =>
  `while ${doing(step)}: ${reason}`

/** Why an agent was ended. */
export const endWhys: { [why in EndWhy]: string } = {
  stopped: 'it was to be stopped',
  timeout: 'its time was up',
  budget: 'it was over its budget',
  interrupted: 'it was interrupted',
  removal: 'its task is to be removed',
}

/** What a person let pass. */
export const approvals: { [what in Approval]: string } = {
  'uncommitted-work': 'what Berth committed of it',
  protected: 'what it changes of the protected paths',
  withheld: 'what is left out of it',
  'no-work': 'that it changes nothing',
  astray: 'that its branch takes it up',
}

/** Where a gate ran. */
export const gatePlaces: { [where in 'workspace' | 'integration' | 'target']: string } = {
  workspace: 'in its workspace',
  integration: 'on the merge with the target',
  target: 'without its work',
}

/** How what has landed came into the target. */
export const landedRules: { [rule: string]: string } = {
  merged: 'merged',
  pushed: 'pushed',
  contained: 'it was there already',
}

/** A reason that may be a code, as people read it. */
export function reasonText(reason: string): string {
  if (reason === neverStarted) return 'it was never started'
  return Object.hasOwn(reasonCodes, reason) ? reasonCodes[reason as ReasonCode] : reason
}

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

/** Why its own gates do not judge the work of a task. */
export const redBefore = ({ gate, reason, tip }: RedTarget): string =>
  `gate '${gate}' fails without its work, too, on ${tip.slice(0, 10)}: ${reason}`
