// Waiting for the state to become so, fact by fact, with a limit.

import { type Shell } from '../shell.ts'

/** True when `is` holds; false after `limitMs`, or when the loop ends. */
export function until(shell: Shell, limitMs: number, is: () => boolean): Promise<boolean> {
  return new Promise(resolve => {
    const settle = (so: boolean): void => {
      clearTimeout(timer)
      stop()
      shell.ended.removeEventListener('abort', gone)
      resolve(so)
    }
    const gone = (): void => settle(false)
    const timer = setTimeout(gone, limitMs)
    // After the fact everything that it brings about is recorded first.
    const stop = shell.loop.onEvent(() => void setImmediate(() => is() && settle(true)))
    shell.ended.addEventListener('abort', gone)
    if (is()) settle(true)
    else if (shell.ended.aborted) settle(false)
  })
}
