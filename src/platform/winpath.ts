// Windows paths as text: what names the same place, what lies below it, how `cmd` is asked. Pure.

/** Without `\\?\`, one kind of slash, no trailing one, case folded: good for comparing only (windows.md, "Paths"). */
export function foldWindowsPath(path: string): string {
  const plain = path
    .replaceAll('/', '\\')
    .replace(/^\\\\[?.]\\UNC\\/i, '\\\\')
    .replace(/^\\\\[?.]\\(?=[a-z]:)/i, '')
    .replace(/^\\\?\?\\(?=[a-z]:)/i, '')
  const share = plain.startsWith('\\\\') ? '\\' : ''
  const single = share + plain.replace(/\\+/g, '\\')
  return single.replace(/(.)\\$/, '$1').toLowerCase()
}

export function compareWindowsPaths(a: string, b: string): number {
  const [one, other] = [foldWindowsPath(a), foldWindowsPath(b)]
  return one === other ? 0 : one < other ? -1 : 1
}

/** Whole components: `C:\a\feat-2` is not in `C:\a\feat`. */
export function isWithinWindows(path: string, root: string): boolean {
  const [inner, outer] = [foldWindowsPath(path), foldWindowsPath(root)]
  return inner === outer || inner.startsWith(`${outer}\\`)
}

/** `cmd` takes the rest of its line as it stands: one pair of quotes around all, nothing escaped. */
export function cmdShell(command: string, env: { [name: string]: string | undefined }) {
  const file = env['ComSpec'] ?? env['COMSPEC'] ?? `${env['SystemRoot'] ?? 'C:\\Windows'}\\System32\\cmd.exe`
  return { file, args: ['/d', '/s', '/c', `"${command}"`], verbatim: true }
}

/** Eight hex digits each: pipe and job names hold the state id, and the run id where they belong to a run. */
export const pipePath = (stateId: string, what: string) =>
  `\\\\.\\pipe\\berth-${short(stateId)}-${what === 'daemon' ? what : short(what)}`

/** The name is local to the login session; a run is found by its whole ids. */
export const jobNameOf = (stateId: string, run: string) => `Local\\berth-${stateId}-${run}`

const short = (id: string) => id.replaceAll('-', '').slice(0, 8)

/** One process of `Get-CimInstance Win32_Process | ConvertTo-Csv`. */
export type CimRow = { pid: number; ppid: number; createdAt: number | undefined; command: string }

/** Quoted CSV with doubled quotes; a value may hold line ends. Throws if there is not one process in it. */
export function parseCim(text: string): CimRow[] {
  const [head = [], ...lines] = parseCsv(text)
  const column = (name: string) => head.findIndex(cell => cell.toLowerCase() === name.toLowerCase())
  const [pid, ppid, created, command] = ['ProcessId', 'ParentProcessId', 'Created', 'CommandLine'].map(column)
  const rows = lines.flatMap(cells => {
    const number = Number(cells[pid ?? -1] || Number.NaN)
    if (!Number.isInteger(number)) return []
    const at = Number(cells[created ?? -1] || Number.NaN)
    return {
      pid: number,
      ppid: Number(cells[ppid ?? -1]),
      createdAt: Number.isNaN(at) ? undefined : at,
      command: cells[command ?? -1] ?? '',
    }
  })
  // "Exit 0 and no output" is how PowerShell fails where its parts are missing (windows.md).
  if (rows.length === 0) throw new Error('PowerShell lists no process')
  return rows
}

function parseCsv(text: string): string[][] {
  const rows: string[][] = [[]]
  for (const match of text.matchAll(/(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r?\n|$)/g)) {
    const [whole, quoted, plain, end] = match
    if (whole === '' && match.index >= text.length) break
    rows.at(-1)?.push(quoted === undefined ? (plain ?? '') : quoted.replaceAll('""', '"'))
    if (end !== ',') rows.push([])
  }
  return rows.filter(row => row.length > 1)
}

/** What `taskkill` said: 128 is "no such process", which is what was wanted. */
export const taskkillWorked = (code: number | null) => code === 0 || code === 128

/** FILETIME (100 ns since 1601) to ms since 1970. */
export const fileTimeMs = (ticks: bigint) => Number(ticks / 10_000n - 11_644_473_600_000n)

/** Of the environment block of a process, which ends in a double zero: its entries, each ended by a zero. */
export function environmentBlock(block: string): string {
  const end = block.indexOf('\0\0')
  return end < 0 ? block : block.slice(0, end)
}
