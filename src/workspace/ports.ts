// Blocks of ports, one per workspace: stable, never two alike on this machine, none that somebody listens on.

import { readdir, rmdir, stat } from 'node:fs/promises'
import { createServer } from 'node:net'
import { dirname, join } from 'node:path'
import { BerthError } from '../core/errors.ts'
import { exclusiveCreate, privateDir, readIfThere, removeIfThere } from '../store/files.ts'
import { digest, type Site } from './site.ts'

export const portsPerWorkspace = 10

/** Below the ports that Linux, macOS and Windows hand out by themselves. */
export const portRange = { first: 20_000, blocks: 1_100 }

/** A lease that was never given back, and whose workspace is not there, is void after this. */
const leaseMs = 24 * 3_600_000

type Lease = { owner: string; path: string; madeAt: number }

/**
 * Leases a block for the workspace at `path`: the one it had (`before`), else the first free one from a place that
 * its path decides. `taken`: ports of other workspaces in this state directory's records. Leases of other Berths lie
 * beside ours, one file a block, made exclusively; a port that anybody listens on is skipped.
 */
export async function leasePorts(
  site: Pick<Site, 'stateId' | 'project' | 'runtimeDir' | 'now'>,
  request: { task: string; path: string; before: number[]; taken: number[]; range?: typeof portRange },
): Promise<number[]> {
  const { first, blocks } = request.range ?? portRange
  const dir = privateDir(leaseDir(site))
  const owner = ownerOf(site, request.task)
  const taken = new Set(request.taken)
  const kept = request.before[0]
  if (kept !== undefined && take(dir, kept, { owner, path: request.path, madeAt: site.now() }))
    return request.before
  const own = await leasedBy(dir, each => each === owner)
  const start = Number.parseInt(digest(request.path, 8), 16) % blocks
  const candidates = [
    ...own,
    ...Array.from({ length: blocks }, (_, i) => first + ((start + i) % blocks) * portsPerWorkspace),
  ]
  for (const base of candidates) {
    const ports = blockFrom(base)
    if (ports.some(port => taken.has(port))) continue
    if (!(await available(dir, base, { owner, path: request.path, madeAt: site.now() }))) continue
    if ((await Promise.all(ports.map(isFree))).every(Boolean)) return ports
    if (!own.includes(base)) giveBack(dir, base, owner)
  }
  throw new BerthError(
    'busy',
    `no block of ${portsPerWorkspace} free ports from ${first} on`,
    'berth ls --all',
  )
}

/** Gives back whatever a workspace leased. Another owner's lease stays. */
export async function releasePorts(
  site: Pick<Site, 'stateId' | 'project' | 'runtimeDir'>,
  task: string,
): Promise<void> {
  const dir = leaseDir(site)
  const owner = ownerOf(site, task)
  for (const base of await leasedBy(dir, each => each === owner)) giveBack(dir, base, owner)
}

/** Gives back all that a state directory leased, and the folder of leases where nobody has any. */
export async function releaseAllPorts(site: Pick<Site, 'stateId' | 'runtimeDir'>): Promise<void> {
  const dir = leaseDir(site)
  for (const base of await leasedBy(dir, each => each.startsWith(`${site.stateId}/`)))
    removeIfThere(leaseFile(dir, base))
  await rmdir(dir).catch(() => undefined)
}

/** Those of `ports` that somebody listens on. */
export async function heldPorts(ports: number[]): Promise<number[]> {
  const free = await Promise.all(ports.map(isFree))
  return ports.filter((_, i) => free[i] !== true)
}

/** Beside the folders of all state directories, so that several Berths of one person meet. */
const leaseDir = (site: Pick<Site, 'runtimeDir'>): string => join(dirname(site.runtimeDir), 'berth-ports')

const ownerOf = (site: Pick<Site, 'stateId' | 'project'>, task: string): string =>
  `${site.stateId}/${site.project}/${task}`

const blockFrom = (base: number): number[] => Array.from({ length: portsPerWorkspace }, (_, i) => base + i)

const leaseFile = (dir: string, base: number): string => join(dir, `${base}.json`)

/** Ours afterwards: freshly made, or ours before. */
function take(dir: string, base: number, lease: Lease): boolean {
  if (exclusiveCreate(leaseFile(dir, base), JSON.stringify(lease)) === 'made') return true
  return readLease(dir, base)?.owner === lease.owner
}

async function available(dir: string, base: number, lease: Lease): Promise<boolean> {
  if (take(dir, base, lease)) return true
  const held = readLease(dir, base)
  if (held === undefined || lease.madeAt - held.madeAt < leaseMs) return false
  if ((await stat(held.path).catch(() => undefined)) !== undefined) return false
  removeIfThere(leaseFile(dir, base))
  return take(dir, base, lease)
}

function giveBack(dir: string, base: number, owner: string): void {
  if (readLease(dir, base)?.owner === owner) removeIfThere(leaseFile(dir, base))
}

async function leasedBy(dir: string, isOwner: (owner: string) => boolean): Promise<number[]> {
  const names = await readdir(dir).catch((error: { code?: string }) => {
    if (error.code === 'ENOENT') return []
    throw error
  })
  return names
    .flatMap(name => /^(\d+)\.json$/.exec(name)?.[1] ?? [])
    .map(Number)
    .filter(base => {
      const lease = readLease(dir, base)
      return lease !== undefined && isOwner(lease.owner)
    })
}

function readLease(dir: string, base: number): Lease | undefined {
  try {
    const text = readIfThere(leaseFile(dir, base))?.toString('utf8')
    const value = text === undefined ? undefined : (JSON.parse(text) as Partial<Lease>)
    return typeof value?.owner === 'string' && typeof value.path === 'string'
      ? ({ madeAt: 0, ...value } as Lease)
      : undefined
  } catch {
    return undefined
  }
}

/** Nobody listens on it, on any address of this machine. */
async function isFree(port: number): Promise<boolean> {
  return (
    (await canListen(port, '127.0.0.1')) &&
    (await canListen(port, '0.0.0.0')) &&
    (await canListen(port, '::'))
  )
}

const canListen = (port: number, host: string): Promise<boolean> =>
  new Promise(resolve => {
    const server = createServer()
    server.once('error', (error: { code?: string }) => {
      // A machine without IPv6 cannot be listened on there by anybody.
      resolve(error.code === 'EAFNOSUPPORT' || error.code === 'EADDRNOTAVAIL')
    })
    server.listen({ port, host, exclusive: true }, () => server.close(() => resolve(true)))
  })
