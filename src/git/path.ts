// Paths as git gives them: bytes. Here they become strings without loss, and bytes again.
//
// A path that is valid UTF-8 is that string. Any other byte (0x80 to 0xff) becomes the lone surrogate U+DC80 to
// U+DCFF, as Python's `surrogateescape` does it. Such a string compares, sorts and survives JSON; it must go
// through `bytesOf` before it meets the file system or git's standard input, and through `shownPath` before a person.

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
const escaped = /[\udc80-\udcff]/

/** The lossless string of a path's bytes. */
export function pathOf(bytes: Uint8Array): string {
  try {
    return utf8.decode(bytes)
  } catch {
    return decodePieces(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength))
  }
}

/** A path for `node:fs`: the string itself where it is plain, else its bytes. */
export function bytesOf(path: string): Buffer {
  if (!hasRawBytes(path)) return Buffer.from(path, 'utf8')
  const parts: Buffer[] = []
  for (const unit of path) {
    const code = unit.codePointAt(0) ?? 0
    parts.push(code >= 0xdc80 && code <= 0xdcff ? Buffer.from([code - 0xdc00]) : Buffer.from(unit, 'utf8'))
  }
  return Buffer.concat(parts)
}

/** What `node:fs` must be given for this path: Buffers only where a string would change the name. */
export const fsPath = (path: string): string | Buffer => (hasRawBytes(path) ? bytesOf(path) : path)

/** A path for a person: bytes that are no UTF-8 as `\xNN`, control characters as git quotes them. */
export function shownPath(path: string): string {
  // oxlint-disable-next-line no-control-regex
  return path.replace(/[\u0000-\u001f\u007f\udc80-\udcff]/g, unit => {
    const code = unit.charCodeAt(0)
    if (unit === '\n') return '\\n'
    if (unit === '\t') return '\\t'
    return `\\x${(code >= 0xdc80 ? code - 0xdc00 : code).toString(16).padStart(2, '0')}`
  })
}

/** Whether a path holds bytes that are no UTF-8. A real surrogate pair is a plain character. */
export function hasRawBytes(path: string): boolean {
  if (!escaped.test(path)) return false
  for (const unit of path) {
    const code = unit.codePointAt(0) ?? 0
    if (code >= 0xdc80 && code <= 0xdcff) return true
  }
  return false
}

/** Splits NUL-separated output into paths or fields; the part after the last NUL is dropped when empty. */
export function splitNul(bytes: Buffer): string[] {
  const parts: string[] = []
  let from = 0
  while (from < bytes.length) {
    const end = bytes.indexOf(0, from)
    const stop = end < 0 ? bytes.length : end
    parts.push(pathOf(bytes.subarray(from, stop)))
    from = stop + 1
  }
  return parts
}

/** NUL-terminated bytes of several paths, for git's `-z --stdin` forms. */
export function joinNul(paths: readonly string[]): Buffer {
  if (!paths.some(hasRawBytes)) return Buffer.from(paths.map(path => `${path}\0`).join(''), 'utf8')
  return Buffer.concat(paths.flatMap(path => [bytesOf(path), Buffer.from([0])]))
}

/** Whether `path` is `folder` or lies under it: whole components, never a string prefix. `/` separated. */
export function isWithin(path: string, folder: string): boolean {
  const base = folder.endsWith('/') ? folder.slice(0, -1) : folder
  return path === base || path.startsWith(`${base}/`)
}

function decodePieces(bytes: Buffer): string {
  let text = ''
  let at = 0
  while (at < bytes.length) {
    const length = sequenceLength(bytes, at)
    if (length === 0) {
      text += String.fromCharCode(0xdc00 + (bytes[at] ?? 0))
      at += 1
    } else {
      text += bytes.toString('utf8', at, at + length)
      at += length
    }
  }
  return text
}

/** Bytes of the valid UTF-8 sequence at this place, 0 where there is none. */
function sequenceLength(bytes: Buffer, at: number): number {
  const first = bytes[at] ?? 0
  const length =
    first < 0x80 ? 1 : first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : first < 0xf5 ? 4 : 0
  if (length === 0 || at + length > bytes.length) return 0
  try {
    utf8.decode(bytes.subarray(at, at + length))
    return length
  } catch {
    return 0
  }
}
