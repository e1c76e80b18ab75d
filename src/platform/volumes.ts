// What lies under a path: free space, and whether another machine keeps it.

import { existsSync, readFileSync, realpathSync, statSync, statfsSync } from 'node:fs'
import { dirname, resolve } from 'node:path'

/** Of the volume that holds `path`, or will hold it: bytes that an ordinary user may still write. */
export function freeBytes(path: string): number {
  const { bavail, bsize } = statfsSync(standing(path))
  return bavail * bsize
}

/** Same device and same non-zero file number, links followed. */
export function sameFile(a: string, b: string): boolean {
  try {
    const [one, other] = [statSync(a, { bigint: true }), statSync(b, { bigint: true })]
    return one.ino !== 0n && one.ino === other.ino && one.dev === other.dev
  } catch {
    return false
  }
}

/** The kind of file system if another machine keeps it: SQLite's locks and shared memory do not hold there. */
export function networkFileSystemLinux(path: string, mounts = '/proc/self/mountinfo'): string | undefined {
  let lines: string
  try {
    lines = readFileSync(mounts, 'utf8')
  } catch {
    return undefined
  }
  return networkKind(mountOf(parseMountInfo(lines), realpathSync(standing(path))))
}

export type Mount = { point: string; kind: string; options: string }

/** /proc/self/mountinfo: later lines lie over earlier ones. */
export function parseMountInfo(text: string): Mount[] {
  return text.split('\n').flatMap(line => {
    const [left = '', right = ''] = line.split(' - ')
    const point = left.split(' ')[4]
    const [kind, , options = ''] = right.split(' ')
    if (point === undefined || kind === undefined) return []
    return {
      point: point.replace(/\\([0-7]{3})/g, (_, octal) => String.fromCharCode(parseInt(octal, 8))),
      kind,
      options,
    }
  })
}

/** macOS: `/dev/disk1 on / (apfs, local, journaled)`. */
export function parseMount(text: string): Mount[] {
  return text.split('\n').flatMap(line => {
    const [, point, kind, options = ''] = /^.* on (\/.*) \((\w+),? ?(.*)\)$/.exec(line) ?? []
    return point === undefined || kind === undefined ? [] : { point, kind, options }
  })
}

export function mountOf(mounts: readonly Mount[], path: string): Mount | undefined {
  const over = (point: string) => point === '/' || path === point || path.startsWith(`${point}/`)
  return mounts.reduce<Mount | undefined>(
    (best, mount) => (over(mount.point) && mount.point.length >= (best?.point.length ?? 0) ? mount : best),
    undefined,
  )
}

const networkKinds = new Set(
  `nfs nfs3 nfs4 cifs smb smb2 smb3 smbfs afpfs afs webdav davfs ncpfs ceph lustre beegfs gpfs glusterfs ocfs2 drvfs
  fuse.sshfs fuse.rclone fuse.s3fs fuse.gcsfuse fuse.glusterfs fuse.davfs fuse.davfs2 fuse.ceph fuse.curlftpfs
  fuse.blobfuse fuse.blobfuse2 fuse.goofys fuse.mount-s3`.split(/\s+/),
)

export function networkKind(mount: Mount | undefined): string | undefined {
  if (mount === undefined) return undefined
  if (networkKinds.has(mount.kind)) return mount.kind
  // WSL shows the Windows disks this way; plain 9p is some sandboxes' only disk.
  const foreign = /aname=drvfs|trans=tcp/.test(mount.options)
  return mount.kind === '9p' && foreign ? '9p' : undefined
}

/** The path itself or the nearest folder above it that exists. */
export function standing(path: string): string {
  let place = resolve(path)
  while (!existsSync(place) && dirname(place) !== place) place = dirname(place)
  return place
}
