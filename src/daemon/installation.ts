// Where this very Berth lies, and the `berth` on a run's PATH that is this very Berth.

import { chmodSync, existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { shellWord } from '../core/shellword.ts'
import { version } from '../core/version.ts'
import { atomicWrite, privateDir, readIfThere } from '../store/files.ts'
import { type StatePaths } from '../store/paths.ts'

export type Installation = { node: string; main: string; supervisor: string; version: string }

/** Of the bundle this code runs from; run from the sources, the checkout's own build. */
export function findInstallation(): Installation {
  const here = dirname(fileURLToPath(import.meta.url))
  const beside = join(here, 'main.cjs')
  const dist = existsSync(beside) ? here : join(here, '..', '..', 'dist')
  return {
    node: process.execPath,
    main: join(dist, 'main.cjs'),
    supervisor: join(dist, 'supervisor.cjs'),
    version,
  }
}

/** `berth` on a run's PATH: this very Berth under this very Node. Gives the folder. */
export function placeShim(paths: StatePaths, { node, main }: Installation, windows: boolean): string {
  const file = join(paths.bin, windows ? 'berth.cmd' : 'berth')
  const text = windows
    ? `@"${node}" "${main}" %*\r\n`
    : `#!/bin/sh\nexec ${shellWord(node)} ${shellWord(main)} "$@"\n`
  if (readIfThere(file)?.toString('utf8') !== text) {
    privateDir(paths.bin)
    atomicWrite(file, text, 0o700)
    chmodSync(file, 0o700)
  }
  return paths.bin
}
