// Seeded randomness for the simulations: the same seed, the same story.

export type Random = {
  /** From 0 up to, not including, 1. */
  next(): number
  below(limit: number): number
  chance(probability: number): boolean
  pick<T>(from: readonly T[]): T
}

/** mulberry32. */
export function randomOf(seed: number): Random {
  let state = seed >>> 0
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const below = (limit: number): number => Math.floor(next() * limit)
  return {
    next,
    below,
    chance: probability => next() < probability,
    pick: from => from[below(from.length)] as (typeof from)[number],
  }
}
