// Every fact the product records: the vocabulary of the timeline. A fact is past tense, self-contained and
// never edited; a new field is optional, an old one never changes its meaning. Everything else is derived.
//
// Two classes (docs/decisions/0035): *state* facts are folded, never expire and are synced before anyone acts on
// them; *observations* are not folded and may be trimmed. `seq` numbers both.

import { type ProjectPolicy, type Limits } from './config.ts'
import { type Landing, type Outcome, type RedTarget, type RunEnd, type Usage } from './outcome.ts'

/** Repository id (hex digest of its git common directory and state id). */
export type ProjectId = string
/** A task's name, unique among the live tasks of its project. */
export type TaskName = string
/** UUID. People see `login#1`; no kill ever uses that. */
export type RunId = string

export type LandMode = 'auto' | 'ask' | 'never'

/** What a person asked for. The brief itself lies under `<state>/private`, byte for byte; `title` is redacted. */
export type TaskSpec = {
  title: string
  kind: string
  labels: string[]
  priority: number
  after: TaskName[]
  /** Shell lines; undefined means the project's gates. */
  gates?: string[]
  touches: string[]
  engine: string
  model?: string
  account?: string
  land: LandMode
  /** A revision; undefined means the tip of the target. */
  base?: string
  /** Either may stop the task: US dollars, tokens. */
  budget?: { usd?: number; tokens?: number }
  /** Of one run, counted awake and not while it waits for an answer. */
  timeoutMs?: number
  /** For engine `command`: a shell line. */
  command?: string
  changes: 'required' | 'optional'
  stdin: 'prompt' | 'none'
  pty: boolean
  /** Folder inside the worktree where the agent starts. */
  cwd?: string
}

/**
 * What a person can wave through: work that no gate saw, protected paths, files left out, an end without work, a
 * commit that was left elsewhere than on the task's branch.
 */
export type Approval = 'uncommitted-work' | 'protected' | 'withheld' | 'no-work' | 'astray'

export type Question = { id: string; text: string; choices: string[] }

export type Loss = {
  kind:
    | 'staged'
    | 'unstaged'
    | 'untracked'
    | 'hidden'
    | 'ignored'
    | 'commits'
    | 'operation'
    | 'nested'
    | 'submodule'
    | 'unknown'
  count: number
  /** At most 20 paths or commit ids. */
  examples: string[]
}

export type Holder = {
  pid: number
  command: string
  startedAt?: number
  whose: 'ours' | 'person' | 'unknown'
  what: string
}

export type TeardownStep =
  | 'refuse'
  | 'cancel'
  | 'quit'
  | 'kill'
  | 'save'
  | 'aside'
  | 'unregister'
  | 'delete'
  | 'branch'
  | 'release'

/** What a removal does not take along, known before git forgets the worktree. */
export type Leaves = {
  /** Processes of a person. */
  named: Holder[]
  /** Made in it; all worktrees of a repository share them. */
  stashes: number
  /** What becomes of the branch in its step; absent where there is none. */
  branch?: BranchFate
}

export type BranchFate =
  /** `rule`: which of them says that nothing is lost with it, or `asked`. */
  | { is: 'goes'; branch: string; commit: string; rule: string }
  /** `hint`: a command that takes it nevertheless, or says more. */
  | { is: 'kept'; branch: string; commit: string; reason: string; hint?: string }

/** How a person, or the landing clean-up, asked for a removal. */
export type TeardownMode = {
  save: boolean
  discard: boolean
  branch: boolean
  stop: boolean
  unlock: boolean
  /** `landing`: what would be lost is saved without asking, up to `savedBytes` (docs/decisions/0007). */
  by: 'person' | 'landing' | 'purge'
}

type OfProject = { project: ProjectId }
type OfTask = OfProject & { task: TaskName }
type OfRun = OfTask & { run: RunId }

export type StateFact =
  // the loop, the host, the whole fleet
  | {
      kind: 'loop.started'
      boot: string
      offset: number
      version: string
      pid: number
      admission: 'open' | 'closed'
    }
  | { kind: 'loop.stopped'; reason: string }
  | { kind: 'admission.opened'; by: string }
  | { kind: 'admission.closed'; by: string }
  | { kind: 'fleet.paused'; by: string }
  | { kind: 'fleet.resumed'; by: string }
  | { kind: 'limits.set'; limits: Limits }
  | { kind: 'host.slept'; ms: number }
  | { kind: 'host.restarted'; boot: string }
  | { kind: 'store.damaged'; what: string; kept: string; recovered: number; missing: string }
  | { kind: 'log.trimmed'; from: number; to: number; count: number }
  // a project
  | ({ kind: 'project.seen'; root: string; commonDir: string; name: string } & OfProject)
  | ({ kind: 'project.configured'; policy: ProjectPolicy; source: string; hash: string } & OfProject)
  | ({ kind: 'project.refused'; reason: string; hint?: string } & OfProject)
  | ({ kind: 'consent.given'; hash: string; by: string } & OfProject)
  // a task
  | ({
      kind: 'task.submitted'
      spec: TaskSpec
      /** Where the brief lies under `<state>/private`, and its size and digest. */
      brief: { file: string; bytes: number; sha256: string }
      /** The call that submitted it: what `run` waits for. */
      call: string
      /** PATH and the names (never values) of variables passed through (docs/decisions/0014). */
      passed?: { path: string; names: string[] }
      /** Digest of spec and brief: the same task given again is joined, another is `name-taken`. */
      digest: string
    } & OfTask)
  | ({ kind: 'task.stopped'; by: string } & OfTask)
  | ({ kind: 'task.retried'; by: string } & OfTask)
  | ({ kind: 'task.resumed'; by: string } & OfTask)
  | ({ kind: 'task.dropped'; by: string } & OfTask)
  | ({ kind: 'task.land-asked'; by: string } & OfTask)
  /** A person looked at exactly this commit and lets it go on in spite of `what`. */
  | ({ kind: 'task.approved'; commit: string; what: Approval; by: string } & OfTask)
  | ({
      kind: 'task.held'
      reason: 'consent' | 'diverged' | 'target' | 'disk' | 'config'
      detail: string
    } & OfTask)
  | ({ kind: 'task.released'; reason: string } & OfTask)
  | ({ kind: 'task.noted'; text: string; run?: RunId } & OfTask)
  // its workspace
  | ({ kind: 'workspace.claimed'; path: string; branch: string; home: string } & OfTask)
  /** Its worktree went by another hand: it is made again, on its branch, before anything starts in it. */
  | ({ kind: 'workspace.missing'; reason: string } & OfTask)
  | ({
      kind: 'workspace.ready'
      path: string
      branch: string
      home: string
      base: string
      /** What decided the base: `config remote-head ls-remote current-branch option dependency`. */
      baseRule: string
      /** The branch was there before, with these commits beyond the base. */
      tookUp?: number
      notices: string[]
      ports?: number[]
      /** Full name of the branch that its work lands on. */
      target?: string
    } & OfTask)
  | ({ kind: 'workspace.failed'; step: string; reason: string; hint?: string; tail?: string[] } & OfTask)
  | ({ kind: 'workspace.stuck'; step: string; reason: string; holders: Holder[] } & OfTask)
  | ({ kind: 'setup.started'; command: string; index: number } & OfTask)
  | ({
      kind: 'setup.exited'
      command: string
      index: number
      code: number | null
      signal: string | null
      ms: number
      timedOut: boolean
      tail: string[]
    } & OfTask)
  // a run
  | ({
      kind: 'run.claimed'
      engine: string
      model?: string
      account?: string
      attempt: number
      resume?: string
    } & OfRun)
  | ({
      kind: 'run.started'
      pid: number
      startedAt: string
      supervisor: number
      base: string
      session?: string
    } & OfRun)
  /** It can be continued from now on; empty: the one that was to be continued is gone. */
  | ({ kind: 'run.session'; session: string } & OfRun)
  | ({
      kind: 'run.reported'
      activity: 'working' | 'blocked' | 'done' | 'quiet'
      note: string
      from: 'agent' | 'engine' | 'clock'
    } & OfRun)
  | ({ kind: 'run.limited'; until: number | null; text: string; from: 'agent' | 'engine' } & OfRun)
  | ({ kind: 'run.signed-out'; text: string; from: 'agent' | 'engine' } & OfRun)
  | ({ kind: 'run.ending'; why: 'stopped' | 'timeout' | 'budget' | 'interrupted' | 'removal' } & OfRun)
  | ({ kind: 'run.exited'; code: number | null; signal: string | null; usage: Usage; end: RunEnd } & OfRun)
  | ({ kind: 'run.lost'; reason: string } & OfRun)
  | ({ kind: 'run.collected'; outcome: Outcome } & OfRun)
  | ({ kind: 'usage.counted'; usage: Usage } & OfRun)
  | ({ kind: 'question.asked'; question: Question } & OfRun)
  | ({ kind: 'question.answered'; id: string; answer: string | null; by: string } & OfRun)
  | ({ kind: 'question.expired'; id: string } & OfRun)
  // engines and accounts
  | {
      kind: 'account.signed-out'
      engine: string
      account: string
      evidence: string
      project: ProjectId
      task: TaskName
      run: RunId
    }
  | { kind: 'account.signed-in'; engine: string; account: string; by: string }
  // what passed, and where it went
  | ({
      kind: 'gate.started'
      gate: string
      commit: string
      where: 'workspace' | 'integration' | 'target'
    } & OfTask)
  | ({
      kind: 'gate.exited'
      gate: string
      commit: string
      where: 'workspace' | 'integration' | 'target'
      code: number | null
      signal: string | null
      ms: number
      timedOut: boolean
      /** A missing program, a changed worktree, a time-out: said in words. */
      reason?: string
      tail: string[]
      /** The file with all of its output, if it failed. */
      output?: string
    } & OfTask)
  | ({
      kind: 'task.ready'
      commit: string
      gates: string[]
      changes: ChangeCount
      uncommitted: boolean
      /** Fails on what its work stands on, too: its landing judges it. */
      red?: RedTarget
    } & OfTask)
  /** `unknown`: the gates could not be judged at all, and no agent is asked to mend it. */
  | ({ kind: 'task.red'; commit: string; gate: string; reason: string; unknown?: true } & OfTask)
  /** `by`: a person who asked to look again; without it something was seen to change. */
  | ({ kind: 'task.withdrawn'; commit: string; reason: string; by?: string } & OfTask)
  | ({ kind: 'landing.claimed'; commit: string; target: string } & OfTask)
  | ({ kind: 'landing.tested'; commit: string; target: string; tip: string; merge: string } & OfTask)
  | ({ kind: 'landing.landed'; commit: string; target: string; merge: string; rule: string } & OfTask)
  | ({ kind: 'landing.failed'; commit: string; failure: Landing } & OfTask)
  // removal
  | ({ kind: 'teardown.asked'; mode: TeardownMode } & OfTask)
  | ({
      kind: 'teardown.refused'
      code: string
      reason: string
      hint?: string
      losses: Loss[]
      holders: Holder[]
    } & OfTask)
  /** `leaves`: with step `unregister`, after which a removal only goes on. */
  | ({ kind: 'teardown.stepped'; step: TeardownStep; detail?: string; leaves?: Leaves } & OfTask)
  | ({
      kind: 'work.saved'
      id: string
      ref: string
      commit: string
      archive?: string
      losses: Loss[]
      why: string
    } & OfTask)
  | ({ kind: 'saved.removed'; id: string; by: string } & OfTask)
  | ({ kind: 'work.restored'; id: string; to: string } & OfTask)
  | ({ kind: 'workspace.aside'; trash: string } & OfTask)
  | ({ kind: 'branch.deleted'; branch: string; commit: string; rule: string } & OfTask)
  | ({ kind: 'branch.kept'; branch: string; commit: string; reason: string; hint?: string } & OfTask)
  | ({ kind: 'workspace.removed'; named: Holder[] } & OfTask)
  // attention, recorded when the derived list of items changes
  | ({ kind: 'attention.raised'; item: string; what: ItemKind; reason: string } & OfProject & {
        task?: TaskName
      })
  | ({ kind: 'attention.cleared'; item: string; what: ItemKind; by: string } & OfProject & {
        task?: TaskName
      })
  | ({ kind: 'attention.answered'; item: string; answer: string; by: string } & OfProject & {
        task?: TaskName
      })

export type Observation =
  | ({
      kind: 'tool.called'
      tool: string
      id: string
      paths: string[]
      command?: string
      ok?: boolean
      exitCode?: number
    } & OfRun)
  | ({ kind: 'message.said'; role: 'agent' | 'thought' | 'user'; text: string } & OfRun)
  | ({ kind: 'engine.retried'; text: string; status?: number } & OfRun)
  | ({
      kind: 'file.changed'
      path: string
      change: 'added' | 'modified' | 'deleted' | 'renamed' | 'type'
      insertions?: number
      deletions?: number
      from?: string
    } & OfRun)
  | ({ kind: 'commit.made'; commit: string; subject: string; by: 'agent' | 'berth' | 'person' } & OfRun)
  | ({ kind: 'output.dropped'; bytes: number } & OfRun)
  | ({ kind: 'output.marked'; offset: number } & OfRun)
  | ({ kind: 'trespass.seen'; where: string; paths: string[] } & OfRun)
  | ({ kind: 'notice.given'; text: string; run?: RunId } & OfTask)

export type ChangeCount = { files: number; insertions: number; deletions: number; commits: number }

/** The kinds of attention items (docs/decisions/0031). */
export type ItemKind =
  | 'decide'
  | 'approve'
  | 'blocked'
  | 'signed-out'
  | 'quiet'
  | 'failed'
  | 'conflict'
  | 'budget'
  | 'trespass'
  | 'leftover'
  | 'gate'
  | 'setup'
  | 'target'
  | 'config'
  | 'disk'
  | 'damaged'

export type Fact = StateFact | Observation

/** `at`: wall clock, ms since 1970. `awake`: ms that the host was awake, never going back (docs/decisions/0026). */
export type Stamp = { seq: number; at: number; awake: number; host: string; because?: number }

export type Event<F extends Fact = Fact> = F & Stamp

const observed: Record<Observation['kind'], true> = {
  'tool.called': true,
  'message.said': true,
  'engine.retried': true,
  'file.changed': true,
  'commit.made': true,
  'output.dropped': true,
  'output.marked': true,
  'trespass.seen': true,
  'notice.given': true,
}

/** Whether a fact is an observation: not folded, may be trimmed. */
export const isObservation = (fact: Fact): fact is Observation => Object.hasOwn(observed, fact.kind)
