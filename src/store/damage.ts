// The folder `damaged`: the bytes of what was broken, and one report for each repair until the log tells of
// it.

import { copyFileSync, existsSync, readdirSync, renameSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { atomicWrite, isMissing, privateDir, privateFileMode, readIfThere, syncDir } from './files.ts'
import { type DamageReport } from './store.ts'

/** `highest`: the highest seq ever seen, also in fragments. `done`: nothing is left to mend. */
export type Report = DamageReport & { highest: number; done: boolean }

export type Repair = {
  readonly report: Report
  say(what: string): void
  /** Moves or copies `file` here; a missing one is fine. */
  move(file: string): void
  copy(file: string): void
  keep(name: string, bytes: Uint8Array): void
  /** Makes the report durable as it stands. */
  write(): void
}

/** Goes on with the repair that a crash interrupted, or begins one. */
export function openRepair(damaged: string, now: number): Repair {
  const unfinished = reports(damaged).find(({ done }) => !done)
  const folder = unfinished?.kept ?? newFolder(damaged, now)
  const report: Report = unfinished ?? {
    what: '',
    kept: folder,
    recovered: 0,
    missing: '',
    highest: 0,
    done: false,
  }
  const free = (file: string) => freeName(folder, basename(file))
  return {
    report,
    say(what) {
      if (!report.what.split('; ').includes(what))
        report.what = report.what === '' ? what : `${report.what}; ${what}`
    },
    move: file => existsSync(file) && renameSync(file, free(file)),
    copy: file => existsSync(file) && copyFileSync(file, free(file)),
    keep: (name, bytes) => writeFileSync(free(name), bytes, { mode: privateFileMode, flag: 'wx' }),
    write: () => atomicWrite(join(folder, 'report.json'), `${JSON.stringify(report)}\n`),
  }
}

/** All reports, oldest first. Cheap when nothing was ever damaged. */
export function reports(damaged: string): Report[] {
  return folders(damaged)
    .map(name => parseReport(join(damaged, name)))
    .filter(report => report !== undefined)
}

function parseReport(folder: string): Report | undefined {
  try {
    const report = JSON.parse(readIfThere(join(folder, 'report.json'))?.toString() ?? '') as Report
    // The state directory may have been moved since.
    return { ...report, kept: folder }
  } catch {
    return undefined
  }
}

function folders(damaged: string): string[] {
  try {
    return readdirSync(damaged).sort()
  } catch (error) {
    if (isMissing(error)) return []
    throw error
  }
}

function newFolder(damaged: string, now: number): string {
  privateDir(damaged)
  const folder = freeName(damaged, new Date(now).toISOString().replaceAll(/[:.]/g, '-'))
  privateDir(folder)
  syncDir(damaged)
  return folder
}

function freeName(folder: string, name: string): string {
  for (let n = 1; ; n++) {
    const file = join(folder, n === 1 ? name : `${name}.${n}`)
    if (!existsSync(file)) return file
  }
}
