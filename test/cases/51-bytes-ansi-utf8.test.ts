// Case 51: split characters, control codes and broken bytes in the output.

import { join } from 'node:path'
import { expect, test } from 'vitest'
import { makeWorld } from '../fixtures/berth.ts'

const noisy = `#!/usr/bin/env node
const nap = ms => new Promise(r => setTimeout(r, ms)), w = (s, o = process.stdout) => new Promise(r => o.write(s, r))
for (const b of Buffer.from('price \\u20ac, \\u5b8c\\u4e86, \\u{1f9ea}\\n')) { await w(Buffer.from([b])); await nap(2) }
await w('\\x1b[31mred\\x1b[0m \\x1b]0;title\\x07 \\x1b]8;;https://case.invalid\\x1b\\\\link\\x1b]8;;\\x1b\\\\\\n')
for (let i = 0; i <= 100; i++) await w(\`\\rprogress \${i}%\`)
await w('\\nhalf\\x1b['); await nap(20); await w('1mbold\\x1b[0m\\n'); await w(Buffer.from([0x66, 0xff, 0xfe, 0x00, 0x67, 0x0a]))
await w('<script>alert(1)</script> | a | b |\\n\`\`\`\\n# not a heading\\n'); await w('err \\u20ac\\n', process.stderr)
await w('cr only\\rover\\r\\nno newline at the end \\u20ac'); process.exitCode = 7
`

test('text is whole, codes are gone, the progress bar is one line, and nothing of it breaks out of the markdown', async () => {
  const world = makeWorld()
  const repo = world.repository('repo', { 'app.txt': 'one\n', 'berth.toml': '[recovery]\nattempts = 1\n' })
  const agent = world.script(join(world.dir, 'noisy.mjs'), noisy)
  expect(await world.berth(['run', '--name', 't', '--command', agent, '--repo', repo, 'go'])).toMatchObject({
    code: 1,
  })
  expect((await world.facts(repo)).find(fact => fact.kind === 'run.exited')).toMatchObject({ code: 7 })

  const { out } = await world.berth(['transcript', 't', '--repo', repo])
  expect(out).toContain('price €, 完了, 🧪')
  expect(out).not.toContain('\u001b')
  expect(out.match(/progress/g)).toHaveLength(1)
  expect(out).toContain('progress 100%')
  expect(out).toContain('halfbold')
  expect(out.match(/\ufffd/g)).toHaveLength(2)
  expect(out).toContain('no newline at the end €')
  expect(out).toMatch(/^ *stderr \| err €$/m)
  expect(out).toMatch(/^ *no newline at the end €$/m)

  const md = (await world.berth(['transcript', 't', '--format', 'md', '--repo', repo])).out
  expect(md).not.toContain('\u001b')
  // inside a fence that is longer than any that the agent wrote, nothing is markdown
  const fence = /^(`{4,})/m.exec(md)?.[1] ?? ''
  expect(fence.length).toBeGreaterThan(3)
  const log = (await world.berth(['log', '--format', 'md', '--repo', repo])).out
  expect(log).not.toMatch(/^# not a heading/m)
  expect(log).not.toContain('<script>')
})
