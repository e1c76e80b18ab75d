// Where this very Berth lies, and what of it is put into the state directory: the supervisor and the shim.

import { createHash } from 'node:crypto'
import { chmodSync, existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { version } from '../core/version.ts'
import { atomicWrite, privateDir, readIfThere } from '../store/files.ts'
import { type StatePaths } from '../store/paths.ts'

export type Installation = { node: string; main: string; supervisor: string; version: string }

/** Of the bundle this code runs from; run from the sources, the checkout's own build. */
export function findInstallation(): Installation {
  const here = dirname(fileURLToPath(import.meta.url))
  const beside = join(here, 'main.mjs')
  const dist = existsSync(beside) ? here : join(here, '..', '..', 'dist')
  return {
    node: process.execPath,
    main: join(dist, 'main.mjs'),
    supervisor: join(dist, 'supervisor.mjs'),
    version,
  }
}

/**
 * Copies the supervisor into the state directory, once per version and content: it outlives an upgrade of the
 * installed Berth (docs/decisions/0039). Gives the copy's path.
 */
export function placeSupervisor(paths: StatePaths, { supervisor, version }: Installation): string {
  const bytes = readFileSync(supervisor)
  const hash8 = createHash('sha256').update(bytes).digest('hex').slice(0, 8)
  const file = paths.supervisor(version, hash8)
  if (!existsSync(file)) {
    privateDir(dirname(file))
    atomicWrite(file, bytes)
  }
  return file
}

/** `berth` on a run's PATH: this very Berth under this very Node. Gives the folder. */
export function placeShim(paths: StatePaths, { node, main }: Installation, windows: boolean): string {
  const file = join(paths.bin, windows ? 'berth.cmd' : 'berth')
  const text = windows
    ? `@"${node}" "${main}" %*\r\n`
    : `#!/bin/sh\nexec ${quoted(node)} ${quoted(main)} "$@"\n`
  if (readIfThere(file)?.toString('utf8') !== text) {
    privateDir(paths.bin)
    atomicWrite(file, text, 0o700)
    chmodSync(file, 0o700)
  }
  return paths.bin
}

const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`
