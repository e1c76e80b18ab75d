// The environment of the calls that submitted tasks: kept in memory only, since it may hold keys
// (docs/decisions/0014), and what stands in for it after a restart.

import { type Task } from '../core/task.ts'
import { type Environment } from '../workspace/environment.ts'
import { secretValues } from './secrets.ts'

export type Passed = {
  put(call: string, env: Environment): void
  /** Of the call, else that of the process hosting the loop with the recorded PATH. */
  of(task: Pick<Task, 'call' | 'passed'>): Environment
  /** Every secret value that any of them holds. */
  secrets(): ReadonlySet<string>
}

/** Calls are few; their environments are small and often the same. */
const callsMax = 1_000

export function openPassed(own: Environment): Passed {
  const calls = new Map<string, Environment>()
  // Never fewer: what was handed out once may still come back.
  const secrets = new Set(secretValues(own))
  return {
    put: (call, env) => {
      for (const value of secretValues(env)) secrets.add(value)
      calls.delete(call)
      calls.set(call, env)
      for (const oldest of calls.keys()) {
        if (calls.size <= callsMax) break
        calls.delete(oldest)
      }
    },
    secrets: () => secrets,
    of: ({ call, passed }) => {
      const env = calls.get(call)
      if (env) return env
      return passed === undefined ? own : { ...own, PATH: passed.path }
    },
  }
}
