// The published table of texts by which programs say that a limit is reached, that they are signed out, or that
// their service is overloaded (docs/decisions/0029).

import { resetIn } from './resets.ts'

export type Trouble =
  | { is: 'limited'; /** Epoch ms. */ until: number | null }
  | { is: 'signed-out' }
  | { is: 'overloaded' }

export type TroubleText = { is: Trouble['is']; example: string; patterns: RegExp[] }

/** First match wins: a limit that also names the login is a limit. */
export const troubleTexts: TroubleText[] = [
  {
    is: 'limited',
    example: 'Claude AI usage limit reached|1790000000',
    patterns: [
      /\b(usage|session|hourly|daily|weekly|monthly|5-hour|opus) limit (was |has been |is )?(reached|exceeded|hit)\b/i,
      /\b(message|request|spend(ing)?) limit (was |has been |is )?(reached|exceeded|hit)\b/i,
    ],
  },
  {
    is: 'limited',
    example: 'You have hit your session limit. Resets 7:10pm (UTC)',
    patterns: [/\b(hit|reached|exceeded|at) (your|the) ([\w-]+ ){0,3}(limit|quota)\b/i],
  },
  {
    is: 'limited',
    example: 'You have exhausted your daily quota on this model.',
    patterns: [
      /\b(exhausted|exceeded) (your|the) ([\w-]+ ){0,3}(capacity|quota)\b/i,
      /\bquota (exceeded|exhausted)\b/i,
    ],
  },
  {
    is: 'limited',
    example: 'rate limit exceeded',
    patterns: [
      /\brate[ _-]?limit(ed)?( was| has been)?( |_)?(reached|exceeded|error|hit)\b/i,
      /\b(are|been|being) rate[ -]limited\b/i,
    ],
  },
  {
    is: 'limited',
    example: '429 Too Many Requests',
    patterns: [/\btoo many requests\b/i, /\bresource_exhausted\b/i, /\binsufficient_quota\b/i],
  },
  {
    is: 'limited',
    example: 'exceeded retry limit, last status: 429',
    patterns: [/\b(status|error|http|code)[ :=(]{1,3}429\b/i],
  },
  {
    is: 'signed-out',
    example: '401 invalid authentication credentials, please log in again',
    patterns: [
      /\bplease (run )?[`'"]?\/?log ?in\b/i,
      /\brun [`'"]?\/login\b/i,
      /\b(log ?in|sign in) again\b/i,
    ],
  },
  {
    is: 'signed-out',
    example: 'Not logged in · Please run /login',
    patterns: [
      /\bnot (logged|signed) in\b/i,
      /\bre-?authenticate\b/i,
      /\bauthentication[ _](failed|error|required)\b/i,
    ],
  },
  {
    is: 'signed-out',
    example: 'invalid x-api-key',
    patterns: [
      /\b(invalid|incorrect|missing|expired|no) ([\w-]+ )?(authentication )?credentials\b/i,
      /\b(invalid|incorrect|missing|expired|no) ([\w-]+ )?(api[ _-]?key|x-api-key|bearer token)\b/i,
    ],
  },
  {
    is: 'signed-out',
    example: 'API key not valid. Please pass a valid API key.',
    patterns: [
      /\bapi key (is )?(not valid|invalid|expired|missing|required|not set)\b/i,
      /\bmissing environment variable: `?\w*(key|token)\b/i,
    ],
  },
  {
    is: 'signed-out',
    example: 'OAuth token has expired',
    patterns: [
      /\b(oauth |access |refresh |auth(entication)? )(token|session) (has |is )?(expired|revoked|invalid)\b/i,
      /\bsession (has )?expired\b/i,
    ],
  },
  {
    is: 'signed-out',
    example: 'unexpected status 401 Unauthorized',
    patterns: [
      /\b401\b.{0,40}\bunauthori[sz]ed\b/i,
      /\bunauthenticated\b/i,
      /\binvalid auth method\b/i,
      /\b(status|error|http|code)[ :=(]{1,3}401\b/i,
    ],
  },
  {
    is: 'overloaded',
    example: 'overloaded_error: Overloaded',
    patterns: [/\boverloaded(_error)?\b/i, /\bat capacity\b/i],
  },
  {
    is: 'overloaded',
    example: 'unexpected status 503 Service Unavailable',
    patterns: [
      /\b(status|error|http|code)[ :=(]{1,3}(500|502|503|504|520|522|524|529)\b/i,
      /\b(internal server error|bad gateway|service unavailable|gateway time-?out)\b/i,
    ],
  },
  {
    is: 'overloaded',
    example: 'read ECONNRESET',
    patterns: [
      /\b(econnreset|econnrefused|etimedout|epipe|eai_again|enotfound|und_err_\w+)\b/i,
      /\b(socket hang up|fetch failed|socket connection was closed|network error|error sending request)\b/i,
    ],
  },
  {
    is: 'overloaded',
    example: 'stream disconnected before completion',
    patterns: [
      /\bconnection (was )?(reset|closed|refused|aborted|error|lost|timed out)\b/i,
      /\b(stream disconnected|(unable|failed) to connect)\b/i,
    ],
  },
]

const readLength = 4000

/** What the text says about a limit, a login or an overload; undefined if it says nothing of the kind. */
export function troubleIn(text: string, now: number): Trouble | undefined {
  const plain = text.slice(0, readLength).replaceAll('’', "'")
  const found = troubleTexts.find(({ patterns }) => patterns.some(pattern => pattern.test(plain)))
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
