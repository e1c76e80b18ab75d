// Descriptors that this process got from its caller besides stdin, stdout and stderr: the lock of a script, say.

import { readdirSync, readFileSync } from 'node:fs'

const closeOnExec = 0o2000000
const folder = '/proc/self/fdinfo'

let known: readonly number[] | undefined

/** Those that a child would get as well, looked for once; none where the system does not say (it has no /proc). */
export const inheritedDescriptors = (): readonly number[] => (known ??= findInherited())

function findInherited(): number[] {
  try {
    return readdirSync(folder)
      .map(Number)
      .filter(descriptor => descriptor > 2 && passesOn(descriptor))
  } catch {
    return []
  }
}

function passesOn(descriptor: number): boolean {
  try {
    const flags = /^flags:\s*([0-7]+)$/m.exec(readFileSync(`${folder}/${descriptor}`, 'latin1'))?.[1]
    return flags !== undefined && (Number.parseInt(flags, 8) & closeOnExec) === 0
  } catch {
    // It was the one that the folder was read with.
    return false
  }
}
