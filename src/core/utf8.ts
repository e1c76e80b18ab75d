// Text and bytes without a library: core knows neither Node nor the browser.

export function utf8(text: string): Uint8Array {
  const bytes = new Uint8Array(text.length * 3)
  let size = 0
  for (let at = 0; at < text.length; at++) {
    const code = text.codePointAt(at) ?? 0
    if (code < 0x80) bytes[size++] = code
    else if (code < 0x800) {
      bytes[size++] = 0xc0 | (code >> 6)
      bytes[size++] = 0x80 | (code & 63)
    } else if (code < 0x10000) {
      bytes[size++] = 0xe0 | (code >> 12)
      bytes[size++] = 0x80 | ((code >> 6) & 63)
      bytes[size++] = 0x80 | (code & 63)
    } else {
      at++
      bytes[size++] = 0xf0 | (code >> 18)
      bytes[size++] = 0x80 | ((code >> 12) & 63)
      bytes[size++] = 0x80 | ((code >> 6) & 63)
      bytes[size++] = 0x80 | (code & 63)
    }
  }
  return bytes.slice(0, size)
}

/** Of bytes that `utf8` made: half surrogate pairs come back as they were. */
export function utf8Text(bytes: Uint8Array): string {
  const parts: string[] = []
  let units: number[] = []
  for (let at = 0; at < bytes.length;) {
    const first = bytes[at++] ?? 0
    const follow = first < 0x80 ? 0 : first < 0xe0 ? 1 : first < 0xf0 ? 2 : 3
    let code = follow === 0 ? first : first & (0x3f >> follow)
    for (let turn = 0; turn < follow; turn++) code = (code << 6) | ((bytes[at++] ?? 0) & 63)
    if (code < 0x10000) units.push(code)
    else units.push(0xd800 + ((code - 0x10000) >> 10), 0xdc00 + ((code - 0x10000) & 0x3ff))
    if (units.length > 4096) {
      parts.push(String.fromCharCode(...units))
      units = []
    }
  }
  return parts.join('') + String.fromCharCode(...units)
}

/** One character for each byte. */
export function latin1(bytes: Uint8Array): string {
  if (bytes.length <= 4096) return String.fromCharCode(...bytes)
  const parts: string[] = []
  for (let at = 0; at < bytes.length; at += 4096)
    parts.push(String.fromCharCode(...bytes.subarray(at, at + 4096)))
  return parts.join('')
}

export function fromLatin1(text: string): Uint8Array {
  const bytes = new Uint8Array(text.length)
  for (let at = 0; at < text.length; at++) bytes[at] = text.charCodeAt(at)
  return bytes
}

export function join(parts: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(parts.reduce((size, part) => size + part.length, 0))
  let at = 0
  for (const part of parts) {
    whole.set(part, at)
    at += part.length
  }
  return whole
}
