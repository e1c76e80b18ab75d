// Small parts of what is said to people.

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

/** Of a removal that goes on: nothing stopped it. */
export const beingRemoved = 'it is being removed'
