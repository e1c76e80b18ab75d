import { expect, test } from 'vitest'
import { makeWindows } from '../../src/platform/win32.ts'
import {
  cmdShell,
  compareWindowsPaths,
  environmentBlock,
  fileTimeMs,
  isWithinWindows,
  parseCim,
  pipePath,
} from '../../src/platform/winpath.ts'

test.each([
  ['C:\\dev\\feat', 'c:/dev/feat'],
  ['C:\\dev\\feat', '\\\\?\\C:\\dev\\feat\\'],
  ['C:\\dev\\feat', '\\??\\C:\\dev\\\\feat'],
  ['\\\\server\\share\\x', '\\\\?\\UNC\\server\\share\\x'],
])('%s and %s name the same place', (a, b) => {
  expect(compareWindowsPaths(a, b)).toBe(0)
})

test('a folder is within another by whole components', () => {
  expect(isWithinWindows('c:/dev/FEAT/x', 'C:\\dev\\feat\\')).toBe(true)
  expect(isWithinWindows('C:\\dev\\feat-2', 'C:\\dev\\feat')).toBe(false)
  expect(compareWindowsPaths('C:\\a', 'C:\\b')).not.toBe(0)
})

test('a shell line goes to cmd as it stands', () => {
  const shell = cmdShell('npm test -- "a b" & echo %X%', { SystemRoot: 'C:\\Windows' })
  expect(shell).toEqual({
    file: 'C:\\Windows\\System32\\cmd.exe',
    args: ['/d', '/s', '/c', '"npm test -- "a b" & echo %X%"'],
    verbatim: true,
  })
})

test('pipes are named by eight digits of each id', () => {
  const ids = ['abcdef12-3456-7890-aaaa-bbbbbbbbbbbb', '01234567-89ab-cdef-0000-000000000000'] as const
  expect(pipePath(ids[0], 'daemon')).toBe('\\\\.\\pipe\\berth-abcdef12-daemon')
  expect(pipePath(...ids)).toBe('\\\\.\\pipe\\berth-abcdef12-01234567')
})

const csv = [
  '"ProcessId","ParentProcessId","CommandLine","Created"',
  '"4","0",,',
  '"1200","4","""C:\\Program Files\\x.exe"" -a, b","1700000000000"',
  '"1300","1200","node run.js\nmore","1700000001000"',
].join('\r\n')

test('what PowerShell lists is read, quotes, commas and line ends in it too; nothing is a failure', () => {
  expect(parseCim(csv)).toEqual([
    { pid: 4, ppid: 0, createdAt: undefined, command: '' },
    { pid: 1200, ppid: 4, createdAt: 1_700_000_000_000, command: '"C:\\Program Files\\x.exe" -a, b' },
    { pid: 1300, ppid: 1200, createdAt: 1_700_000_001_000, command: 'node run.js\nmore' },
  ])
  expect(() => parseCim('')).toThrow('lists no process')
})

test('times and environment blocks of the system are read', () => {
  expect(fileTimeMs(133_444_736_000_000_000n)).toBe(1_700_000_000_000)
  expect(environmentBlock('A=1\0BERTH_RUN=s:a\0\0garbage')).toBe('A=1\0BERTH_RUN=s:a')
})

/** What stands in for the machine refuses what the machine refuses: a pid that is gone is error 128. */
function machine(options: { silent?: boolean } = {}) {
  const killed: string[] = []
  let listed = csv
  const platform = makeWindows({
    calls: () => undefined,
    tool(file, args) {
      if (file.endsWith('powershell.exe')) {
        const query = args.at(-1) ?? ''
        return {
          code: 0,
          out: options.silent ? '' : query.includes('LastBootUpTime') ? '1699999999000' : listed,
        }
      }
      const pid = args[2] ?? ''
      if (!listed.includes(`"${pid}",`)) return { code: 128, out: '' }
      killed.push(pid)
      listed = listed
        .split('\r\n')
        .filter(line => !line.startsWith(`"${pid}"`))
        .join('\r\n')
      return { code: 0, out: '' }
    },
  })
  return { platform, killed }
}

test('without koffi a tree is ended by recorded pid and creation time, and children first or last do not matter', async () => {
  const { platform, killed } = machine()
  const start = platform.identity(1200) ?? ''
  expect(platform.processesOf({ pids: [{ pid: 1200, start }] }).map(({ pid }) => pid)).toEqual([1200, 1300])
  expect(platform.processesOf({ pids: [{ pid: 1200, start: `${start}0` }] })).toEqual([])
  expect(
    await platform.endTree({ pids: [{ pid: 1200, start }] }, { graceMs: 5_000, limitMs: 10_000 }),
  ).toEqual({ left: [], ended: 2 })
  expect(killed.sort()).toEqual(['1200', '1300'])
})

test('without koffi who stands in a folder is unknown, and said so', () => {
  const { platform } = machine()
  expect(platform.holdersOf('C:\\x', {}).unknown).toEqual([
    'the working directories of processes cannot be read: koffi is not installed',
  ])
})

test('a PowerShell that says nothing is a failure, never an empty list', () => {
  const { platform } = machine({ silent: true })
  expect(() => platform.processesOf({ marker: 'x' })).toThrow('PowerShell failed')
})

test('a share is a network file system', () => {
  const { platform } = machine()
  expect(platform.networkFileSystem('\\\\server\\share\\x')).toBe('smb')
  expect(platform.networkFileSystem('\\\\?\\C:\\x')).toBeUndefined()
  expect(platform.isNetworkFileSystem('C:\\x')).toBe(false)
})
