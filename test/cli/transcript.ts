// Golden transcripts: whole conversations with the real binary, with what changes from run to run made equal.

import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect } from 'vitest'
import { type Options, type World } from '../fixtures/berth.ts'

const folder = fileURLToPath(new URL('../golden', import.meta.url))

export type Talk = {
  /** Runs `berth` and writes down what it said, stdout and stderr apart. */
  berth(
    line: string[],
    options?: Options & { shown?: string },
  ): Promise<{ code: number | null; out: string; err: string }>
  /** Compares all that was written down with `test/golden/<name>.txt`. */
  isGolden(name: string): Promise<void>
}

export function talkWith(world: World, cwd: string): Talk {
  const lines: string[] = []
  return {
    berth: async (args, options = {}) => {
      const ran = await world.berth(args, { cwd, ...options })
      const shown = options.shown ?? args.map(quoted).join(' ')
      lines.push(`$ berth ${shown}`, ran.out.trimEnd(), ...(ran.err ? ['--- stderr', ran.err.trimEnd()] : []))
      lines.push(`--- exit ${ran.code}`, '')
      return ran
    },
    isGolden: async name => {
      const text = lines.filter((line, at) => line !== '' || lines[at - 1]?.startsWith('--- exit')).join('\n')
      await expect(`${settled(text, world.dir)}\n`).toMatchFileSnapshot(join(folder, `${name}.txt`))
    },
  }
}

const quoted = (word: string): string => (/^[\w./:@#=*-]+$/.test(word) ? word : JSON.stringify(word))

/** Places, ids, pids, times and ages are replaced; columns keep their places where a width would change. */
export function settled(text: string, dir: string): string {
  return text
    .replaceAll(dir, '<dir>')
    .replaceAll(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, '<uuid>')
    .replaceAll(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z?/g, '<time>')
    .replaceAll(/^\d\d:\d\d:\d\d(?= )/gm, '<time>')
    .replaceAll(/\b[0-9a-f]{40}\b/g, '<commit>')
    .replaceAll(/\b(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{7,16}\b|\b\d{10}\b/g, '<hash>')
    .replaceAll(/\(pid \d+\)/g, '(pid <pid>)')
    .replaceAll(/^( *)\d+(?=  <time>)/gm, '<seq>')
    .replaceAll(/#\d+(?= \*\*)/g, '#<seq>')
    .replaceAll(/(?<= ) *\d+[smhd](?= ago|$|  )/gm, '<age>')
}
