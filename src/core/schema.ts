// The shapes of everything that Berth writes as JSON: published as JSON Schema, held equal to the types of api.ts.

import { z } from 'zod'
import {
  reasonCodes,
  type DaemonStatus,
  type DifferenceView,
  type ItemView,
  type RemovalAnswer,
  type RunView,
  type SavedView,
  type ShowView,
  type TaskView,
} from './api.ts'
import { type ItemKind } from './event.ts'
import { holder, loss, names, time } from './schema-parts.ts'

const itemKinds = [
  'decide',
  'approve',
  'blocked',
  'signed-out',
  'quiet',
  'failed',
  'conflict',
  'budget',
  'trespass',
  'leftover',
  'gate',
  'setup',
  'target',
  'config',
  'disk',
  'damaged',
] as const satisfies ItemKind[]

const cost = z.object({ usd: z.number(), inputTokens: z.number(), outputTokens: z.number() })

const taskFields = {
  task: z.string(),
  project: z.string(),
  repo: z.string(),
  title: z.string(),
  kind: z.string(),
  labels: names,
  priority: z.number(),
  after: names,
  status: z.enum([
    'queued',
    'preparing',
    'running',
    'waiting',
    'retrying',
    'verifying',
    'ready',
    'landing',
    'landed',
    'failed',
    'stopped',
    'dropped',
  ]),
  reason: z.string().describe('One sentence with the evidence.'),
  reasonCode: z.enum(Object.keys(reasonCodes) as (keyof typeof reasonCodes)[]),
  until: time.nullable(),
  waitsFor: z.enum(['person', 'quota', 'dependency', 'slot', 'landing']).nullable(),
  unattended: z.boolean().describe('It would go on by itself, but no Berth is running.'),
  engine: z.string(),
  model: z.string().nullable(),
  account: z.string().nullable(),
  attempt: z.int(),
  branch: z.string().nullable(),
  base: z.string().nullable(),
  commit: z.string().nullable(),
  worktree: z.string().nullable(),
  host: z.string(),
  ports: z.array(z.int()),
  land: z.enum(['auto', 'ask', 'never']),
  startedAt: time.nullable(),
  updatedAt: time,
  cost,
  changes: z.object({
    files: z.int(),
    insertions: z.int(),
    deletions: z.int(),
    dirty: z.boolean().nullable().describe('null: it could not be found out.'),
  }),
  removal: z.object({ step: z.string(), reason: z.string(), holders: z.array(holder) }).nullable(),
  differences: z.array(z.object({ what: z.string(), sentence: z.string(), command: z.string() })),
}

const task: z.ZodType<TaskView> = z.object(taskFields)

const item: z.ZodType<ItemView> = z.object({
  id: z.string(),
  kind: z.enum(itemKinds),
  task: z.string().nullable(),
  project: z.string(),
  since: time,
  reason: z.string(),
  evidence: z.array(z.object({ kind: z.string(), text: z.string(), seq: z.int().optional() })),
  blocks: names,
  actions: z.array(z.object({ key: z.string(), label: z.string(), command: z.string() })),
  question: z.object({ text: z.string(), choices: names }).optional(),
}) as z.ZodType<ItemView>

const run: z.ZodType<RunView> = z.object({
  run: z.string(),
  name: z.string(),
  engine: z.string(),
  model: z.string().nullable(),
  account: z.string().nullable(),
  attempt: z.int(),
  session: z.string().nullable(),
  startedAt: time.nullable(),
  endedAt: time.nullable(),
  state: z.enum(['claimed', 'alive', 'ending', 'over', 'collected']),
  outcome: z
    .enum(['done', 'no-work', 'astray', 'failed', 'limited', 'signed-out', 'stopped', 'unknown'])
    .nullable(),
  code: z.int().nullable(),
  signal: z.string().nullable(),
  usage: cost,
})

const saved = z.object({
  id: z.string(),
  task: z.string(),
  at: time,
  ref: z.string(),
  commit: z.string(),
  archive: z.string().nullable(),
  why: z.string(),
  losses: z.array(loss),
}) satisfies z.ZodType<SavedView>

const show = z.object({
  ...taskFields,
  brief: z.string(),
  runs: z.array(run),
  gates: z.array(
    z.object({
      gate: z.string(),
      passed: z.boolean(),
      reason: z.string().nullable().describe('Why it did not pass.'),
      code: z.int().nullable(),
      ms: z.number(),
      at: time,
      where: z.enum(['workspace', 'integration', 'target']),
      tail: names,
      output: z.string().nullable().describe('The file with all of its output, if it failed.'),
    }),
  ),
  questions: z.array(
    z.object({
      id: z.string(),
      text: z.string(),
      choices: names,
      state: z.enum(['open', 'answered', 'declined', 'expired']),
      answer: z.string().nullable(),
    }),
  ),
  notes: names,
  saved: z.array(saved),
  items: z.array(item),
  landedAs: z.string().nullable().describe('The commit of the target that brought its work in, once landed.'),
  merged: z.object({ is: z.boolean(), rule: z.string() }).nullable(),
  target: z.string().nullable().describe('The branch that it lands on.'),
  behind: z
    .int()
    .nullable()
    .describe('Commits of the target that its branch lacks; null: unknown, or no branch.'),
  losses: z.array(loss),
}) satisfies z.ZodType<ShowView>

const difference: z.ZodType<DifferenceView> = z.object({
  task: z.string().nullable(),
  what: z.string(),
  path: z.string().nullable(),
  sentence: z.string(),
  command: z.string(),
  fixed: z.boolean(),
})

const removal: z.ZodType<RemovalAnswer> = z.discriminatedUnion('is', [
  z.object({
    task: z.string(),
    is: z.literal(['removed', 'aside']).describe('aside: out of the way and unregistered, not yet deleted.'),
    branch: z.enum(['deleted', 'going', 'kept', 'none']).describe('going: deleted once the files are.'),
    kept: z
      .object({ branch: z.string(), commit: z.string(), reason: z.string(), hint: z.string().optional() })
      .optional()
      .describe('The branch that is kept, and why; `hint` is the command that takes it nevertheless.'),
    saved: z.string().optional(),
    already: z.literal(true).optional().describe('It was removed before this call.'),
    named: z.array(holder).describe('Processes of a person that were there, and were left alone.'),
    stashes: z.int().describe('Stashes made in it. They stay: all worktrees of a repository share them.'),
  }),
  z.object({
    task: z.string(),
    is: z.literal('refused'),
    code: z.string(),
    reason: z.string(),
    hint: z.string().optional(),
    losses: z.array(loss),
    holders: z.array(holder),
  }),
  z.object({
    task: z.string(),
    is: z.literal('stuck'),
    step: z.string(),
    reason: z.string(),
    holders: z.array(holder),
  }),
]) as z.ZodType<RemovalAnswer>

const daemonStatus = z.object({
  pid: z.int(),
  version: z.string(),
  contract: z.int(),
  stateId: z.string(),
  since: z.string(),
  admission: z.enum(['open', 'closed']),
  paused: z.boolean(),
  alive: z.int(),
  tasks: z.int(),
  foreground: z.boolean(),
}) satisfies z.ZodType<DaemonStatus>

const document = <T extends z.ZodRawShape>(shape: T) => z.object({ berth: z.literal(1), ...shape })

/** One fact on a line of `log`, `run --json` and every `--follow`. Fields beyond these depend on `kind`. */
const fact = z.looseObject({
  seq: z.int(),
  at: time,
  host: z.string(),
  kind: z.string().regex(/^[a-z-]+\.[a-z-]+$/),
  project: z.string().nullable(),
  task: z.string().nullable(),
  run: z.string().nullable(),
  engine: z.string().nullable(),
  worktree: z.string().nullable(),
})

const inCommit = 'Paths in its commit that differ from the commit that the work stood on.'
const inArchive = 'Paths in its archive: what no commit holds.'
const goneCommits = 'Of each its commit, which git keeps until it collects its garbage.'
const notBack = 'Paths of the saved work that were not brought back; then `hint` leads on to them.'

/** Every published shape by the name of its file in docs/schemas. */
export const shapes = {
  ls: document({ tasks: z.array(task) }).meta({ description: '`ls --json`' }),
  inbox: document({
    items: z.array(item),
    unattended: names.describe('Tasks that would go on by themselves, but no Berth is running.'),
  }).meta({ description: '`inbox --json`' }),
  show: document({ task: show }).meta({ description: '`show --json`' }),
  'run-dry': document({
    tasks: z.array(
      z.object({
        task: z.string(),
        title: z.string(),
        after: names,
        engine: z.string().nullable(),
        bytes: z.int(),
      }),
    ),
  }).meta({ description: '`run --dry-run --json`' }),
  summary: z
    .object({ kind: z.literal('summary'), tasks: z.array(task), exit: z.int() })
    .meta({ description: 'the last line of `run --json` and `land --json`' }),
  fact: fact.meta({ description: 'a line of `log --format jsonl` and of `run --json`' }),
  transcript: z
    .looseObject({
      seq: z.int().nullable().describe('null: the output of a program whose words are no facts.'),
      at: time,
      task: z.string(),
      run: z.string(),
      attempt: z.int(),
      kind: z.string(),
    })
    .meta({ description: 'a line of `transcript --format json`' }),
  diff: document({
    task: z.string(),
    base: z.string(),
    files: z.array(
      z.object({
        path: z.string(),
        from: z.string().optional(),
        change: z.enum(['added', 'modified', 'deleted', 'renamed', 'type']),
        insertions: z.int().nullable(),
        deletions: z.int().nullable(),
      }),
    ),
    patch: z.string().optional(),
  }).meta({ description: '`diff --json`' }),
  answer: document({ item }).meta({ description: '`answer --json`' }),
  stop: document({ stopped: names, already: names }).meta({ description: '`stop --json`' }),
  retry: document({ retried: names, already: names }).meta({ description: '`retry --json`' }),
  pause: document({ already: z.boolean() }).meta({ description: '`pause --json`' }),
  resume: document({ resumed: names, going: names, already: z.boolean() }).meta({
    description: '`resume --json`',
  }),
  land: document({
    queued: z.array(z.object({ task: z.string(), would: z.string().optional() })),
    skipped: names.describe("Ready, but their 'land' is 'never': only `land NAME` lands them."),
  }).meta({ description: '`land --dry-run --json`' }),
  rm: document({ removed: z.array(removal) }).meta({ description: '`rm --json`' }),
  saved: document({ saved: z.array(saved) }).meta({ description: '`saved --json`' }),
  'saved-show': document({
    saved: saved.extend({ files: names.describe(inCommit), archived: names.describe(inArchive) }),
  }).meta({ description: '`saved show --json`' }),
  'saved-rm': document({ removed: names, commits: names.describe(goneCommits) }).meta({
    description: '`saved rm --json` and `saved prune --yes --json`',
  }),
  restore: document({ to: z.string(), left: names.describe(notBack), hint: z.string().optional() }).meta({
    description: '`restore --json`',
  }),
  reconcile: document({
    differences: z.array(difference),
    finished: z
      .array(z.object({ task: z.string(), sentence: z.string() }))
      .describe('What was cut off before.'),
  }).meta({ description: '`reconcile --json`' }),
  purge: document({
    would: names,
    removed: names,
    kept: z.array(z.object({ what: z.string(), reason: z.string() })),
    stays: names.describe('What no purge removes.'),
  }).meta({ description: '`purge --json`' }),
  demo: document({
    folder: z.string().nullable().describe('Where it is left, with --keep.'),
    tasks: z.array(task),
    proofs: names,
    broken: names.describe('What does not hold of what the demo shows; empty when all is well.'),
  }).meta({ description: '`demo --json`' }),
  ask: document({
    answer: z.string().nullable(),
    how: z.enum(['answered', 'declined', 'timeout', 'stopped']),
  }).meta({ description: '`ask --json`' }),
  report: document({}).meta({ description: '`report --json`' }),
  daemon: document({ running: z.boolean(), daemon: daemonStatus.nullable() }).meta({
    description: '`daemon start`, `stop` and `status` with `--json`',
  }),
  service: document({ file: z.string(), command: z.string() }).meta({
    description: '`daemon install --json`',
  }),
  doctor: document({
    ok: z.boolean(),
    checks: z.array(
      z.object({
        check: z.string(),
        state: z.enum(['ok', 'note', 'problem']),
        text: z.string(),
        hint: z.string().optional(),
      }),
    ),
  }).meta({ description: '`doctor --json`' }),
  config: document({
    source: z.string(),
    hash: z.string(),
    trusted: z.boolean(),
    consent: names,
    values: z.array(z.object({ key: z.string(), value: z.json(), from: z.string() })),
  }).meta({ description: '`config --json`' }),
  init: document({ file: z.string(), engines: names, target: z.string() }).meta({
    description: '`init --json`',
  }),
  error: document({
    error: z.object({ code: z.string(), message: z.string(), hint: z.string().optional() }),
  }).meta({ description: 'every verb with `--json` that ends with an error' }),
} as const

export type ShapeName = keyof typeof shapes

/** The JSON Schema (2020-12) of one shape, as it is published. */
export function schemaOf(name: ShapeName): object {
  return z.toJSONSchema(shapes[name], { io: 'output' })
}
