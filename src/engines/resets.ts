// When a limit ends, read from the words of a program.

/**
 * When a limit ends, as the text says it; epoch ms, or null if it does not say. A clock time without a date is its
 * next occurrence; without a zone it is meant where this machine is, as the programs print it.
 */
export function resetIn(text: string, now: number, zone = localZone()): number | null {
  return epochIn(text) ?? isoIn(text) ?? durationIn(text, now) ?? clockIn(text, now, zone) ?? null
}

const localZone = (): string => new Intl.DateTimeFormat().resolvedOptions().timeZone

/** `Usage limit reached|1790000000`, in seconds or milliseconds. */
function epochIn(text: string): number | undefined {
  const digits = /(?:\||\b(?:reset|resets|resetsAt|reset_at|until)\W{1,4})(\d{10}|\d{13})\b/.exec(text)?.[1]
  if (digits === undefined) return undefined
  return digits.length === 10 ? Number(digits) * 1000 : Number(digits)
}

function isoIn(text: string): number | undefined {
  const found = /\b(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d(?::\d\d(?:\.\d+)?)?) ?(Z|UTC|[+-]\d\d:?\d\d)\b/.exec(text)
  if (!found) return undefined
  const offset = found[3] === 'UTC' ? 'Z' : found[3]
  const at = Date.parse(`${found[1]}T${found[2]}${offset}`)
  return Number.isNaN(at) ? undefined : at
}

const unitsMs: [RegExp, number][] = [
  [/(\d+(?:\.\d+)?) ?(?:d|days?)\b/i, 86_400_000],
  [/(\d+(?:\.\d+)?) ?(?:h|hrs?|hours?)(?=\b|\d)/i, 3_600_000],
  [/(\d+(?:\.\d+)?) ?(?:m|mins?|minutes?)(?=\b|\d)/i, 60_000],
  [/(\d+(?:\.\d+)?) ?(?:s|secs?|seconds?)\b/i, 1000],
]

/** `try again in 5 minutes`, `will reset after 5h30m12s`. */
function durationIn(text: string, now: number): number | undefined {
  const span = /\b(?:in|after|retry-after:?) ((?:\d+(?:\.\d+)? ?[a-z]+(?:,? and |,? )?)+)/i.exec(text)?.[1]
  if (span === undefined) return undefined
  const ms = unitsMs.reduce((sum, [unit, size]) => sum + Number(unit.exec(span)?.[1] ?? 0) * size, 0)
  return ms === 0 ? undefined : now + Math.round(ms)
}

const months = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec']

const clock = new RegExp(
  [
    String.raw`\b(?:resets?|again|until|available)(?: at| on)?[ :]+`,
    String.raw`(?:(?<month>[A-Z][a-z]{2})[a-z]* (?<day>\d{1,2})(?:st|nd|rd|th)?(?:, (?<year>\d{4}))?,?(?: at)? )?`,
    String.raw`(?<hour>\d{1,2})(?::(?<minute>\d\d))?(?::\d\d)? ?(?<half>[ap]\.?m\b)?\.?`,
    String.raw`(?: ?\((?<zone>[A-Za-z_+\-/0-9]+)\)| (?<utc>UTC|GMT)\b)?`,
  ].join(''),
  'i',
)

/** `Resets 7:10pm (UTC)`, `resets Oct 6, 1pm`, `try again at Oct 6th, 2026 3:45 PM`. */
function clockIn(text: string, now: number, local: string): number | undefined {
  const groups = clock.exec(text)?.groups
  if (!groups || (groups['half'] === undefined && groups['minute'] === undefined)) return undefined
  const zone = validZone(groups['zone'] ?? groups['utc']) ?? local
  const today = wallClock(now, zone)
  const month = months.indexOf((groups['month'] ?? '').toLowerCase())
  const dated = month !== -1 && groups['day'] !== undefined
  const day = {
    year: Number(groups['year'] ?? today.year),
    month: dated ? month + 1 : today.month,
    day: dated ? Number(groups['day']) : today.day,
  }
  const time = { hour: hourOf(groups), minute: Number(groups['minute'] ?? 0) }
  const at = epochOf({ ...day, ...time }, zone)
  // A time just past is a limit that has just ended; one long past means tomorrow, or next year.
  if (at > now - justPastMs) return at
  if (!dated) return epochOf({ ...day, ...time, day: day.day + 1 }, zone)
  return groups['year'] === undefined ? at + 365 * 86_400_000 : at
}

const justPastMs = 10 * 60_000

function hourOf(groups: { [name: string]: string | undefined }): number {
  const hour = Number(groups['hour'])
  const half = groups['half']?.toLowerCase()[0]
  if (half === undefined) return hour
  return (hour % 12) + (half === 'p' ? 12 : 0)
}

function validZone(name: string | undefined): string | undefined {
  if (name === undefined) return undefined
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone
  } catch {
    return undefined
  }
}

type WallClock = { year: number; month: number; day: number; hour: number; minute: number }

function wallClock(at: number, timeZone: string): WallClock {
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone,
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
  })
  const parts = Object.fromEntries(format.formatToParts(at).map(({ type, value }) => [type, Number(value)]))
  const { year = 0, month = 0, day = 0, hour = 0, minute = 0 } = parts
  return { year, month, day, hour, minute }
}

/** The moment at which clocks in `zone` show `wall`; in the hour that is skipped in spring, one beside it. */
function epochOf(wall: WallClock, zone: string): number {
  const wanted = Date.UTC(wall.year, wall.month - 1, wall.day, wall.hour, wall.minute)
  let at = wanted
  for (let tries = 0; tries < 2; tries++) {
    const shown = wallClock(at, zone)
    at += wanted - Date.UTC(shown.year, shown.month - 1, shown.day, shown.hour, shown.minute)
  }
  return at
}
