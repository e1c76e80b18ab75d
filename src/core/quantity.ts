// What people write for durations, budgets, sizes and times, and back again for reading.

const unitMs: { [unit: string]: number } = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 }

/** Milliseconds of `90s`, `30m`, `2h`, `1h30m`, `500ms`, `7d`; undefined if it is none. */
export function parseDuration(text: string): number | undefined {
  const parts = [...text.trim().matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h|d)/g)]
  if (parts.length === 0 || parts.map(part => part[0]).join('') !== text.trim()) return undefined
  const ms = parts.reduce((sum, part) => sum + Number(part[1]) * unitMs[part[2]!]!, 0)
  return Number.isSafeInteger(Math.round(ms)) ? Math.round(ms) : undefined
}

/** `2.50usd` or `200ktok`, `2mtok`, `5000tok`; both may be given, with a comma. Undefined if it is neither. */
export function parseBudget(text: string): { usd?: number; tokens?: number } | undefined {
  const budget: { usd?: number; tokens?: number } = {}
  for (const part of text.split(',')) {
    const match = /^(\d+(?:\.\d+)?)(usd|tok|ktok|mtok)$/i.exec(part.trim())
    if (!match) return undefined
    const amount = Number(match[1])
    const unit = match[2]!.toLowerCase()
    if (unit === 'usd') budget.usd = amount
    else budget.tokens = Math.round(amount * ({ tok: 1, ktok: 1_000, mtok: 1_000_000 }[unit] ?? 1))
  }
  return budget
}

const unitBytes: { [unit: string]: number } = {
  b: 1,
  kb: 1_000,
  mb: 1_000_000,
  gb: 1_000_000_000,
  tb: 1e12,
  kib: 1_024,
  mib: 1_048_576,
  gib: 1_073_741_824,
  tib: 1_099_511_627_776,
}

/** Bytes of `200MB`, `2GB`, `16MiB`, `512kB`; undefined if it is none. */
export function parseSize(text: string): number | undefined {
  const match = /^(\d+(?:\.\d+)?) ?([kmgt]?i?b)$/i.exec(text.trim())
  const unit = match && unitBytes[match[2]!.toLowerCase()]
  return unit ? Math.round(Number(match[1]) * unit) : undefined
}

/** Epoch ms of an ISO 8601 time, or of a duration ago (`2h`) or ahead (`in 2h`). `now`: epoch ms. */
export function parseTime(text: string, now: number): number | undefined {
  const word = text.trim()
  const ahead = word.startsWith('in ') ? parseDuration(word.slice(3)) : undefined
  if (ahead !== undefined) return now + ahead
  const ago = parseDuration(word.replace(/ ago$/, ''))
  if (ago !== undefined) return now - ago
  if (!/^\d{4}-\d{2}-\d{2}/.test(word)) return undefined
  const at = Date.parse(word)
  return Number.isNaN(at) ? undefined : at
}

/** For people: `3s`, `12m`, `2h`, `4d`. */
export function age(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1_000))
  if (seconds < 60) return `${seconds}s`
  if (seconds < 3_600) return `${Math.floor(seconds / 60)}m`
  if (seconds < 2 * 86_400) return `${Math.floor(seconds / 3_600)}h`
  return `${Math.floor(seconds / 86_400)}d`
}

/** For people, as config writes it: `90s`, `30m`, `2h`. */
export function duration(ms: number): string {
  const units = ms < 2 * day ? (['h', 'm', 's'] as const) : (['d', 'h', 'm', 's'] as const)
  const unit = units.find(one => ms >= msOf(one) && ms % msOf(one) === 0)
  return unit === undefined ? (ms === 0 ? '0s' : `${ms}ms`) : `${ms / msOf(unit)}${unit}`
}

const day = 86_400_000
const msOf = (unit: string): number => unitMs[unit] ?? 1

/** For people: `512 B`, `3.4 MB`. */
export function size(bytes: number): string {
  if (bytes < 1_000) return `${bytes} B`
  const power = Math.min(4, Math.floor(Math.log10(bytes) / 3))
  const amount = bytes / 1_000 ** power
  return `${amount < 10 ? amount.toFixed(1) : Math.round(amount)} ${['B', 'kB', 'MB', 'GB', 'TB'][power]!}`
}

/** As config writes a size: `200MB`. */
export function sizeWord(bytes: number): string {
  for (const unit of ['gb', 'mb', 'kb'] as const) {
    const each = unitBytes[unit]!
    if (bytes >= each && bytes % each === 0)
      return `${bytes / each}${unit === 'kb' ? 'kB' : unit.toUpperCase()}`
  }
  return `${bytes}B`
}
