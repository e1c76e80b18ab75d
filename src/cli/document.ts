// Task files in YAML and JSON: parsed with the place of every value, so that a mistake has a line and a column.

import { isMap, isScalar, isSeq, LineCounter, type Node, parseDocument } from 'yaml'
import { type Mistake, mistake, type TaskFile } from '../core/taskfile.ts'
import { readTasks, type Where } from '../core/tasklist.ts'

/** JSON's values are those of JSON's own parser; that it is YAML too serves only to find places. */
export function readDocument(text: string, format: 'yaml' | 'json'): TaskFile | Mistake {
  const source = text.replace(/^\uFEFF/, '')
  const counter = new LineCounter()
  const document = parseDocument(source, { lineCounter: counter, uniqueKeys: format === 'yaml' })
  const where: Where = path => placeOf(document.contents, path, counter)
  if (format === 'json') {
    const value = parsedJson(source)
    return value.is === 'value' ? readTasks(value.value, where) : value
  }
  const [error] = document.errors
  if (!error) return readTasks(document.toJS({ maxAliasCount: 100 }), where)
  const { line, col } = counter.linePos(error.pos[0])
  return mistake(line, col, `YAML is malformed: ${firstLine(error.message)}`)
}

const firstLine = (text: string): string =>
  (text.split('\n')[0] ?? '').replace(/ at line \d+, column \d+:?$/, '')

function parsedJson(source: string): { is: 'value'; value: unknown } | Mistake {
  try {
    return { is: 'value', value: JSON.parse(source) }
  } catch {
    const before = source.slice(0, wrongFrom(source)).split('\n')
    return mistake(before.length, before.at(-1)!.length + 1, 'JSON is malformed here')
  }
}

/** How much of the text could still become JSON: V8 does not name the position of every error. */
function wrongFrom(source: string): number {
  let [good, bad] = [0, source.length + 1]
  while (bad - good > 1) {
    const middle = (good + bad) >> 1
    if (mayGoOn(source.slice(0, middle))) good = middle
    else bad = middle
  }
  return good
}

function mayGoOn(prefix: string): boolean {
  try {
    JSON.parse(prefix)
    return true
  } catch (error) {
    const { message } = error as Error
    const position = / at position (\d+)/.exec(message)?.[1]
    if (/^Unterminated string|^Unexpected end/.test(message)) return true
    return position !== undefined && Number(position) >= prefix.length
  }
}

/** Where the value at `path` begins; of a key, the key. The deepest that exists. */
function placeOf(
  root: unknown,
  path: (string | number)[],
  counter: LineCounter,
): { line: number; column: number } {
  let node = root
  let at = startOf(root)
  for (const key of path) {
    if (isSeq(node)) {
      node = node.items[Number(key)]
      at = startOf(node) ?? at
    } else if (isMap(node)) {
      const pair = node.items.find(item => isScalar(item.key) && item.key.value === key)
      if (!pair) break
      at = startOf(pair.key) ?? at
      node = pair.value
    } else break
  }
  const { line, col } = counter.linePos(at ?? 0)
  return { line: Math.max(1, line), column: Math.max(1, col) }
}

const startOf = (node: unknown): number | undefined => (node as Node | undefined)?.range?.[0]
