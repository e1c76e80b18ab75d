// What would be lost, in words.

import { type Loss } from './event.ts'
import { count as counted } from './words.ts'

/** What could not be looked at has a reason instead. */
const words: { [kind in Exclude<Loss['kind'], 'unknown'>]: (many: number) => string } = {
  staged: many => `${many} staged`,
  unstaged: many => `${many} changed`,
  untracked: many => `${many} untracked`,
  hidden: many => `${many} changed, but hidden from git status`,
  ignored: many => `${many} ignored by git`,
  commits: many => `${counted(many, 'commit')} that nothing else holds`,
  operation: many => `${counted(many, 'operation')} in progress`,
  nested: many => (many === 1 ? '1 nested repository' : `${many} nested repositories`),
  submodule: many =>
    many === 1 ? '1 submodule with its own work' : `${many} submodules with their own work`,
}

const whatOf = ({ kind, count }: Loss): string =>
  kind === 'unknown' ? 'could not be looked at' : words[kind](count)

function namesOf({ kind, count, examples }: Loss, most: number): string {
  const names = kind === 'commits' ? examples.map(id => id.slice(0, 10)) : examples
  return [...names.slice(0, most), ...(count > most && names.length > 0 ? ['…'] : [])].join(', ')
}

/** One kind on a line: `3 untracked: a, b, c`. */
export function lossLine(loss: Loss): string {
  const names = namesOf(loss, 5)
  return names === '' ? whatOf(loss) : `${whatOf(loss)}: ${names}`
}

/** All kinds in one sentence: `3 untracked (a, b, c), 1 changed (d)`. */
export const lossesText = (losses: readonly Loss[]): string =>
  losses
    .map(loss => {
      const names = namesOf(loss, 3)
      if (loss.kind === 'unknown') return names
      return names === '' ? whatOf(loss) : `${whatOf(loss)} (${names})`
    })
    .join(', ')
