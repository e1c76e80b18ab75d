// Who goes first: while tasks are being begun, what comes after a run waits a little, so that a burst starts at once.

export type Turns = {
  /** Wraps a start. */
  starting<T>(work: () => Promise<T>): Promise<T>
  /** Waits while anything starts, at most `limitMs`. */
  afterStarts(limitMs: number): Promise<void>
}

export function openTurns(): Turns {
  let starting = 0
  const waiting = new Set<() => void>()
  const look = (): void => {
    if (starting > 0) return
    for (const go of waiting) go()
  }
  return {
    starting: async work => {
      starting++
      try {
        return await work()
      } finally {
        starting--
        // The next step of the same task is decided first: it may be a start too.
        setImmediate(look)
      }
    },
    afterStarts: limitMs =>
      new Promise(resolve => {
        if (starting === 0) return resolve()
        const go = (): void => {
          clearTimeout(timer)
          waiting.delete(go)
          resolve()
        }
        const timer = setTimeout(go, limitMs)
        waiting.add(go)
      }),
  }
}
