// Folders, child processes and stores for the tests of the store; all of it is gone when the test has ended.

import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'
import { onTestFinished } from 'vitest'
import { type Store, openStore } from '../../src/store/store.ts'
import { at } from './conformance.ts'

const root = join(dirname(fileURLToPath(import.meta.url)), '../..')

export function folder(): string {
  const dir = mkdtempSync(join(tmpdir(), 'berth-store-'))
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }))
  return dir
}

let ids = 0
const options = { now: () => at, host: 'here' }

export const openWriting = (dir: string): Store => openStore(dir, { ...options, newId: () => `id-${++ids}` })
export const openReading = (dir: string): Store => openStore(dir, { ...options, readOnly: true })

/** Every file under `dir` with its content, by its path: what must not change is compared. */
export function contents(dir: string): { [path: string]: string } {
  const files = readdirSync(dir, { recursive: true, withFileTypes: true }).filter(entry => entry.isFile())
  return Object.fromEntries(
    files
      .map(entry => join(entry.parentPath ?? entry.path, entry.name))
      .sort()
      .map(file => [file.slice(dir.length + 1), readFileSync(file, 'latin1')]),
  )
}

/**
 * Starts Node on `script`, a module that may import `./store/….js` and `./core/….js`. Its arguments follow in `argv`;
 * the driver is found beside this repository. Killed at the end of the test at the latest.
 */
export function startChild(dir: string, script: string, ...args: string[]): ChildProcess {
  const compiled = join(dir, 'compiled')
  compile(compiled)
  const file = join(compiled, `child-${++ids}.js`)
  const near = JSON.stringify(join(root, 'package.json'))
  writeFileSync(file, `import { loadSqlite } from './store/sqlite.js'\nloadSqlite(${near})\n${script}`)
  const child = spawn(process.execPath, [file, ...args], { stdio: ['pipe', 'pipe', 'inherit'] })
  onTestFinished(() => {
    child.kill('SIGKILL')
  })
  return child
}

/** Resolves with the first line of the child's output that `wanted` accepts; rejects when it ends before. */
export function lineOf(child: ChildProcess, wanted: (line: string) => boolean): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = ''
    child.stdout?.on('data', chunk => {
      text += String(chunk)
      const line = text.split('\n').slice(0, -1).find(wanted)
      if (line !== undefined) resolve(line)
    })
    child.once('exit', code => reject(new Error(`the child ended with ${code}, having said '${text}'`)))
  })
}

export const ended = (child: ChildProcess): Promise<void> =>
  child.exitCode !== null || child.signalCode !== null
    ? Promise.resolve()
    : new Promise(resolve => child.once('exit', () => resolve()))

function compile(to: string): void {
  if (existsSync(to)) return
  for (const name of ['core', 'store']) {
    const from = join(root, 'src', name)
    mkdirSync(join(to, name), { recursive: true })
    for (const file of readdirSync(from).filter(entry => entry.endsWith('.ts'))) {
      const { outputText } = ts.transpileModule(readFileSync(join(from, file), 'utf8'), {
        compilerOptions: {
          module: ts.ModuleKind.ESNext,
          target: ts.ScriptTarget.ES2022,
          rewriteRelativeImportExtensions: true,
          verbatimModuleSyntax: true,
        },
      })
      writeFileSync(join(to, name, `${basename(file, '.ts')}.js`), outputText)
    }
  }
  writeFileSync(join(to, 'package.json'), '{"type":"module"}')
}
