// Landing: the merge is built and tested in an integration workspace of Berth's own, then the target moves.

import { type GatePolicy } from '../core/config.ts'
import { type Fact, type RunId, type TaskName } from '../core/event.ts'
import { type Site, type Voice } from './site.ts'

export type LandingInput = Site & {
  task: TaskName
  title: string
  /** Of the run that made the commit: trailer `Berth-Run:`. */
  run?: RunId
  commit: string
  branch: string
  target: string
  /** The target's tip when Berth last saw it: a tip that does not contain it was rewritten. */
  lastTip?: string
  gates: GatePolicy[]
  secrets: string[]
  pass: string[]
  portsTaken: number[]
}

/** Effect `integrate`: `landing.tested`, `landing.landed` (the target has it already) or `landing.failed`. */
export async function integrate(_input: LandingInput, _voice: Voice): Promise<Fact[]> {
  throw new Error('not built')
}

/** Effect `land`: moves the target from `tip` to `merge`; `landing.landed` or `landing.failed`. */
export async function land(
  _input: LandingInput & { tip: string; merge: string },
  _voice: Voice,
): Promise<Fact[]> {
  throw new Error('not built')
}
