// Bytes to what a person would see: decoded, without escape codes, progress bars in their last state.

/**
 * Text of chunks, each stream decoded across its own chunks' borders: broken bytes become U+FFFD, nothing else
 * changes.
 */
export function textOf(chunks: readonly { bytes: Uint8Array; stream?: string }[]): string {
  const decoders = new Map<string, InstanceType<typeof TextDecoder>>()
  const decoderOf = (stream: string) => {
    const known = decoders.get(stream) ?? new TextDecoder('utf-8', { ignoreBOM: true })
    decoders.set(stream, known)
    return known
  }
  const parts = chunks.map(({ bytes, stream = '' }) => decoderOf(stream).decode(bytes, { stream: true }))
  return parts.join('') + [...decoders.values()].map(decoder => decoder.decode()).join('')
}

/** Lines without escape codes and other control codes; what a carriage return overwrote is gone. */
export function shownLines(text: string): string[] {
  const lines = withoutCodes(text).split('\n').map(shownLine)
  if (lines.at(-1) === '') lines.pop()
  return lines
}

/**
 * Colours, cursor moves, titles and links are taken out; a link keeps its text. A code that was cut off at the end
 * goes too.
 */
export function withoutCodes(text: string): string {
  return text.replace(codes, '')
}

const codes = new RegExp(
  [
    // colours and cursor moves
    '\\x1b\\[[0-?]*[ -/]*(?:[@-~]|$)',
    '\\x9b[0-?]*[ -/]*[@-~]',
    // titles, links and other strings, to their end
    '\\x1b[\\]PX^_][^\\x07\\x1b]{0,4096}(?:\\x07|\\x1b\\\\|$)',
    // character sets and the like, single letters, a lone escape at the end
    '\\x1b[ -/]+[0-~]?',
    '\\x1b(?:[0-Z\\\\-~]|$)',
  ].join('|'),
  'g',
)

/** The last state of a line that was written over and over. */
function shownLine(line: string): string {
  const parts = line.split('\r').filter(part => part !== '')
  const shown = parts.at(-1) ?? ''
  // oxlint-disable-next-line no-control-regex
  return backspaced(shown).replace(/[\x00-\x08\x0b-\x1f\x7f]/g, '')
}

function backspaced(line: string): string {
  if (!line.includes('\b')) return line
  const shown: string[] = []
  for (const character of line) {
    if (character === '\b') shown.pop()
    else shown.push(character)
  }
  return shown.join('')
}
