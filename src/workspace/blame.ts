// Whose fault a red gate is: it is asked on the commit that the work stands on as well, once per commit and gate.

import { type Fact, type TaskName } from '../core/event.ts'
import { type RedTarget } from '../core/outcome.ts'
import { type Git } from '../git/git.ts'
import { standAt } from '../git/integrate.ts'
import { type Gate, runGates } from './gates.ts'
import { furnishMergespace, inTurn, openMergespace, remember, remembered } from './mergespace.ts'
import { reasonOf, type Site, type Voice } from './site.ts'

export type BlameInput = Site & {
  task: TaskName
  /** Short name of the target. */
  target: string
  secrets: string[]
  pass: string[]
  portsTaken: number[]
}

/** Null: the gate is green there, or nobody can say; then it is the work that is judged. */
export type Before = RedTarget | null | 'cancelled'

type Asked = { commit: string; gate: Gate }

/**
 * Whether a gate that is red on a task's work is red on `commit`, without that work, too. It is tried in the
 * integration workspace, after what is being tried there; what is known of the commit is not tried again. What could
 * not be found out is said in a notice.
 */
export async function redBefore(input: BlameInput, asked: Asked, voice: Voice): Promise<Before> {
  const known = knownOf(input, asked)
  if (known !== undefined) return known
  const { signal } = voice
  if (signal.aborted) return 'cancelled'
  let begun = false
  const tried = inTurn(input, async () => {
    if (signal.aborted) return 'cancelled'
    begun = true
    const at = await openMergespace(input, asked.commit, signal)
    return redAt(input, { ...asked, at }, voice)
  }).catch(async (error: unknown) => {
    if (signal.aborted) return 'cancelled'
    return untold(input, asked, { reason: reasonOf(error), voice })
  })
  // What others try there may take long: nobody who has cancelled waits for it.
  const cancelled = new Promise<'cancelled'>(resolve => {
    signal.addEventListener('abort', () => (begun ? undefined : resolve('cancelled')), { once: true })
  })
  return Promise.race([tried, cancelled])
}

/** The same for one who has the integration workspace already: `at` stands at the commit afterwards. */
export async function redAt(input: BlameInput, asked: Asked & { at: Git }, voice: Voice): Promise<Before> {
  const known = knownOf(input, asked)
  if (known !== undefined) return known
  const { at, commit, gate } = asked
  const { paths: _paths, ...always } = gate
  await standAt(at, commit, voice.signal)
  const furnished = await furnishMergespace(input, { ...input, at, commit }, voice)
  if (voice.signal.aborted) return 'cancelled'
  if (furnished.is === 'failed') return untold(input, asked, { reason: `setup: ${furnished.reason}`, voice })
  const { place } = furnished
  const verdict = await runGates(
    { ...input, place, commit, where: 'target', gates: [always], changed: [] },
    voice,
  )
  if (verdict.is === 'cancelled') return 'cancelled'
  if (verdict.is === 'green') {
    rememberGreen(input, commit, [gate])
    return null
  }
  const { reason, tail, unknown } = verdict
  if (unknown) return untold(input, asked, { reason, voice })
  rememberAll(input, [{ commit, gate: lineOf(gate), red: { reason, tail } }])
  return { gate: gate.name, reason, tail, tip: commit }
}

/** What was green on the merge is green on the target, once it has moved there. */
export function rememberGreen(site: Site, commit: string, gates: readonly Gate[]): void {
  rememberAll(
    site,
    gates.map(gate => ({ commit, gate: lineOf(gate), red: null })),
  )
}

type Verdicts = ReturnType<typeof remembered>['verdicts']

function rememberAll(site: Site, verdicts: Verdicts): void {
  if (verdicts.length > 0) remember(site, { verdicts: [...remembered(site).verdicts, ...verdicts] })
}

/** Undefined: it has to be tried. */
function knownOf(site: Site, { commit, gate }: Asked): RedTarget | null | undefined {
  if (gate.own) return null
  const known = remembered(site).verdicts.findLast(
    each => each.commit === commit && each.gate === lineOf(gate),
  )
  return known && known.red && { gate: gate.name, ...known.red, tip: commit }
}

const lineOf = (gate: Gate): string => `${gate.name}\n${gate.run}`

async function untold(
  { project, task }: BlameInput,
  { commit, gate }: Asked,
  { reason, voice }: { reason: string; voice: Voice },
): Promise<null> {
  const what = `whether gate '${gate.name}' fails on ${commit.slice(0, 10)} as well could not be found out`
  const notice: Fact = { kind: 'notice.given', project, task, text: `${what}: ${reason}` }
  await voice.onFact(notice)
  return null
}
