// Which bytes of a stream are terminal escape codes, as they are or written out inside a JSON string.

export type Escapes = {
  /** Bytes are undecided: the next one must go through `step`. */
  open(): boolean
  /** Takes an escape byte, a backslash, or any byte while open. Bytes that turn out visible are given to `feed`. */
  step(byte: number, at: number, feed: (visible: { byte: number; at: number }) => void): void
  /** The stream is over: what is undecided is visible. */
  end(feed: (visible: { byte: number; at: number }) => void): void
  /** The offset `count` visible bytes before `from`. */
  back(from: number, count: number): number
  /** The offset after the codes that begin here; `at` itself if none does. */
  skip(at: number): number
  endsAt(at: number): boolean
  between(from: number, to: number): boolean
  within(from: number, to: number): { from: number; to: number }[]
  /** Codes before this offset are asked for no more. */
  forget(before: number): void
}

const longest = 64
const escape = 0x1b
const backslash = 0x5c

/** How a colour code begins when a program wrote a string as JSON, Python or C would. */
const written = ['\\u001b[', '\\\\u001b[', '\\x1b[', '\\033[', '\\e[']

export function makeEscapes(): Escapes {
  let undecided: number[] = []
  let start = 0
  let codes: { from: number; to: number }[] = []

  function step(byte: number, at: number, feed: (visible: { byte: number; at: number }) => void) {
    if (undecided.length === 0) {
      if (byte !== escape && byte !== backslash) return feed({ byte, at })
      start = at
    }
    undecided.push(byte)
    const verdict = verdictOf(undecided)
    if (verdict === 'more') return
    if (verdict === 'code') {
      codes.push({ from: start, to: at + 1 })
      undecided = []
      return
    }
    release(feed)
  }

  /** The first byte is visible; the others may begin a code of their own. */
  function release(feed: (visible: { byte: number; at: number }) => void) {
    const [first = 0, ...rest] = undecided
    const from = start
    undecided = []
    feed({ byte: first, at: from })
    rest.forEach((byte, index) => step(byte, from + 1 + index, feed))
  }

  function skip(at: number): number {
    let offset = at
    for (const code of codes) if (code.from === offset) offset = code.to
    return offset
  }

  function back(from: number, count: number): number {
    let at = from
    let left = count
    for (let index = codes.length - 1; index >= 0 && left > 0; index--) {
      const code = codes[index] as { from: number; to: number }
      if (code.to > at) continue
      const visible = at - code.to
      if (visible >= left) break
      left -= visible
      at = code.from
    }
    return at - left
  }

  return {
    open: () => undecided.length > 0,
    step,
    end(feed) {
      while (undecided.length > 0) release(feed)
    },
    back,
    skip,
    endsAt: at => codes.some(code => code.to === at),
    between: (from, to) => codes.some(code => code.to > from && code.from < to),
    within: (from, to) =>
      codes.length === 0 ? codes : codes.filter(code => code.from >= from && code.to <= to),
    forget(before) {
      if (codes.length > 0) codes = codes.filter(code => code.to >= before)
    },
  }
}

function verdictOf(bytes: readonly number[]): 'more' | 'code' | 'visible' {
  if (bytes.length > longest) return 'visible'
  return bytes[0] === escape ? controlVerdict(bytes) : writtenVerdict(String.fromCharCode(...bytes))
}

/** Titles, links and other strings (`ESC ]` and its like) stay visible: a secret may stand in them. */
function controlVerdict([, kind, third, ...rest]: readonly number[]): 'more' | 'code' | 'visible' {
  if (kind === undefined) return 'more'
  if (kind === 0x5b) {
    const last = rest.at(-1) ?? third
    // Digits and their like only: anything else might be a secret that a stray code swallowed.
    if (last === undefined || (last >= 0x30 && last <= 0x3f)) return 'more'
    return last >= 0x40 && last <= 0x7e ? 'code' : 'visible'
  }
  if ('()*+#%'.includes(String.fromCharCode(kind))) {
    if (third === undefined) return 'more'
    return /[0-9A-Z@]/.test(String.fromCharCode(third)) ? 'code' : 'visible'
  }
  return '78=>cDEHMNOZ'.includes(String.fromCharCode(kind)) ? 'code' : 'visible'
}

function writtenVerdict(text: string): 'more' | 'code' | 'visible' {
  const lower = text.toLowerCase()
  if (written.some(form => form.startsWith(lower))) return 'more'
  const form = written.find(begin => lower.startsWith(begin))
  if (form === undefined) return 'visible'
  const parameters = text.slice(form.length)
  if (/^[\d;:?]*$/.test(parameters)) return 'more'
  return /^[\d;:?]*[A-Za-z]$/.test(parameters) ? 'code' : 'visible'
}
