// How wide text is on a terminal, and tables that fit: what a person sees, never what a program reads.

const eastAsian =
  '\u1100-\u115F\u2E80-\u303E\u3041-\uA4CF\uAC00-\uD7A3\uF900-\uFAFF\uFE30-\uFE6F\uFF00-\uFF60\uFFE0-\uFFE6'
const wide = new RegExp(`[${eastAsian}]|\\p{Extended_Pictographic}`, 'u')
// oxlint-disable-next-line no-control-regex
const unsafe = /[\u0000-\u001F\u007F-\u009F\u200B\u200E\u200F\u202A-\u202E\u2066-\u2069\uFEFF]/g
// oxlint-disable-next-line no-control-regex
const escapes = /\u001B\[[0-9;]*m/g

// oxlint-disable-next-line no-control-regex
const sequences = /\u001B\[[0-?]*[ -/]*[@-~]|\u001B\][^\u0007\u001B]*(?:\u0007|\u001B\\)?/g

/** Text of agents and titles on one line: escape sequences go, other control and direction characters are shown. */
export function visible(text: string): string {
  return text.replaceAll(sequences, '').replaceAll(unsafe, one => {
    if (one === '\n' || one === '\r' || one === '\t') return ' '
    return `\\u${one.codePointAt(0)!.toString(16).padStart(4, '0')}`
  })
}

/** As `visible`, but line ends stay: for whole texts. */
export const visibleLines = (text: string): string =>
  text
    .split(/\r\n|\n/)
    .map(visible)
    .join('\n')

/** Terminal columns of a text; colours count nothing. */
export function widthOf(text: string): number {
  const plain = text.replaceAll(escapes, '')
  if (!/[^\u0020-\u007E]/.test(plain)) return plain.length
  let width = 0
  for (const { segment } of new Intl.Segmenter().segment(plain)) width += wide.test(segment) ? 2 : 1
  return width
}

/** The text cut to `width` columns, with `…` where something was cut. Without colours in it. */
export function fit(text: string, width: number): string {
  if (widthOf(text) <= width) return text
  let out = ''
  for (const { segment } of new Intl.Segmenter().segment(text)) {
    if (widthOf(out) + widthOf(segment) > width - 1) break
    out += segment
  }
  return `${out.trimEnd()}…`
}

/** The text in lines of at most `width` columns, cut at spaces where it can be. */
export function wrap(text: string, width: number): string[] {
  const lines: string[] = []
  let line = ''
  for (const word of text.split(' ')) {
    if (line !== '' && widthOf(line) + 1 + widthOf(word) > width) {
      lines.push(line)
      line = word
    } else line = line === '' ? word : `${line} ${word}`
  }
  return [...lines, line]
}

export type Column = {
  title: string
  /** Numbers stand at the right. */
  right?: boolean
  /** Left out, the last such column first, when the table does not fit. */
  optional?: boolean
  paint?: (cell: string, row: number) => string
}

/**
 * A table with a head. The last column takes what is left of `width` and is cut there; `width` undefined (not a
 * terminal) cuts nothing.
 */
export function table(columns: Column[], rows: string[][], width: number | undefined): string[] {
  const shown = chosen(columns, rows, width)
  const widths = widthsOf(columns, rows)
  const used = shown.slice(0, -1).reduce((sum, at) => sum + widths[at]! + 2, 0)
  const rest = width === undefined ? Infinity : Math.max(10, width - used)
  const cell = (text: string, at: number, last: boolean) => {
    const cut = last ? fit(text, rest) : text
    if (last) return cut
    const gap = ' '.repeat(Math.max(0, widths[at]! - widthOf(cut)))
    return columns[at]!.right ? gap + cut : cut + gap
  }
  const line = (cells: string[], row: number | undefined) =>
    shown
      .map((at, place) => {
        const text = cell(cells[at] ?? '', at, place === shown.length - 1)
        const paint = columns[at]!.paint
        return row === undefined || !paint ? text : paint(text, row)
      })
      .join('  ')
      .trimEnd()
  return [
    line(
      columns.map(column => column.title),
      undefined,
    ),
    ...rows.map((row, at) => line(row, at)),
  ]
}

const widthsOf = (columns: Column[], rows: string[][]): number[] =>
  columns.map((column, at) => Math.max(widthOf(column.title), ...rows.map(row => widthOf(row[at] ?? ''))))

/** Indexes of the columns that stay: optional ones go until the last has 30 columns. */
function chosen(columns: Column[], rows: string[][], width: number | undefined): number[] {
  const widths = widthsOf(columns, rows)
  let shown = columns.map((_, at) => at).filter(at => rows.some(row => row[at]) || !columns[at]!.optional)
  const used = () => shown.slice(0, -1).reduce((sum, at) => sum + widths[at]! + 2, 0)
  if (width === undefined) return shown
  while (used() > width - 30) {
    const out = shown.findLast(at => columns[at]!.optional)
    if (out === undefined) break
    shown = shown.filter(at => at !== out)
  }
  return shown
}
