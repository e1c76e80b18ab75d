import {
  mkdirSync,
  mkdtempSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
  chmodSync,
  statSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { listening, parseStat } from '../../src/platform/proc.ts'
import { parseEnvironments, parseListeners, parseLsof, parsePs } from '../../src/platform/ps.ts'
import { jobsFor } from '../../src/platform/posix.ts'
import { posixRuntimeDir, posixSocketPath } from '../../src/platform/runtime.ts'
import { mountOf, networkKind, parseMount, parseMountInfo } from '../../src/platform/volumes.ts'

const uid = process.getuid?.() ?? 0
const folder = () => {
  const dir = realpathSync(mkdtempSync(join(tmpdir(), 'berth-parse-')))
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }))
  return dir
}

test('a name in /proc may hold blanks, parentheses and line ends', () => {
  const rest = 'S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20'
  expect(parseStat(`42 (a) b (c\n) ${rest}`)).toMatchObject({
    pid: 42,
    name: 'a) b (c\n',
    state: 'S',
    ppid: 1,
    pgid: 2,
    session: 3,
    ticks: 19,
  })
  expect(parseStat('garbage')).toBeUndefined()
})

test('the list of `ps` is read with its dates, without the dead', () => {
  const text = [
    '    1     0     1      0     0 ??       Ss   Mon Jan  1 10:00:00 2024     /sbin/launchd',
    '  345     1   345  1f2e3d    501 ttys001  S+   Mon Jan  1 10:00:05 2024     -zsh',
    '  346   345   346      0   501 ??       Z    Mon Jan  1 10:00:06 2024     (dead)',
  ].join('\n')
  expect(parsePs(text, 'boot')).toMatchObject([
    { pid: 1, ppid: 0, tty: 0, state: 'Ss', command: '/sbin/launchd', session: 1 },
    { pid: 345, ppid: 1, uid: 501, tty: 1, session: 345, start: 'boot.Mon-Jan-1-10:00:05-2024' },
  ])
})

test('environments and open files are read from the tools’ words', () => {
  const text = '  12 node x.js A=1 BERTH_RUN=s:a,s:b HOME=/home/x y\n  13 sh\n'
  expect(parseEnvironments(text)).toEqual(
    new Map([
      [12, 'A=1\0BERTH_RUN=s:a,s:b\0HOME=/home/x'],
      [13, ''],
    ]),
  )
  const within = (path: string) => path.startsWith('/w')
  const files = 'p12\nfcwd\na \nn/w\nf3\nar\nn/w/read\np13\nf4\naw\nn/w/log (deleted)\np14\nfcwd\nn/other\n'
  expect(parseLsof(files, within)).toEqual(
    new Map([
      [12, { what: 'cwd', path: '/w' }],
      [13, { what: 'open-for-writing', path: '/w/log' }],
    ]),
  )
})

test('a network file system is known by its mount, a local one within it by its own', () => {
  const mounts = parseMountInfo(
    [
      '22 1 0:21 / / rw - ext4 /dev/sda1 rw',
      '30 22 0:30 / /home rw shared:1 - nfs4 server:/home rw',
      '31 30 0:31 / /home/my\\040disk rw - ext4 /dev/sdb1 rw',
      '32 22 0:32 / /mnt/c rw - 9p drvfs rw,aname=drvfs;path=C:\\134,trans=fd',
      '33 22 0:33 / /sandbox rw - 9p none rw,trans=fd',
      '34 22 0:34 / /ssh rw - fuse.sshfs x@y: rw',
    ].join('\n'),
  )
  const kind = (path: string) => networkKind(mountOf(mounts, path))
  expect([kind('/srv'), kind('/home/a'), kind('/home/my disk/a'), kind('/homes')]).toEqual([
    undefined,
    'nfs4',
    undefined,
    undefined,
  ])
  expect([kind('/mnt/c/x'), kind('/sandbox'), kind('/ssh/x')]).toEqual(['9p', undefined, 'fuse.sshfs'])
  const mac = parseMount(
    '/dev/disk1s1 on / (apfs, local, journaled)\nserver:/x on /Volumes/my share (nfs, asynchronous)\n',
  )
  expect(networkKind(mountOf(mac, '/Volumes/my share/a'))).toBe('nfs')
  expect(networkKind(mountOf(mac, '/Users'))).toBeUndefined()
})

test('the folder for sockets is the caller’s own, private, and never a link', () => {
  const dir = folder()
  const [good, open, link, file] = ['good', 'open', 'link', 'file'].map(name => join(dir, name)) as [
    string,
    string,
    string,
    string,
  ]
  mkdirSync(good, { mode: 0o700 })
  mkdirSync(open)
  chmodSync(open, 0o755)
  symlinkSync(good, link)
  writeFileSync(file, '')
  const own = `/tmp/berth-${uid}`
  expect(posixRuntimeDir({ XDG_RUNTIME_DIR: good }, uid)).toBe(good)
  for (const bad of [open, link, file, join(dir, 'none'), 'relative', '']) {
    expect(posixRuntimeDir({ XDG_RUNTIME_DIR: bad }, uid)).toBe(own)
  }
  expect(statSync(own).mode & 0o777).toBe(0o700)
  expect(posixRuntimeDir({ XDG_RUNTIME_DIR: good }, uid + 1 === uid ? 0 : uid)).toBe(good)
})

test('a socket path is short, in a private folder, or an error', () => {
  const dir = folder()
  const path = posixSocketPath(dir, 'abcdef12-3456-7890-aaaa-bbbbbbbbbbbb', 'daemon', uid)
  expect(path).toBe(join(dir, 'berth-abcdef12', 'daemon.sock'))
  expect(statSync(join(dir, 'berth-abcdef12')).mode & 0o777).toBe(0o700)
  expect(posixSocketPath(dir, 'abcdef12-3456', '01234567-89ab', uid)).toBe(
    join(dir, 'berth-abcdef12', '01234567.sock'),
  )
  const deep = join(dir, 'd'.repeat(90))
  expect(() => posixSocketPath(deep, 'abcdef12', 'daemon', uid)).toThrow(
    expect.objectContaining({ code: 'socket-path' }),
  )
  rmSync(join(dir, 'berth-abcdef12'), { recursive: true })
  symlinkSync(dir, join(dir, 'berth-abcdef12'))
  expect(() => posixSocketPath(dir, 'abcdef12', 'daemon', uid)).toThrow(
    expect.objectContaining({ code: 'path-refused' }),
  )
})

test('jobs are what cores and memory bear, at least one', () => {
  const giga = 1_000_000_000
  expect([jobsFor(8, 64 * giga), jobsFor(8, 4 * giga), jobsFor(2, giga)]).toEqual([8, 2, 1])
})

test('listening sockets are told by inode, or by process where lsof is asked', () => {
  const table = [
    '  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode',
    '   0: 0100007F:4E2D 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 4711 1 0 100 0',
    '   1: 0100007F:4E2E 0100007F:1F90 01 00000000:00000000 00:00000000 00000000     0        0 4712 1 0 20 4',
    '   2: 00000000000000000000000000000000:4E2F 00000000000000000000000000000000:0000 0A 0:0 0:0 0 0 0 4713 1',
  ].join('\n')
  expect(listening(table)).toEqual([
    ['4711', 20_013],
    ['4713', 20_015],
  ])
  const lsof = 'p71\nf9\nn127.0.0.1:20013\nf10\nn[::1]:20013\np72\nf3\nn*:20015\n'
  expect([...parseListeners(lsof)]).toEqual([
    [71, 20_013],
    [72, 20_015],
  ])
})
