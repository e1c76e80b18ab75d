// Runs a development tool of node_modules with this very Node, and gives its exit code.
import { spawnSync } from 'node:child_process'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

export const root = join(dirname(fileURLToPath(import.meta.url)), '..')
const shim = pathToFileURL(join(root, 'scripts/node20.mjs')).href

export function run(entry, args) {
  const tool = join(root, 'node_modules', entry)
  const env = { ...process.env, NODE_OPTIONS: `${process.env.NODE_OPTIONS ?? ''} --import ${shim}`.trim() }
  const { status, signal } = spawnSync(process.execPath, [tool, ...args], {
    cwd: root,
    stdio: 'inherit',
    env,
  })
  return signal ? 1 : (status ?? 1)
}
