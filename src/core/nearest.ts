// The nearest valid word to a mistyped one: for verbs, flags, config keys, fields and names.

/**
 * The candidate with the fewest edits (a swap of neighbours counts one), or undefined when none is near:
 * at most a third of the word's length, at least one, at most three edits.
 */
export function nearest(word: string, candidates: Iterable<string>): string | undefined {
  const wanted = word.toLowerCase()
  const limit = Math.min(3, Math.max(1, Math.floor(wanted.length / 3)))
  let best: { word: string; edits: number } | undefined
  for (const candidate of candidates) {
    const known = candidate.toLowerCase()
    const begun = wanted.length >= 3 && known.startsWith(wanted)
    const count = begun ? Math.min(limit, known.length - wanted.length) : edits(wanted, known)
    if (count <= limit && count < known.length && (!best || count < best.edits)) {
      best = { word: candidate, edits: count }
    }
  }
  return best?.word
}

/** Optimal string alignment: insertions, deletions, replacements and swaps of neighbours. */
function edits(a: string, b: string): number {
  let before: number[] = []
  let above = Array.from({ length: b.length + 1 }, (_, column) => column)
  for (let row = 1; row <= a.length; row++) {
    const line = [row]
    for (let column = 1; column <= b.length; column++) {
      const same = a[row - 1] === b[column - 1]
      let least = Math.min(line[column - 1]! + 1, above[column]! + 1, above[column - 1]! + (same ? 0 : 1))
      const swapped = row > 1 && column > 1 && a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1]
      if (swapped) least = Math.min(least, before[column - 2]! + 1)
      line.push(least)
    }
    before = above
    above = line
  }
  return above[b.length]!
}
