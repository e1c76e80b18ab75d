// Case 53: more output than anyone reads.

import { readFileSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { makeWorld, processesIn } from '../fixtures/berth.ts'

const flood = `#!/usr/bin/env node
import fs from 'node:fs'
const put = (fd, b) => { let o = 0; while (o < b.length) { try { o += fs.writeSync(fd, b, o) } catch (e) { if (e.code !== 'EAGAIN') throw e; Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5) } } }
const k = Buffer.alloc(1 << 20, 'z'); for (let i = 0; i < 64; i++) put(1, k); put(1, Buffer.from('\\n'))
for (let i = 0; i < 300; i++) for (const [fd, w] of [[1, 'out'], [2, 'err']]) put(fd, Buffer.from(Array.from({ length: 500 }, (_, j) => \`\${w} \${i * 500 + j}\\n\`).join('')))
process.exitCode = 3
`

test('a flood is run to its end in flat memory; head and tail are kept, and what was left out is said', async () => {
  const world = makeWorld()
  const repo = world.repository('repo', { 'app.txt': 'one\n', 'berth.toml': '[recovery]\nattempts = 1\n' })
  const agent = world.script(join(world.dir, 'flood.mjs'), flood)
  const { child, ended } = world.start(['run', '--name', 't', '--command', agent, '--repo', repo, 'go'])
  let peak = 0
  const watch = setInterval(() => {
    for (const { pid, command } of processesIn(world.dir))
      if (/main\.cjs|supervisor/.test(command)) peak = Math.max(peak, rssOf(pid))
    peak = Math.max(peak, rssOf(child.pid ?? 0))
  }, 50)
  const ran = await ended
  clearInterval(watch)
  expect(ran.code).toBe(1)
  expect(peak).toBeLessThan(300)
  const exited = (await world.facts(repo)).find(fact => fact.kind === 'run.exited')
  expect(exited).toMatchObject({ code: 3 })
  const { out } = await world.berth(['transcript', 't', '--repo', repo])
  expect(out).toContain('out 149999')
  expect(out).toMatch(/left out/)
  const runs = join(world.state, 'runs')
  const bytes = readdirSync(runs, { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile())
    .reduce((sum, entry) => sum + statSync(join(entry.parentPath, entry.name)).size, 0)
  expect(bytes).toBeLessThan(60_000_000)
})

test('a diff of several megabytes is counted and shown without an error', async () => {
  const world = makeWorld()
  const lines = Array.from({ length: 200_000 }, (_, i) => `${i}\n`)
  const repo = world.repository('repo', { 'big.txt': lines.join('') })
  const reversed = world.write(join(world.dir, 'reversed'), lines.toReversed().join(''))
  expect(
    await world.berth(['run', '--name', 't', '--command', `cp '${reversed}' big.txt`, '--repo', repo, 'go']),
  ).toMatchObject({ code: 0 })
  const { changes } = await world.task(repo, 't')
  expect(changes.insertions).toBe(
    Number(world.git(repo, 'diff', '--numstat', 'main', 'berth/t').split('\t')[0]),
  )
  const diff = await world.berth(['diff', 't', '--repo', repo])
  expect(diff.code).toBe(0)
  expect(diff.out.length).toBeGreaterThan(10_000)
})

function rssOf(pid: number): number {
  try {
    return Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1024
  } catch {
    return 0
  }
}
