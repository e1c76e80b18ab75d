// Any program as an agent: the prompt on stdin or in a file, its exit code and its output as its word.

import { type Engine, type Launch, type LaunchInput, type ReadState } from './engine.ts'
import { concludeText, exitCodes, readText } from './text.ts'

const launch = ({ program: [file = '', ...args] }: LaunchInput): Launch => ({
  file,
  args,
  env: {},
  stdin: 'prompt',
  files: [],
})

export const command: Engine = {
  name: 'command',
  program: '',
  versionArgs: [],
  install: '',
  keyNames: [],
  ownNames: [],
  launch,
  read: readText,
  conclude: concludeText,
}

/**
 * A command whose output is that of a known engine (`reads = "claude"`). While no event of that engine was seen,
 * the output is judged as any other program's.
 */
export function commandReading(engine: Engine): Engine {
  return {
    ...command,
    read(state, line, stream, now) {
      const named = engine.read(part(state, 'named'), line, stream, now)
      const plain = readText(part(state, 'plain'), line, stream, now)
      return { state: { named: named.state, plain: plain.state }, reports: named.reports }
    },
    conclude(ended) {
      const named = part(ended.state, 'named')
      const byCode = ended.code === exitCodes.limited || ended.code === exitCodes.signedOut
      return named['seen'] === true && !byCode
        ? engine.conclude({ ...ended, state: named })
        : concludeText({ ...ended, state: part(ended.state, 'plain') })
    },
  }
}

const part = (state: ReadState, name: string): ReadState => (state[name] ?? {}) as ReadState
