// The prompt of an attempt. The first is the brief, byte for byte, and nothing else; later ones go on with what
// happened since, after the brief, byte for byte.

import { type Run, neverStarted } from './run.ts'
import { type Setback, type Task } from './task.ts'
import { verdictOf } from './recover.ts'
import { endWhys } from './words.ts'

/** Lines of output quoted for one failure, and characters for all that follows the brief. */
const tailLines = 60
const maxChars = 20_000

/**
 * The prompt for the attempt `run` of `task`, whose brief is `brief`. An attempt is a first one if nothing happened
 * before it that its agent could know of or should.
 */
export function promptOf(task: Task, run: Run, brief: string): string {
  const before = task.runs.filter(({ attempt }) => attempt < run.attempt)
  const parts = [...before.flatMap(earlier => ofRun(task, earlier)), ...answersOf(before), ...notesOf(task)]
  if (parts.length === 0) return brief
  const told = parts.join('\n\n')
  const kept = told.length > maxChars ? `…\n${told.slice(-maxChars)}` : told
  const work = 'The work of earlier attempts is in this worktree; go on from it.'
  const head = `This is attempt ${run.attempt} at the task above. ${work}`
  return `${brief}${brief.endsWith('\n') ? '\n' : '\n\n'}---\n\n${head}\n\n${kept}\n`
}

function ofRun(task: Task, run: Run): string[] {
  if (run.state.phase !== 'collected') return []
  const { ended } = run.state
  if (ended.how === 'lost' && ended.reason === neverStarted) return []
  const verdict = verdictOf(run, task)
  const name = `Attempt ${run.attempt}`
  const setbacks = task.setbacks
    .filter(({ attempt }) => attempt === run.attempt)
    .map(setback => ofSetback(name, setback))
  switch (verdict.is) {
    case 'failed':
      return [quote(`${name} failed: ${verdict.reason}.`, verdict.evidence.split('\n')), ...setbacks]
    case 'no-work':
      return [`${name} ended without any change in the worktree.`, ...setbacks]
    case 'astray':
      return [`${name} left HEAD of the worktree elsewhere than on the task's branch.`, ...setbacks]
    case 'limited':
      return [`${name} was cut off by a usage limit.`, ...setbacks]
    case 'signed-out':
      return [`${name} was cut off: the engine was signed out.`, ...setbacks]
    case 'stopped':
      return [`${name} was ended before it was done (${endWhys[verdict.why]}).`, ...setbacks]
    case 'excused':
      return [`${name} was cut off by a restart of the machine.`, ...setbacks]
    case 'unknown':
      return setbacks
    case 'done':
      return setbacks
  }
}

function ofSetback(name: string, setback: Setback): string {
  if (setback.is === 'conflict') {
    return quote(`The work of attempt ${setback.attempt} conflicts with the target branch in:`, setback.paths)
  }
  const where = setback.where === 'integration' ? ' after it was merged with the target branch' : ''
  return quote(
    `${name} was done, but the gate \`${setback.gate}\` failed${where}: ${setback.reason}. Its output ends with:`,
    setback.tail,
  )
}

function answersOf(runs: readonly Run[]): string[] {
  const answered = runs.flatMap(run => run.questions.filter(({ answer }) => answer !== undefined))
  return answered.map(({ text, answer }) => `You asked: ${text}\nThe answer was: ${answer}`)
}

const notesOf = (task: Task): string[] =>
  task.notes.length === 0 ? [] : [`Notes on this task:\n${task.notes.map(note => `- ${note}`).join('\n')}`]

// Indented, so that nothing in it can be taken for the end of the quotation.
function quote(head: string, lines: readonly string[]): string {
  const kept = lines.slice(-tailLines).filter((line, index, all) => line !== '' || index < all.length - 1)
  return kept.length === 0 || (kept.length === 1 && kept[0] === '')
    ? head
    : `${head}\n\n${kept.map(line => `    ${line}`).join('\n')}`
}
