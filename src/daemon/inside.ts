// Whether this process belongs to a run of a state directory (docs/decisions/0002, 0003).

import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** The id of a state directory; undefined while there is none, or none that can be read. */
export function stateIdOf(dir: string): string | undefined {
  try {
    const id: unknown = JSON.parse(readFileSync(join(dir, 'id.json'), 'utf8'))
    return typeof id === 'object' && id !== null ? (id as { stateId?: string }).stateId : undefined
  } catch {
    return undefined
  }
}

/** `BERTH_RUN` is a list of `<state id>:<run id>`, innermost last. */
export const isInside = (env: { [name: string]: string | undefined }, stateId: string | undefined): boolean =>
  stateId !== undefined &&
  (env['BERTH_RUN'] ?? '').split(',').some(element => element.startsWith(`${stateId}:`))
