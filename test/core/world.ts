// What is really so, apart from what the log says of it: worktrees, commits, processes, the target. It refuses what
// the real world refuses, and remembers what must never be lost or done twice.

import { type Fact, type TaskSpec } from '../../src/core/event.ts'
import { type Random } from './random.ts'

/** How one attempt of an agent goes. */
export type Attempt = {
  works: 'commits' | 'edits' | 'nothing'
  ends: 'well' | 'crash' | 'overloaded' | 'limited' | 'signed-out' | 'vanishes'
  starts: 'yes' | 'missing' | 'fails'
  ms: number
  asks: boolean
  /** `red-before`: its gate fails without its work, too. */
  gate: 'green' | 'red' | 'unknown' | 'red-before'
}

/** What happens to a task, each list used up in order; when it is empty, all goes well. */
export type Script = {
  spec: TaskSpec
  gated: boolean
  attempts: Attempt[]
  setups: ('fails' | 'rolled-back' | 'stuck' | 'held')[]
  landings: (
    | 'conflict'
    | 'gate'
    | 'target-red'
    | 'target-busy'
    | 'protected'
    | 'failed'
    | 'branch-moved'
    | 'target-rewritten'
  )[]
  teardowns: ('refused' | 'stuck-early' | 'stuck-late')[]
  collects: 'unknown'[]
}

export type Tree = { state: 'half' | 'ready' | 'aside'; head: string; edits: string[]; base: string }

export type Process = {
  run: string
  key: string
  alive: boolean
  attempt: Attempt
  base: string
  engine: string
  /** Awake ms. */
  endsAt: number
  waiting: boolean
  asked: boolean
  /** Written by the supervisor, also while no daemon lives. */
  exit?: { code: number | null; signal: string | null; killed: boolean }
}

export type World = {
  scripts: Map<string, Script>
  trees: Map<string, Tree>
  /** Branch tips: they stay when the worktree goes. */
  branches: Map<string, string>
  /** Every commit: its parent and the edits that it holds beyond it. */
  commits: Map<string, { parent: string; edits: string[]; byBerth: boolean }>
  processes: Map<string, Process>
  spawned: Map<string, number>
  verified: Set<string>
  tested: Map<string, { tip: string; commit: string }>
  /** Merges on the target, the oldest first; the commit that each brought in. */
  target: { merge: string; commit: string | null }[]
  /** Tasks that were done in some life of theirs: what was begun behind one goes on when its name is used again. */
  done: Set<string>
  saved: Set<string>
  discarded: Set<string>
  /** Every edit that an agent ever made. */
  edits: Set<string>
  integrating?: string
  preparing: Set<string>
  counter: number
  random: Random
  /** Accidents still happen. */
  rough: boolean
}

export const emptyWorld = (random: Random): World => ({
  scripts: new Map(),
  trees: new Map(),
  branches: new Map(),
  commits: new Map(),
  processes: new Map(),
  spawned: new Map(),
  verified: new Set(),
  tested: new Map(),
  target: [{ merge: 'm0', commit: null }],
  done: new Set(),
  saved: new Set(),
  discarded: new Set(),
  edits: new Set(),
  preparing: new Set(),
  counter: 0,
  random,
  rough: true,
})

/** A refusal of the world: something that Berth must never ask for. */
export function must(holds: boolean, what: string): asserts holds {
  if (!holds) throw new Error(`the world refuses: ${what}`)
}

export const fresh = (world: World, prefix: string): string => `${prefix}${++world.counter}`

export const tipOf = (world: World): string => world.target.at(-1)?.merge ?? ''

export const isLanded = (world: World, commit: string): boolean =>
  world.target.some(one => one.commit === commit)

export const aliveIn = (world: World, key: string): Process | undefined =>
  [...world.processes.values()].find(process => process.key === key && process.alive)

/** Moves the branch of a worktree to a new commit that holds its edits. */
export function commitAll(world: World, key: string, byBerth: boolean): string {
  const tree = world.trees.get(key)
  must(tree !== undefined, `commit without a worktree: ${key}`)
  const commit = fresh(world, 'c')
  world.commits.set(commit, { parent: tree.head, edits: tree.edits, byBerth })
  tree.head = commit
  tree.edits = []
  world.branches.set(key, commit)
  return commit
}

/** Edits that a commit and all before it hold. */
export function editsOf(world: World, commit: string): string[] {
  const all: string[] = []
  for (let at = world.commits.get(commit); at !== undefined; at = world.commits.get(at.parent))
    all.push(...at.edits)
  return all
}

/** What an agent does while it runs: once at half of its time. */
export function work(world: World, process: Process): void {
  const tree = world.trees.get(process.key)
  if (!process.alive || tree?.state !== 'ready' || process.attempt.works === 'nothing') return
  const edit = fresh(world, 'e')
  world.edits.add(edit)
  tree.edits.push(edit)
  if (process.attempt.works === 'commits') commitAll(world, process.key, false)
}

export function die(process: Process, exit: Process['exit']): void {
  process.alive = false
  process.waiting = false
  if (exit !== undefined) process.exit = exit
}

/** The host goes down: nothing that ran writes how it ended. */
export function reboot(world: World): void {
  for (const process of world.processes.values()) if (process.alive) die(process, undefined)
  world.preparing.clear()
}

/** How a run ended, as its engine's adapter reads it. */
export function exitFact(
  process: Process,
  of: { project: string; task: string; run: string },
  now: { wall: number },
): Fact {
  const { code = null, signal = null } = process.exit ?? {}
  const usage = { usd: 0.25, inputTokens: 100, outputTokens: 10 }
  const evidence = 'as the last line says'
  const exited = { kind: 'run.exited', code, signal, usage, ...of } as const
  if (process.exit?.killed === true)
    return { ...exited, end: { is: 'failed', reason: 'ended', evidence, transient: false } }
  switch (process.attempt.ends) {
    case 'limited':
      return {
        ...exited,
        end: { is: 'limited', until: process.attempt.asks ? null : now.wall + 90_000, evidence },
      }
    case 'signed-out':
      return { ...exited, end: { is: 'signed-out', evidence } }
    case 'crash':
      return {
        ...exited,
        end: { is: 'failed', reason: 'exit code 1', evidence, transient: false, cause: 'exit' },
      }
    case 'overloaded':
      return {
        ...exited,
        end: { is: 'failed', reason: 'overloaded', evidence, transient: true, cause: 'engine-error' },
      }
    default:
      return { ...exited, end: { is: 'ended', text: 'done', denied: [] } }
  }
}

/** Nothing that an agent made may be gone, unless a person said so. */
export function lostEdits(world: World): string[] {
  const kept = new Set([...world.saved, ...world.discarded])
  for (const tree of world.trees.values())
    for (const edit of [...tree.edits, ...editsOf(world, tree.head)]) kept.add(edit)
  for (const tip of world.branches.values()) for (const edit of editsOf(world, tip)) kept.add(edit)
  for (const { commit } of world.target)
    if (commit !== null) for (const edit of editsOf(world, commit)) kept.add(edit)
  return [...world.edits].filter(edit => !kept.has(edit))
}
