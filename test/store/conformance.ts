// What every store must do, whatever it is built on. A backend passes this suite or is none.

import { describe, expect, test } from 'vitest'
import { type Event } from '../../src/core/event.ts'
import { type NewFact, type Query, type Store } from '../../src/store/store.ts'

/** One store of a backend, empty at first. `writer` opens it for writing, after the one before was closed. */
export type Backend = { writer(): Store; reader(): Store }

export const project = '0123456789abcdef'
export const at = 1_750_000_000_000

const ofTask = (task: string) => ({ project, task })
const ofRun = (task: string, run: string) => ({ project, task, run })

export const state = (task: string, text = 'x'): NewFact => ({ kind: 'task.noted', text, ...ofTask(task) })

export const observation = (task: string, run: string, path: string): NewFact => ({
  kind: 'file.changed',
  path,
  change: 'modified',
  ...ofRun(task, run),
})

const tool = (task: string, run: string, ...paths: string[]): NewFact => ({
  kind: 'tool.called',
  tool: 'edit',
  id: '1',
  paths,
  ...ofRun(task, run),
})

export const seqs = (events: Iterable<Event>): number[] => [...events].map(event => event.seq)

export function storeConformance(name: string, make: () => Backend): void {
  describe(name, () => {
    test('an appended batch comes back with stamps, numbered without a gap', () => {
      const store = make().writer()
      const first = store.append([state('a'), { ...observation('a', 'r1', 'x.ts'), because: 1 }], {
        at,
        awake: 5,
      })
      expect(first).toEqual([
        { seq: 1, at, awake: 5, host: 'here', ...state('a') },
        { seq: 2, at, awake: 5, host: 'here', because: 1, ...observation('a', 'r1', 'x.ts') },
      ])
      expect(seqs(store.append([state('b')], { at: at + 1, awake: 6 }))).toEqual([3])
      expect(store.append([], { at, awake: 7 })).toEqual([])
      expect([...store.read()].slice(0, 2)).toEqual(first)
      expect(store.last()).toMatchObject({ seq: 3, at: at + 1, awake: 6 })
      store.close()
    })

    test('every text comes back as it was, whatever stands in it', () => {
      const backend = make()
      const store = backend.writer()
      const text =
        'nul \0 line\nreturn\r tab\t "quoted" {"seq":9,"kind":"x"} \u2028 \uFFFD \uFEFF é 😀 \uD800 end'
      const [written] = store.append([state('a', text)], { at, awake: 0 })
      expect([...store.read()]).toEqual([written])
      store.close()
      const reader = backend.reader()
      expect([...reader.read()]).toEqual([{ seq: 1, at, awake: 0, host: 'here', ...state('a', text) }])
      reader.close()
    })

    test('what was appended is there for the next writer, which goes on numbering', () => {
      const backend = make()
      const one = backend.writer()
      one.append([state('a'), state('b')], { at, awake: 0 })
      one.close()
      const two = backend.writer()
      expect(two.damage).toBeUndefined()
      expect(seqs(two.append([state('c')], { at, awake: 0 }))).toEqual([3])
      expect(two.id).toBe(one.id)
      expect(seqs(two.read())).toEqual([1, 2, 3])
      two.close()
    })

    test('a replay gives the state facts alone, in order', () => {
      const store = make().writer()
      for (let i = 0; i < 700; i++)
        store.append([state('a', `${i}`), observation('a', 'r', 'x'), observation('a', 'r', 'y')], {
          at,
          awake: 0,
        })
      const replayed = [...store.state()]
      expect(replayed.map(event => event.seq)).toEqual(Array.from({ length: 700 }, (_, i) => i * 3 + 1))
      expect(replayed.at(-1)).toMatchObject({ text: '699' })
      expect(seqs(store.read())).toEqual(Array.from({ length: 2100 }, (_, i) => i + 1))
      store.close()
    })

    test.each(queries)('a query finds what it asks for and nothing else: %j', (query, expected) => {
      const backend = make()
      const store = backend.writer()
      fill(store)
      expect(seqs(store.read(query))).toEqual(expected)
      store.close()
      const reader = backend.reader()
      expect(seqs(reader.read(query))).toEqual(expected)
      reader.close()
    })

    test('a read under way goes on with what is appended meanwhile, and may be left early', () => {
      const store = make().writer()
      store.append(
        Array.from({ length: 1500 }, () => state('a')),
        { at, awake: 0 },
      )
      let count = 0
      for (const event of store.read()) {
        count += 1
        if (event.seq === 10) store.append([state('late')], { at, awake: 0 })
      }
      expect(count).toBe(1501)
      for (const event of store.read({ newestFirst: true })) {
        expect(event.seq).toBe(1501)
        break
      }
      expect(seqs(store.append([state('b')], { at, awake: 0 }))).toEqual([1502])
      store.close()
    })

    test('a batch is recorded whole or not at all', () => {
      const store = make().writer()
      store.append([state('a')], { at, awake: 0 })
      const circular = { ...state('b') } as NewFact & { self?: unknown }
      circular.self = circular
      expect(() => store.append([state('x'), circular], { at, awake: 0 })).toThrow(TypeError)
      expect(seqs(store.read())).toEqual([1])
      expect(seqs(store.append([state('c')], { at, awake: 0 }))).toEqual([2])
      store.close()
    })

    test('a reader sees what a live writer appends, and cannot append', () => {
      const backend = make()
      const writer = backend.writer()
      writer.append([state('a')], { at, awake: 0 })
      const reader = backend.reader()
      expect(reader.changedSince(0)).toBe(true)
      expect(reader.changedSince(1)).toBe(false)
      writer.append([observation('a', 'r', 'x')], { at, awake: 0 })
      expect(reader.changedSince(1)).toBe(true)
      expect(reader.last()).toMatchObject({ seq: 2 })
      expect(seqs(reader.read({ from: 2 }))).toEqual([2])
      expect(() => reader.append([state('b')], { at, awake: 0 })).toThrow('read-only')
      writer.close()
      expect(seqs(reader.read())).toEqual([1, 2])
      const again = backend.writer()
      again.append([state('c')], { at, awake: 0 })
      expect(seqs(reader.read())).toEqual([1, 2, 3])
      reader.close()
      again.close()
    })
  })
}

/** 1 to 9; the clock goes back at 6. */
function fill(store: Store): void {
  const put = (fact: NewFact, ms: number) => store.append([fact], { at: at + ms, awake: ms })
  put(state('a'), 0)
  put(state('b'), 10)
  put(observation('a', 'r1', 'src/x.ts'), 20)
  put(tool('a', 'r1', 'src/x.ts', 'src/y.ts', 'src/x.ts'), 30)
  put(
    { kind: 'file.changed', path: 'src/z.ts', from: 'src/y.ts', change: 'renamed', ...ofRun('b', 'r2') },
    40,
  )
  put({ kind: 'task.stopped', by: 'me', ...ofTask('a') }, 15)
  put({ kind: 'loop.stopped', reason: 'idle' }, 50)
  put({ kind: 'task.stopped', by: 'me', project: 'fedcba9876543210', task: 'a' }, 60)
  put({ kind: 'trespass.seen', where: 'main', paths: ['src/x.ts'], ...ofRun('a', 'r1') }, 70)
}

const queries: [Query, number[]][] = [
  [{}, [1, 2, 3, 4, 5, 6, 7, 8, 9]],
  [{ from: 3, to: 5 }, [3, 4, 5]],
  [{ from: 3, to: 5, newestFirst: true }, [5, 4, 3]],
  [{ limit: 2 }, [1, 2]],
  [{ limit: 0 }, []],
  [{ newestFirst: true, limit: 3 }, [9, 8, 7]],
  [{ since: at + 15, until: at + 40 }, [3, 4, 5, 6]],
  [{ since: at + 41 }, [7, 8, 9]],
  [{ until: at + 15, newestFirst: true }, [6, 2, 1]],
  [{ since: at + 1000 }, []],
  [{ until: at - 1 }, []],
  [{ kinds: ['task.stopped'] }, [6, 8]],
  [{ kinds: ['task.stopped', 'file.changed'] }, [3, 5, 6, 8]],
  [{ kinds: [] }, []],
  [{ task: 'a' }, [1, 3, 4, 6, 8, 9]],
  [{ project, task: 'a' }, [1, 3, 4, 6, 9]],
  [{ project, task: 'a', kinds: ['task.stopped'] }, [6]],
  [{ project: 'fedcba9876543210' }, [8]],
  [{ run: 'r1' }, [3, 4, 9]],
  [{ run: 'r1', newestFirst: true, limit: 1 }, [9]],
  [{ file: 'src/x.ts' }, [3, 4, 9]],
  [{ file: 'src/y.ts' }, [4, 5]],
  [{ file: 'src/x.ts', kinds: ['tool.called'] }, [4]],
  [{ file: 'src/x.ts', newestFirst: true, limit: 2 }, [9, 4]],
  [{ file: 'src/x.ts', task: 'b' }, []],
]
