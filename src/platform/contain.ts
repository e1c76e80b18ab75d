// How a supervisor becomes the process that holds its descendants: subreaper on Linux, job object on Windows.

import { createRequire } from 'node:module'
import { endianness } from 'node:os'
import { type Containment } from './platform.ts'

const prSetChildSubreaper = 36
const pAll = 0
/** WNOHANG | WEXITED | WNOWAIT: looks at a dead child and leaves it. */
const peek = 1 | 4 | 0x0100_0000
const noHang = 1

/**
 * Orphans of the run come to the caller instead of to pid 1, whatever they did to their session, group, title and
 * environment. They are waited for by pid, since `waitpid(-1)` would take the children of libuv away.
 */
export function becomeSubreaper(koffiPath: string | undefined): Containment {
  if (koffiPath === undefined) return none('koffi is not installed')
  try {
    const koffi = createRequire(koffiPath)(koffiPath)
    const libc = koffi.load(null)
    const prctl = libc.func('int prctl(int, ulong, ulong, ulong, ulong)')
    const waitid = libc.func('int waitid(int, uint, void *, int)')
    const waitpid = libc.func('int waitpid(int, void *, int)')
    if (prctl(prSetChildSubreaper, 1, 0, 0, 0) !== 0) return none('the system refused')
    return { is: 'subreaper', reap: own => bury(own, waitid, waitpid) }
  } catch (error) {
    return none((error as Error).message)
  }
}

export const none = (reason: string): Containment => ({ is: 'none', reason, reap: () => undefined })

type Call = (...values: unknown[]) => number

function bury(own: readonly number[], waitid: Call, waitpid: Call) {
  const info = Buffer.alloc(128)
  // More than these at once come with the next SIGCHLD.
  for (let turn = 0; turn < 1000; turn++) {
    info.fill(0)
    if (waitid(pAll, 0, info, peek) !== 0) return
    const pid = pidIn(info)
    if (pid <= 1 || own.includes(pid)) return
    waitpid(pid, null, noHang)
  }
}

/** `si_pid`: three integers before the union, which is aligned to a pointer. */
function pidIn(info: Buffer): number {
  const offset = ['x64', 'arm64', 'ppc64', 'riscv64', 'loong64', 's390x'].includes(process.arch) ? 16 : 12
  return endianness() === 'LE' ? info.readInt32LE(offset) : info.readInt32BE(offset)
}
