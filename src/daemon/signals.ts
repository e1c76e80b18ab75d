// What the signals of a foreground `run` mean (docs/decisions/0024).

const interruptions = ['SIGINT', 'SIGTERM'] as const

/**
 * Waits for `followed`. The first interruption stops the runs of this call, the second kills them; then the
 * answer is 130. A hang-up leaves the work to the background.
 */
export function untilSignals(
  followed: Promise<{ exit: number }>,
  on: { interrupt: (force: boolean) => void; hangUp: () => Promise<unknown> },
): Promise<{ exit: number }> {
  return new Promise((resolve, reject) => {
    let count = 0
    const interrupted = (): void => on.interrupt(++count > 1)
    const hungUp = (): void => void on.hangUp().finally(() => end(() => resolve({ exit: 130 })))
    const end = (settle: () => void): void => {
      for (const signal of interruptions) process.off(signal, interrupted)
      process.off('SIGHUP', hungUp)
      settle()
    }
    for (const signal of interruptions) process.on(signal, interrupted)
    process.on('SIGHUP', hungUp)
    followed.then(
      answer => end(() => resolve(count > 0 ? { exit: 130 } : answer)),
      (error: unknown) => end(() => (count > 0 ? resolve({ exit: 130 }) : reject(error))),
    )
  })
}
