// The house rules that a machine can check: who imports whom, who owns which effect, how long things may get.

import { readFileSync, readdirSync } from 'node:fs'
import { dirname, join, posix, relative, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'
import { expect, test } from 'vitest'

const root = join(dirname(fileURLToPath(import.meta.url)), '..')

// What each folder may import. Read top to bottom: a folder may only import folders above it.
const mayImport: Record<string, string[]> = {
  core: [],
  platform: ['core'],
  engines: ['core'],
  store: ['core', 'platform'],
  git: ['core', 'platform'],
  process: ['core', 'platform', 'store'],
  workspace: ['core', 'platform', 'store', 'process', 'git'],
  daemon: ['core', 'platform', 'store', 'process', 'git', 'engines', 'workspace'],
  cli: ['core', 'platform', 'store', 'daemon'],
}

/** Packages that each folder may use, besides Node's own modules; core may use neither Node nor others. */
const corePackages = ['zod', 'picomatch']

// Effects that belong to one place, so that each can be found, timed and faked there.
const owned: { what: RegExp; in: RegExp; why: string }[] = [
  {
    what: /['"](?:node:)?child_process['"]/,
    in: /^(platform\/exec|process\/spawn|process\/supervisor)\.ts$/,
    why: 'platform/exec.ts to run, process/spawn.ts to start',
  },
  { what: /process\.platform\b|os\.platform\(/, in: /^platform\//, why: 'ask platform/' },
  { what: /process\.(exit|argv)\b/, in: /^(cli\/|process\/supervisor\.ts)/, why: 'return an exit code' },
  { what: /\bconsole\.\w+\(/, in: /^cli\/print\.ts$/, why: 'print through cli/print.ts' },
  {
    what: /process\.(stdout|stderr)\b/,
    in: /^cli\/(print|main)\.ts$/,
    why: 'print through cli/print.ts',
  },
  {
    what: /Date\.now\(|Math\.random\(|new Date\(\)/,
    in: /^(daemon\/daemon|cli\/main|process\/supervisor)\.ts$/,
    why: 'take `now` and randomness as arguments',
  },
  { what: /(?:run|spawn|exec)\w*\(\s*['"]git['"]/, in: /^git\/git\.ts$/, why: 'run git through git/git.ts' },
]

const limits = { file: 400, function: 70, line: 120 }

const sources = (folder: string): string[] =>
  readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile() && entry.name.endsWith('.ts'))
    .map(entry =>
      relative(root, join(entry.parentPath ?? entry.path, entry.name))
        .split(sep)
        .join('/'),
    )

const read = (file: string): string => readFileSync(join(root, file), 'utf8')

test('a folder imports only what stands above it', () => {
  const complaints = sources('src').flatMap(path => {
    const file = path.slice('src/'.length)
    const folder = file.split('/')[0] ?? ''
    return [...read(path).matchAll(/(?:from|import)\s*\(?\s*['"]([^'"]+)['"]/g)].flatMap(([, to = '']) => {
      if (to.startsWith('.')) {
        const target = posix.join(posix.dirname(file), to).split('/')[0] ?? ''
        const fine = target === folder || (mayImport[folder] ?? []).includes(target)
        return fine ? [] : [`${file}: ${folder}/ may not import ${target}/ (${to})`]
      }
      return folder === 'core' && !corePackages.includes(to) ? [`${file}: core may not import '${to}'`] : []
    })
  })
  expect(complaints).toEqual([])
})

test('every effect has one owner', () => {
  const complaints = sources('src').flatMap(path => {
    const file = path.slice('src/'.length)
    const text = withoutComments(read(path))
    return owned
      .filter(rule => rule.what.test(text) && !rule.in.test(file))
      .map(rule => `${file}: ${rule.why}`)
  })
  expect(complaints).toEqual([])
})

test('files, functions and lines stay short', () => {
  const complaints = sources('src').flatMap(path => {
    const lines = read(path).split('\n')
    return [
      ...lines.flatMap((line, i) =>
        line.length > limits.line ? [`${path}:${i + 1}: longer than ${limits.line}`] : [],
      ),
      ...(lines.length > limits.file ? [`${path}: ${lines.length} lines, at most ${limits.file}`] : []),
      ...longFunctions(path),
    ]
  })
  expect(complaints).toEqual([])
})

test('every file says first what it owns, and has no default export, barrel, class but errors or vague name', () => {
  const complaints = sources('src').flatMap(path => {
    const text = read(path)
    const first = text.startsWith('#!') ? (text.split('\n')[1] ?? '') : text
    return [
      ...(first.startsWith('//') ? [] : [`${path}: the first line says what the file owns`]),
      ...(/^export default/m.test(text) ? [`${path}: no default exports`] : []),
      ...(/^export \* from/m.test(text) ? [`${path}: no barrels`] : []),
      ...(/^\s*(export )?class (?!\w+ extends \w*Error)/m.test(text)
        ? [`${path}: classes only for errors`]
        : []),
      ...(/(utils?|helpers?|manager|misc|common)\.ts$/.test(path)
        ? [`${path}: name it by what it owns`]
        : []),
    ]
  })
  expect(complaints).toEqual([])
})

test('nothing unfinished is left in the sources or tests', () => {
  // Each word is written so that it does not find itself.
  const mark = /\b(TO{1}DO|FIX{1}ME|X{3})\b|\bdebug{1}ger\b|\b(test|describe|it)\.on{1}ly\(/
  const complaints = [...sources('src'), ...sources('test')].filter(path => mark.test(read(path)))
  expect(complaints).toEqual([])
})

test('no test sleeps or retries instead of waiting for a condition', () => {
  const complaints = sources('test').filter(path => /retry:\s*\d|\{\s*retry\s*:/.test(read(path)))
  expect(complaints).toEqual([])
})

/** Code alone: comments, and texts of several lines (programs that are written elsewhere), are left out. */
const withoutComments = (text: string): string =>
  text
    .replace(/= `[^`]*\n[^`]*`/g, '= ``')
    .replace(/\/\*[\s\S]*?\*\//g, '')
    .replace(/(^|\s)\/\/[^\n]*/g, '$1')

function longFunctions(path: string): string[] {
  const source = ts.createSourceFile(path, read(path), ts.ScriptTarget.ES2022, true)
  const complaints: string[] = []
  const visit = (node: ts.Node): void => {
    if (ts.isFunctionLike(node) && 'body' in node && node.body !== undefined) {
      const line = (at: number) => source.getLineAndCharacterOfPosition(at).line
      const length = line(node.getEnd()) - line(node.getStart()) + 1
      if (length > limits.function)
        complaints.push(`${path}:${line(node.getStart()) + 1}: a function of ${length} lines`)
    }
    ts.forEachChild(node, visit)
  }
  visit(source)
  return complaints
}
