// The patterns of a configuration: applied to whole lines, which are held back until they end.

import { type Redactor } from './redact.ts'
import { fromLatin1, join, latin1 } from './utf8.ts'

const lineBytes = 16_384

/** After the first redactor. A line of more than 16 KB is looked at in pieces of that size. */
export function byLines(first: Redactor, patterns: readonly RegExp[]): Redactor {
  const global = patterns.map(
    pattern => new RegExp(pattern.source, [...new Set(`${pattern.flags}g`)].join('')),
  )
  const clean = (text: string) =>
    global.reduce((rest, pattern) => rest.replace(pattern, whole => (whole === '' ? '' : '[redacted]')), text)
  let held = ''
  const take = (bytes: Uint8Array): Uint8Array => {
    held += latin1(bytes)
    const parts: string[] = []
    for (let size = nextPiece(held); size > 0; size = nextPiece(held)) {
      parts.push(clean(held.slice(0, size)))
      held = held.slice(size)
    }
    return fromLatin1(parts.join(''))
  }
  const rest = () => {
    const text = clean(held)
    held = ''
    return fromLatin1(text)
  }
  return {
    push: bytes => take(first.push(bytes)),
    flush: () => join([take(first.flush()), rest()]),
    end: () => join([take(first.end()), rest()]),
  }
}

function nextPiece(held: string): number {
  const line = held.indexOf('\n') + 1
  if (line > 0 && line <= lineBytes) return line
  return held.length >= lineBytes ? lineBytes : 0
}
