// The wire contract between the daemon and those who ask it: requests, answers, views, stream messages.
// Newline-delimited JSON-RPC over the socket; the first message both ways is a hello.

import {
  type Event,
  type Holder,
  type ItemKind,
  type Loss,
  type TaskSpec,
  type TeardownMode,
} from './event.ts'
import { type Outcome } from './outcome.ts'
import { type RunState } from './run.ts'
import { type Interruption } from './stage.ts'

/** Raised whenever an older reader would misunderstand. Hello, handOver, status and stop never change. */
export const contract = 1

export type Status =
  | 'queued'
  | 'preparing'
  | 'running'
  | 'waiting'
  | 'retrying'
  | 'verifying'
  | 'ready'
  | 'landing'
  | 'landed'
  | 'failed'
  | 'stopped'
  | 'dropped'

/** Why a status is what it is: closed, published in docs/cli.md. */
export const reasonCodes = {
  slot: 'waits for a free slot',
  dependency: 'waits behind a dependency',
  paused: 'the fleet is paused',
  closed: 'nothing is admitted until `berth resume`',
  consent: 'waits for a person to approve what the repository makes Berth run',
  diverged: 'the target and its remote have diverged',
  target: 'the target was rewritten, deleted or renamed',
  'target-busy': 'the checkout of the target has work in the way',
  'target-red': 'the gates are red on the target itself',
  disk: 'too little space on disk',
  config: 'the configuration has a problem',
  creating: 'its workspace is being made',
  setup: 'a setup command is running',
  'setup-failed': 'a setup command failed',
  'create-failed': 'its workspace could not be made',
  'cut-off': 'what was being done for it was cut off',
  starting: 'its agent is being started',
  working: 'its agent is at work',
  quiet: 'its agent has said nothing for long',
  question: 'its agent asked a question',
  blocked: 'its agent says it is blocked',
  permission: 'its agent waits for a permission',
  ending: 'its agent is being ended',
  collecting: 'what its agent left is being looked at',
  backoff: 'waits before the next attempt',
  quota: 'waits until the usage limit resets',
  'signed-out': 'the engine is signed out',
  'host-restarted': 'the machine was restarted',
  lost: 'its agent was lost',
  gates: 'its gates are running',
  gate: 'a gate failed',
  ready: 'its gates passed',
  'uncommitted-work': 'Berth committed what the agent left, and no gate has seen it',
  decide: 'a person must decide',
  protected: 'its changes touch what the repository protects',
  integrating: 'it is being merged with the target and tested',
  landed: 'it is in the target',
  conflict: 'it conflicts with the target',
  'no-work': 'its agent ended without any change',
  exit: 'its agent failed',
  'engine-error': 'the engine reported an error',
  'engine-missing': 'the engine is not installed',
  denied: 'a permission was denied',
  timeout: 'it ran out of time',
  budget: 'it is over its budget',
  unknown: 'something could not be found out',
  stopped: 'a person stopped it',
  interrupted: 'it was interrupted; `berth run` goes on with it',
  dropped: 'a person removed it',
} as const

export type ReasonCode = keyof typeof reasonCodes

export type WaitsFor = 'person' | 'quota' | 'dependency' | 'slot' | 'landing'

/** One row of `ls --json`. Times are ISO 8601 UTC with milliseconds. */
export type TaskView = {
  task: string
  project: string
  repo: string
  title: string
  kind: string
  labels: string[]
  priority: number
  after: string[]
  status: Status
  /** One sentence with the evidence. */
  reason: string
  reasonCode: ReasonCode
  until: string | null
  waitsFor: WaitsFor | null
  /** It would go on by itself, but no Berth is running. */
  unattended: boolean
  engine: string
  model: string | null
  account: string | null
  attempt: number
  branch: string | null
  base: string | null
  commit: string | null
  worktree: string | null
  host: string
  ports: number[]
  land: 'auto' | 'ask' | 'never'
  startedAt: string | null
  updatedAt: string
  cost: { usd: number; inputTokens: number; outputTokens: number }
  changes: { files: number; insertions: number; deletions: number; dirty: boolean | null }
  removal: { step: string; reason: string; holders: Holder[] } | null
  /** What reconcile found that the records do not say; empty when all agrees. */
  differences: { what: string; sentence: string; command: string }[]
}

export type Action = { key: string; label: string; command: string }

export type ItemView = {
  id: string
  kind: ItemKind
  task: string | null
  project: string
  since: string
  reason: string
  evidence: { kind: string; text: string; seq?: number }[]
  blocks: string[]
  actions: Action[]
  question?: { text: string; choices: string[] }
}

export type RunView = {
  run: string
  name: string
  engine: string
  model: string | null
  account: string | null
  attempt: number
  session: string | null
  startedAt: string | null
  endedAt: string | null
  state: RunState['phase']
  outcome: Outcome['is'] | null
  code: number | null
  signal: string | null
  usage: { usd: number; inputTokens: number; outputTokens: number }
}

export type ShowView = TaskView & {
  brief: string
  runs: RunView[]
  gates: {
    gate: string
    passed: boolean
    /** Why it did not pass, in words. */
    reason: string | null
    code: number | null
    ms: number
    at: string
    where: 'workspace' | 'integration' | 'target'
    tail: string[]
    /** The file with all of its output, if it failed. */
    output: string | null
  }[]
  questions: {
    id: string
    text: string
    choices: string[]
    state: 'open' | 'answered' | 'declined' | 'expired'
    answer: string | null
  }[]
  notes: string[]
  saved: SavedView[]
  items: ItemView[]
  /** The commit of the target that brought its work in, once it has landed. */
  landedAs: string | null
  merged: { is: boolean; rule: string } | null
  /** The branch that it lands on, where that is known. */
  target: string | null
  /** Commits of the target that its branch lacks; null where there is no branch, or it cannot be told. */
  behind: number | null
  losses: Loss[]
}

export type SavedView = {
  id: string
  task: string
  at: string
  ref: string
  commit: string
  archive: string | null
  why: string
  losses: Loss[]
}

/** What is in it, too. */
export type SavedDetail = SavedView & {
  /** Paths in its commit that differ from the commit that the work stood on. */
  files: string[]
  /** Paths in its archive: what no commit holds. */
  archived: string[]
}

/** One task as a caller gives it: a spec with the brief's exact text. `name` is fixed if the person chose it. */
export type Submission = {
  name?: string
  brief: string
  /** Undefined fields take the project's defaults. */
  spec: Partial<TaskSpec> & { title: string }
}

export type SubmitAnswer = {
  tasks: {
    task: string
    state: 'submitted' | 'joined' | 'landed' | 'already-running'
    since?: string
    where?: string
  }[]
  /** What a person should know about it, one sentence each. */
  notices?: string[]
}

/** Every request: its parameters and its answer. */
export type Requests = {
  submit: {
    params: {
      call: string
      repo: string
      tasks: Submission[]
      trust: boolean
      /** Named variables of the caller that are passed to agents, and its PATH. */
      env: { [name: string]: string }
      flags: { jobs?: number; land?: 'auto' | 'ask' | 'never'; base?: string }
    }
    answer: SubmitAnswer
  }
  /** Ends when no task of the call can go on without a person. Streams events meanwhile. */
  follow: {
    params: { call?: string; repo?: string; tasks?: string[]; from?: number }
    answer: { exit: number }
  }
  ls: { params: { repo?: string; all: boolean }; answer: { tasks: TaskView[] } }
  /** `here`: where the commands of the items are typed; those of another repository name it. */
  inbox: { params: { repo?: string; here?: string }; answer: { items: ItemView[]; unattended: string[] } }
  show: { params: { repo: string; task: string }; answer: ShowView }
  answer: {
    params: { repo?: string; item: string; answer: string | null; by: string }
    answer: { item: ItemView }
  }
  stop: {
    params: { repo: string; tasks: string[]; by: string }
    answer: { stopped: string[]; already: string[] }
  }
  retry: {
    /** `askedAt`, wall ms: a task that was retried after it is not retried twice. */
    params: { repo: string; tasks: string[]; by: string; askedAt?: number }
    answer: { retried: string[]; already: string[] }
  }
  /**
   * A foreground `run` was interrupted: its tasks go no further. `force` kills what does not end by itself.
   * With `only` what is alive is stopped, and nothing else. `by`: what caused it, if not a signal.
   */
  interrupt: { params: { call: string; force: boolean; only?: 'runs'; by?: Interruption }; answer: object }
  pause: { params: { by: string }; answer: { already: boolean } }
  resume: {
    /** `trust`: with consent to what the repository makes Berth run. */
    params: { repo?: string; tasks?: string[]; by: string; trust?: boolean }
    /** `going`: what else goes on by itself. */
    answer: { resumed: string[]; going: string[]; already: boolean }
  }
  land: {
    params: { repo: string; tasks: string[]; dryRun: boolean; by: string }
    /** `skipped`: ready, but to be kept unless they are named. */
    answer: { queued: { task: string; would?: string }[]; skipped: string[] }
  }
  rm: {
    params: { repo: string; tasks: string[]; mode: TeardownMode; wait: boolean; cwd: string }
    answer: { removed: RemovalAnswer[] }
  }
  saved: { params: { repo: string }; answer: { saved: SavedView[] } }
  savedShow: { params: { repo: string; id: string }; answer: { saved: SavedDetail } }
  savedRm: {
    /** `yes`: also what an archive holds alone. */
    params: { repo: string; ids: string[]; yes: boolean; by: string }
    /** `commits`: one of each, which git keeps until it collects its garbage. */
    answer: { removed: string[]; commits: string[] }
  }
  restore: {
    params: { repo: string; id: string; to?: string; task?: string; by: string }
    /** `left`: paths of the saved work that were not brought back; then `hint` leads on to them. */
    answer: { to: string; left: string[]; hint?: string }
  }
  reconcile: {
    params: { repo: string; fix: boolean }
    answer: { differences: DifferenceView[]; finished: Finished[] }
  }
  purge: {
    params: { repo: string; yes: boolean }
    /** `stays`: what no purge removes. */
    answer: { would: string[]; removed: string[]; kept: { what: string; reason: string }[]; stays: string[] }
  }
  ask: {
    params: { run: string; token: string; question: string; choices: string[]; timeoutMs?: number }
    answer: { answer: string | null; how: 'answered' | 'declined' | 'timeout' | 'stopped' }
  }
  report: {
    params: {
      run: string
      token: string
      activity: 'working' | 'blocked' | 'done' | 'limited' | 'signed-out'
      note: string
      until?: number
    }
    answer: object
  }
  status: { params: object; answer: DaemonStatus }
  handOver: { params: object; answer: object }
  /** `daemon start`: the loop stays when there is nothing to do, and starts what may start. */
  keep: { params: object; answer: object }
  stopDaemon: { params: { stopRuns: boolean }; answer: object }
}

export type Verb = keyof Requests

export type DifferenceView = {
  task: string | null
  what: string
  path: string | null
  sentence: string
  command: string
  fixed: boolean
}

/** What a Berth that was ended had begun, and this one brought to its end. */
export type Finished = { task: string; sentence: string }

export type RemovalAnswer =
  | ({ task: string; is: 'removed'; saved?: string; /** Before this call. */ already?: true } & Left)
  /** Nothing of the branch is done yet. */
  | ({ task: string; is: 'aside'; saved?: string } & Left)
  | {
      task: string
      is: 'refused'
      code: string
      reason: string
      hint?: string
      losses: Loss[]
      holders: Holder[]
    }
  | { task: string; is: 'stuck'; step: string; reason: string; holders: Holder[] }

/** What a removal did with the branch, and what it left alone. */
export type Left = {
  /** `going`: it will be deleted, once the files are. */
  branch: 'deleted' | 'going' | 'kept' | 'none'
  kept?: { branch: string; commit: string; reason: string; hint?: string }
  named: Holder[]
  stashes: number
}

export type DaemonStatus = {
  pid: number
  version: string
  contract: number
  stateId: string
  since: string
  admission: 'open' | 'closed'
  paused: boolean
  alive: number
  tasks: number
  foreground: boolean
}

export type Hello = {
  berth: 1
  contract: number
  stateId: string
  runId?: string
  version: string
  role: 'daemon' | 'supervisor' | 'client'
}

export type Request = { id: number; verb: Verb; params: unknown }
export type Response =
  | { id: number; answer: unknown }
  | { id: number; error: { code: string; message: string; hint?: string; details?: unknown } }
  | { id: number; event: Event }
