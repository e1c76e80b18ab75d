// Who may speak on the socket, and what a broken or foreign peer gets.

import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { contract } from '../../src/core/api.ts'
import { BerthError } from '../../src/core/errors.ts'
import { type Server, listen } from '../../src/daemon/server.ts'
import { call } from '../../src/daemon/wire.ts'

let dir: string
let server: Server
let asked: string[]

beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), 'berth-wire-'))
  asked = []
  server = await listen({
    path: join(dir, 's'),
    stateId: 'one',
    version: '1.0.0',
    handle: async verb => {
      asked.push(verb)
      if (verb === 'show') throw new BerthError('not-found', "no task 'x'", 'berth ls')
      return { verb }
    },
  })
})

afterEach(async () => {
  await server.close()
  rmSync(dir, { recursive: true })
})

const dial = (stateId = 'one') => call(join(dir, 's'), { stateId, version: '1.0.0', limitMs: 5_000 })

const nextMessage = (wire: { onMessage(listener: (message: unknown) => void): void }) =>
  new Promise(resolve => wire.onMessage(resolve))

const talk = (text: string): Promise<string> =>
  new Promise(resolve => {
    const socket = connect(join(dir, 's'))
    let got = ''
    socket.on('data', bytes => (got += bytes.toString()))
    socket.on('close', () => resolve(got))
    socket.write(text)
  })

test('the socket is its owner’s alone', () => {
  expect(statSync(join(dir, 's')).mode & 0o777).toBe(0o600)
})

test('both sides say hello, then requests are answered and refused by code', async () => {
  const answered = await dial()
  expect(answered?.hello).toEqual({ berth: 1, contract, stateId: 'one', version: '1.0.0', role: 'daemon' })
  answered?.wire.send({ id: 7, verb: 'ls', params: {} })
  expect(await nextMessage(answered!.wire)).toEqual({ id: 7, answer: { verb: 'ls' } })
  answered?.wire.send({ id: 8, verb: 'show', params: {} })
  expect(await nextMessage(answered!.wire)).toEqual({
    id: 8,
    error: { code: 'not-found', message: "no task 'x'", hint: 'berth ls' },
  })
  answered?.wire.close()
})

test('a peer of another state directory is turned away on both sides', async () => {
  await expect(dial('two')).rejects.toMatchObject({ code: 'daemon-down' })
  expect(asked).toEqual([])
})

test('nobody answers where nobody listens', async () => {
  expect(await call(join(dir, 'none'), { stateId: 'one', version: '1', limitMs: 1_000 })).toBe(undefined)
})

test('what is no hello, and what is no JSON, closes the connection', async () => {
  const hello = JSON.stringify({ berth: 1, contract, stateId: 'one', version: '1', role: 'client' })
  expect((await talk('GET / HTTP/1.1\n')).split('\n')).toHaveLength(2)
  expect((await talk('{"id":1,"verb":"ls","params":{}}\n')).split('\n')).toHaveLength(2)
  expect((await talk(`${hello}\nnonsense\n`)).split('\n')).toHaveLength(2)
  expect(asked).toEqual([])
})

test('another contract may only ask what never changes', async () => {
  const hello = JSON.stringify({
    berth: 1,
    contract: contract + 1,
    stateId: 'one',
    version: '9',
    role: 'client',
  })
  const socket = connect(join(dir, 's'))
  const lines = new Promise<string[]>(resolve => {
    let got = ''
    socket.on('data', bytes => {
      got += bytes.toString()
      if (got.split('\n').length === 4) resolve(got.split('\n').slice(1, 3))
    })
  })
  socket.write(`${hello}\n{"id":1,"verb":"ls","params":{}}\n{"id":2,"verb":"status","params":{}}\n`)
  const answers = (await lines).map(line => JSON.parse(line) as { id: number })
  expect(answers.find(answer => answer.id === 1)).toMatchObject({ error: { code: 'daemon-down' } })
  expect(answers.find(answer => answer.id === 2)).toEqual({ id: 2, answer: { verb: 'status' } })
  expect(asked).toEqual(['status'])
  socket.destroy()
})
