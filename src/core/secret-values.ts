// Secrets that are told by what stands before them: keys with telling names, addresses with a password, key files.
// Each judge looks at the text after its trigger and says no, not yet, or where the secret lies.

/** Offsets count from the beginning of the text. `hold`: from there on nothing may be shown yet. */
export type Verdict =
  | { is: 'no' }
  | { is: 'wait'; hold?: number }
  | { is: 'secret'; from: number; to: number; marker?: string }
  /** Longer than what was looked at: it ends where a byte says so. */
  | { is: 'open'; from: number; to: number; closer: 'value' | 'pem' }

/** Bytes that a judge may want to see. */
export const judgedAhead = 1024

const no: Verdict = { is: 'no' }

/** What a key ends with to be telling: `MAX_TOKENS` is not, `GITHUB_TOKEN` is. */
const telling = spelled(
  `token|secret|password|passwd|passphrase|api_key|api-key|apikey|api key|access_key|access-key|accesskey
  access_key_id|secret_key|secret-key|secretkey|private_key|private-key|privatekey|auth_key|auth-key|authkey
  encryption_key|signing_key|master_key|account_key|accountkey|session_key|sharedaccesskey|license_key
  credential|credentials|authorization|_auth|_pass|_pwd|_pat|x-amz-signature|x-amz-credential|connection_string`,
)

const camel = `apiKey|accessKey|secretKey|privateKey|authKey|signingKey|encryptionKey|ApiKey|AccessKey|SecretKey
  PrivateKey|AccountKey|SharedAccessKey|accountKey|connectionString`

function listed(names: string): string[] {
  return names.split(/\||\n\s*/)
}

/** Each name in lower case, in upper case and capitalised, and the camel-case ones. */
function spelled(names: string): string[] {
  const capital = (name: string) =>
    name.replace(/(^|[_ -])([a-z])/g, (_, edge, letter) => edge + letter.toUpperCase())
  return listed(names).flatMap(name => [name, name.toUpperCase(), capital(name)])
}

export const keyNames = [...new Set([...telling, ...listed(camel)])]

/** Flags that take their value as the next word. */
export const keyFlags = listed(
  `--password|--passwd|--token|--api-key|--apikey|--secret|--auth-token|--access-token|--client-secret|--secret-key`,
).map(flag => `${flag} `)

const quotes = `"'\``
const schemes = ['Bearer ', 'bearer ', 'Basic ', 'basic ', 'Token ', 'token ', 'Bot ', 'ApiKey ', 'Digest ']

/** After a key name: `=value`, `: "value"`, `\": \"value\"`, `=> 'value'`. */
export function judgeValue(text: string, key: string, whole: boolean): Verdict {
  const scan = { at: 0 }
  const keyQuote = takeQuote(text, scan)
  if (keyQuote === undefined) return unfinished(whole)
  if (keyQuote !== '' && text[scan.at] === ']') scan.at++
  const before = takeBlanks(text, scan, 4)
  const separator = takeSeparator(text, scan)
  if (separator === undefined) return unfinished(whole)
  if (separator === '') return no
  const after = takeBlanks(text, scan, 8)
  const scheme = takeScheme(text, scan)
  if (scheme === undefined) return whole ? no : { is: 'wait', hold: scan.at }
  const from = scan.at
  const quote = takeQuote(text, scan)
  if (quote === undefined || scan.at >= text.length) return whole ? no : { is: 'wait', hold: from }
  const inner = quote === '' ? '' : takeScheme(text, scan)
  if (inner === undefined) return whole ? no : { is: 'wait', hold: from }
  const spaced = before + after > 0
  const value = quote === '' ? bareValue(text, scan.at) : quotedValue(text, scan.at, quote)
  if (value.ended || whole || text.length >= judgedAhead) {
    const style = {
      quoted: quote !== '' || keyQuote !== '',
      spaced,
      equals: separator !== ':',
      scheme: scheme + inner,
      next: text[value.to] ?? '',
    }
    if (!looksSecret(text.slice(scan.at, value.to), key, style)) return no
    if (!value.ended && !whole) return { is: 'open', from: scan.at, to: value.to, closer: 'value' }
    // A bare number behind a quoted key is JSON: it must stay JSON.
    const bareJson = keyQuote !== '' && quote === ''
    const marker = bareJson ? `${keyQuote}[redacted]${keyQuote}` : undefined
    return { is: 'secret', from: scan.at, to: value.to, ...(marker === undefined ? {} : { marker }) }
  }
  return { is: 'wait', hold: scan.at }
}

/** After a flag and its blank. */
export function judgeFlag(text: string, whole: boolean): Verdict {
  const scan = { at: 0 }
  takeBlanks(text, scan, 8)
  const quote = takeQuote(text, scan)
  if (quote === undefined || scan.at >= text.length) return whole ? no : { is: 'wait', hold: scan.at }
  const value = quote === '' ? bareValue(text, scan.at) : quotedValue(text, scan.at, quote)
  if (!value.ended && !whole && text.length < judgedAhead) return { is: 'wait', hold: scan.at }
  const secret = text.slice(scan.at, value.to)
  if (secret.startsWith('-') || /^[A-Z_]+$/.test(secret) || secret.length < 6 || isPlaceholder(secret))
    return no
  // The quote was the end of a string, not the beginning of one.
  if (/\s|^[,:)}\]]/.test(secret)) return no
  // `--token that was given`: prose, not a secret.
  if (quote === '' && !/\d/.test(secret) && secret.length < 20) return no
  return { is: 'secret', from: scan.at, to: value.to }
}

/** After `://`: `user:password@host`; the password alone is the secret. */
export function judgeAddress(text: string, whole: boolean): Verdict {
  const user = /^[^\s/:@"'`<>\\?#]*/.exec(text)?.[0].length ?? 0
  if (user > 128) return no
  if (user === text.length) return whole ? no : { is: 'wait' }
  if (text[user] !== ':') return no
  const from = user + 1
  const password = /^[^\s/@"'`<>\\?#]{0,512}/.exec(text.slice(from))?.[0] ?? ''
  const to = from + password.length
  if (to === text.length && !whole && password.length < 512) return { is: 'wait', hold: from }
  if (text[to] !== '@' || password.length < 3 || /^[$*{%x.]+$|^[$%{]/.test(password)) return no
  return { is: 'secret', from, to }
}

/** After `Bearer `: a token with a digit in it, so that `Bearer authentication` stays. */
export function judgeBearer(text: string, whole: boolean): Verdict {
  const token = /^[\w.~+/=-]{0,512}/.exec(text)?.[0] ?? ''
  if (token.length === text.length && !whole && token.length < 512) return { is: 'wait', hold: 0 }
  if (token.length < 16 || !/\d/.test(token)) return no
  return token.length === 512
    ? { is: 'open', from: 0, to: token.length, closer: 'value' }
    : { is: 'secret', from: 0, to: token.length }
}

/** After `-----BEGIN `: only private keys are secret. */
export function judgePem(text: string, whole: boolean): Verdict {
  if (/^[A-Z0-9 ]{0,40}PRIVATE KEY( BLOCK)?-----/.test(text))
    return { is: 'open', from: 0, to: 0, closer: 'pem' }
  const undecided = /^[A-Z0-9 ]{0,60}-{0,4}$/.test(text)
  return undecided && !whole ? { is: 'wait', hold: 0 } : no
}

type Style = {
  quoted: boolean
  spaced: boolean
  equals: boolean
  /** `Bearer ` or its like stood before the value. */
  scheme: string
  /** The byte after the value. */ next: string
}

function looksSecret(value: string, key: string, style: Style): boolean {
  if (value.length < 6 || /\s|^[,:)}\]]/.test(value) || isPlaceholder(value)) return false
  if (value.toLowerCase() === key.toLowerCase()) return false
  const isPassword = /pass|pwd|secret$/i.test(key)
  const shell = style.equals && !style.spaced && key === key.toUpperCase()
  if (shell) return true
  const digit = /\d/.test(value)
  if (style.scheme !== '') return digit || /[A-Z=]/.test(value.slice(1))
  if (style.quoted)
    return digit || isPassword || !/^[a-z]+([ ._:/-][a-z]+)*$/i.test(value) || value.length >= 24
  if (style.next === '(' || style.next === '[') return false
  // `token = request.headers.token`: code.
  if (/^[A-Za-z_$][\w$]*([.?:!]+[A-Za-z_$][\w$]*)+;?$/.test(value)) return false
  if (/^0x[\da-f]+$/i.test(value)) return false
  // `previousToken: previousToken2`: code.
  const name = !isPassword && /^[A-Za-z_$]+\d{0,2}$/.test(value)
  if (style.spaced || !style.equals) return digit && !name && (isPassword || value.length >= 8)
  // `login(token=token_value, …)`: code.
  return !(/^[a-z_]+$/.test(value) && /[,)]/.test(style.next))
}

const placeholders = new RegExp(
  '^(true|false|null|none|undefined|required|optional|string|number|boolean|missing|invalid|expired|changed|' +
    'enabled|disabled|default|example\\S*|your[-_]\\S*|placeholder\\S*|redacted|hidden|masked|filtered|unknown|' +
    'not[-_]\\S*)[;,.]?$',
  'i',
)

function isPlaceholder(value: string): boolean {
  if (/^([*x.•#?-]+|\[redacted\].*|<.*|\$.*|%\w+%?|\{\{.*|@[\w.]+)$/i.test(value)) return true
  if (/^(process|import|os|env|secrets|vars|config|settings|self|this|ctx|req|request)[.[]/i.test(value))
    return true
  return placeholders.test(value)
}

/** The quote that stands here, its backslashes included; empty if none; undefined if it cannot be told yet. */
function takeQuote(text: string, scan: { at: number }): string | undefined {
  const slashes = /^\\{0,7}/.exec(text.slice(scan.at))?.[0] ?? ''
  const next = text[scan.at + slashes.length]
  if (next === undefined) return undefined
  if (!quotes.includes(next)) return ''
  scan.at += slashes.length + 1
  return slashes + next
}

function takeBlanks(text: string, scan: { at: number }, most: number): number {
  const begun = scan.at
  while (scan.at - begun < most && (text[scan.at] === ' ' || text[scan.at] === '\t')) scan.at++
  return scan.at - begun
}

/** `=`, `:`, `=>`, `:=`; empty for anything else, comparisons and paths included; undefined if too short. */
function takeSeparator(text: string, scan: { at: number }): string | undefined {
  const [first, second] = [text[scan.at], text[scan.at + 1]]
  if (first === undefined) return undefined
  if (first !== '=' && first !== ':') return ''
  if (second === undefined) return undefined
  if (second === first || second === '~') return ''
  const double = (first === '=' && second === '>') || (first === ':' && second === '=')
  scan.at += double ? 2 : 1
  return double ? first + second : first
}

/** `Bearer ` before the value proper; undefined if what stands there may become one. */
function takeScheme(text: string, scan: { at: number }): string | undefined {
  const rest = text.slice(scan.at, scan.at + 8)
  const scheme = schemes.find(candidate => rest.startsWith(candidate))
  if (scheme === undefined) {
    const undecided =
      scan.at + rest.length === text.length && schemes.some(candidate => candidate.startsWith(rest))
    return undecided ? undefined : ''
  }
  scan.at += scheme.length
  takeBlanks(text, scan, 4)
  return scheme
}

const unfinished = (whole: boolean): Verdict => (whole ? no : { is: 'wait' })

/** Up to a blank, a quote or what separates values; closing brackets and dots at its end are not part of it. */
function bareValue(text: string, from: number): { to: number; ended: boolean } {
  const run = /^[^\s"'`\\;&|<>,(){}[\]]*/.exec(text.slice(from))?.[0] ?? ''
  const ended = from + run.length < text.length
  const kept = ended ? run.replace(/[.:]+$/, '') : run
  return { to: from + kept.length, ended }
}

/**
 * Up to a quote of the same kind, to one of a string around it, or to the end of the line. A quote that JSON wrote
 * down `n` levels deep has 2^n - 1 backslashes; each level doubles those of the content.
 */
function quotedValue(text: string, from: number, quote: string): { to: number; ended: boolean } {
  const kind = quote.at(-1)
  const own = quote.length - 1
  let slashes = 0
  for (let at = from; at < text.length; at++) {
    if (text[at] === '\n') return { to: at, ended: true }
    if (text[at] === kind && slashes < own) return { to: at - slashes, ended: true }
    if (text[at] === kind && slashes % (2 * (own + 1)) === own) return { to: at - own, ended: true }
    slashes = text[at] === '\\' ? slashes + 1 : 0
  }
  return { to: text.length, ended: false }
}
