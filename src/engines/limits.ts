// The published table of texts by which programs say that a limit is reached, that they are signed out, or that
// their service is overloaded; and the reading of the time at which a limit ends (docs/decisions/0029).

export type Trouble =
  | { is: 'limited'; /** Epoch ms. */ until: number | null }
  | { is: 'signed-out' }
  | { is: 'overloaded' }

export type TroubleText = { is: Trouble['is']; pattern: RegExp; example: string }

/** First match wins: a limit that also names the login is a limit. */
export const troubleTexts: TroubleText[] = [
  {
    is: 'limited',
    pattern:
      /\b(usage|session|weekly|daily|hourly|monthly|5-hour|opus|message|token|request|spend(ing)?) limit( was| has been| is)? (reached|exceeded|hit)\b/i,
    example: 'Claude AI usage limit reached|1790000000',
  },
  {
    is: 'limited',
    pattern: /\b(hit|reached|exceeded|at) (your|the) ([\w-]+ ){0,3}(limit|quota)\b/i,
    example: 'You have hit your session limit. Resets 7:10pm (UTC)',
  },
  {
    is: 'limited',
    pattern:
      /\b(exhausted|exceeded) (your|the) ([\w-]+ ){0,3}(capacity|quota)\b|\bquota (exceeded|exhausted)\b/i,
    example: 'You have exhausted your daily quota on this model.',
  },
  {
    is: 'limited',
    pattern:
      /\brate[ _-]?limit(ed)?( was| has been)?( |_)?(reached|exceeded|error|hit)\b|\b(are|been|being) rate[ -]limited\b/i,
    example: 'rate limit exceeded',
  },
  {
    is: 'limited',
    pattern: /\btoo many requests\b|\bresource_exhausted\b|\binsufficient_quota\b/i,
    example: '429 Too Many Requests',
  },
  {
    is: 'limited',
    pattern: /\b(status|error|http|code)[ :=(]{1,3}429\b/i,
    example: 'exceeded retry limit, last status: 429',
  },
  {
    is: 'signed-out',
    pattern: /\bplease (run )?[`'"]?\/?log ?in\b|\brun [`'"]?\/login\b|\blog ?in again\b|\bsign in again\b/i,
    example: '401 invalid authentication credentials, please log in again',
  },
  {
    is: 'signed-out',
    pattern: /\bnot (logged|signed) in\b|\bre-?authenticate\b|\bauthentication[ _](failed|error|required)\b/i,
    example: 'Not logged in · Please run /login',
  },
  {
    is: 'signed-out',
    pattern:
      /\b(invalid|incorrect|missing|expired|no) ([\w-]+ )?(authentication credentials|api[ _-]?key|x-api-key|bearer token|credentials)\b/i,
    example: 'invalid x-api-key',
  },
  {
    is: 'signed-out',
    pattern:
      /\bapi key (is )?(not valid|invalid|expired|missing|required|not set)\b|\bmissing environment variable: `?\w*(key|token)\b/i,
    example: 'API key not valid. Please pass a valid API key.',
  },
  {
    is: 'signed-out',
    pattern:
      /\b(oauth |access |refresh |auth(entication)? )(token|session) (has |is )?(expired|revoked|invalid)\b|\bsession (has )?expired\b/i,
    example: 'OAuth token has expired',
  },
  {
    is: 'signed-out',
    pattern:
      /\b401\b.{0,40}\bunauthori[sz]ed\b|\bunauthenticated\b|\binvalid auth method\b|\b(status|error|http|code)[ :=(]{1,3}401\b/i,
    example: 'unexpected status 401 Unauthorized',
  },
  {
    is: 'overloaded',
    pattern: /\boverloaded(_error)?\b|\bat capacity\b/i,
    example: 'overloaded_error: Overloaded',
  },
  {
    is: 'overloaded',
    pattern:
      /\b(status|error|http|code)[ :=(]{1,3}(500|502|503|504|520|522|524|529)\b|\b(500|502|503|504|529) (internal server error|bad gateway|service unavailable|gateway time-?out|site is overloaded)\b/i,
    example: 'unexpected status 503 Service Unavailable',
  },
  {
    is: 'overloaded',
    pattern: /\bservice unavailable\b|\bbad gateway\b|\bgateway time-?out\b|\binternal server error\b/i,
    example: '503 Service Unavailable',
  },
  {
    is: 'overloaded',
    pattern:
      /\b(econnreset|econnrefused|etimedout|epipe|eai_again|enotfound|und_err_\w+)\b|\bsocket hang up\b|\bfetch failed\b|\bsocket connection was closed\b/i,
    example: 'read ECONNRESET',
  },
  {
    is: 'overloaded',
    pattern:
      /\bconnection (was )?(reset|closed|refused|aborted|error|lost|timed out)\b|\bstream disconnected\b|\b(unable|failed) to connect\b|\bnetwork error\b|\berror sending request\b/i,
    example: 'stream disconnected before completion',
  },
]

/** What the text says about a limit, a login or an overload; undefined if it says nothing of the kind. */
export function troubleIn(text: string, now: number): Trouble | undefined {
  const plain = text.replaceAll('’', "'")
  const found = troubleTexts.find(({ pattern }) => pattern.test(plain))
  if (found === undefined) return undefined
  return found.is === 'limited' ? { is: 'limited', until: resetIn(plain, now) } : { is: found.is }
}

/** The last of the lines that says anything, and what it says. */
export function troubleAmong(lines: string[], now: number): { trouble: Trouble; line: string } | undefined {
  for (const line of lines.toReversed()) {
    const trouble = troubleIn(line, now)
    if (trouble !== undefined) return { trouble, line: line.trim() }
  }
  return undefined
}

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
  String.raw`\b(?:resets?|again|until|available)(?: at| on)?[ :]+` +
    String.raw`(?:(?<month>[A-Z][a-z]{2})[a-z]* (?<day>\d{1,2})(?:st|nd|rd|th)?(?:, (?<year>\d{4}))?,?(?: at)? )?` +
    String.raw`(?<hour>\d{1,2})(?::(?<minute>\d\d))?(?::\d\d)? ?(?<half>[ap]\.?m\b)?\.?(?: ?\((?<zone>[A-Za-z_+\-/0-9]+)\)| (?<utc>UTC|GMT)\b)?`,
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
  const at = epochOf({ ...day, hour: hourOf(groups), minute: Number(groups['minute'] ?? 0) }, zone)
  // A time just past is a limit that has just ended; one long past means tomorrow, or next year.
  if (at > now - justPastMs) return at
  if (!dated)
    return epochOf(
      { ...day, day: day.day + 1, hour: hourOf(groups), minute: Number(groups['minute'] ?? 0) },
      zone,
    )
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
