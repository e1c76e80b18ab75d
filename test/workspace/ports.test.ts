// Ports: a block each, stable, skipping what anybody uses or was promised.

import { createServer } from 'node:net'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { heldPorts, leasePorts, releasePorts } from '../../src/workspace/ports.ts'
import { type Site } from '../../src/workspace/site.ts'
import { makeYard, type Yard } from '../fixtures/workspace.ts'

let yard: Yard
let site: Site
beforeEach(async () => {
  yard = makeYard()
  site = await yard.site()
})
afterEach(() => yard.clean())

const range = { first: 27_000, blocks: 4 }

const lease = (
  at: Site,
  task: string,
  over: { before?: number[]; taken?: number[] } = {},
): Promise<number[]> => leasePorts(at, { task, path: yard.path(task), before: [], taken: [], range, ...over })

test('a block is stable, another task’s is another, and it goes back only to who had it', async () => {
  const mine = await lease(site, 'a')
  expect(mine).toHaveLength(10)
  expect(await lease(site, 'a')).toEqual(mine)
  expect(await lease(site, 'a', { before: mine })).toEqual(mine)
  const other = await yard.site({}, 'state-two')
  const theirs = await lease(other, 'a')
  expect(theirs[0]).not.toBe(mine[0])
  await releasePorts(other, 'b')
  expect(await lease(site, 'a')).toEqual(mine)
  await releasePorts(site, 'a')
  await releasePorts(other, 'a')
  const all = await Promise.all(['a', 'b', 'c', 'd'].map(task => lease(site, task)))
  expect(new Set(all.map(([first]) => first)).size).toBe(4)
  await expect(lease(site, 'e')).rejects.toThrow('no block of 10 free ports')
})

test('a block in which anybody listens, or that the records promise, is skipped', async () => {
  const server = createServer()
  await new Promise<void>(resolve => server.listen({ port: 27_003, host: '127.0.0.1' }, resolve))
  try {
    expect(await heldPorts([27_002, 27_003])).toEqual([27_003])
    const taken = [27_015]
    const got = await Promise.all(['a', 'b'].map(task => lease(site, task, { taken })))
    expect(got.map(([first]) => first).sort()).toEqual([27_020, 27_030])
    await expect(lease(site, 'c', { taken })).rejects.toThrow('no block of 10 free ports')
  } finally {
    await new Promise(resolve => server.close(resolve))
  }
})
