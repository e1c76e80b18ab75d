// Who waits for which task: the calls that submitted or joined it and are still there. In memory only.

import { type TaskKey } from '../core/task.ts'
import { type Caller } from './server.ts'

export type Calls = {
  /** `caller` waits for these tasks from now on, on behalf of `call`. */
  attend(caller: Caller, call: string | undefined, tasks: readonly TaskKey[]): void
  /** Whether a caller other than `caller` is there and waits for it. */
  isAttended(task: TaskKey, caller: Caller): boolean
  /** Its tasks; undefined: this loop does not know the call. */
  of(call: string): ReadonlySet<TaskKey> | undefined
  /** Tasks that anyone waits for. */
  attended(): TaskKey[]
}

export function openCalls(): Calls {
  const calls = new Map<string, Set<TaskKey>>()
  const attending = new Map<TaskKey, Set<Caller>>()
  const leave = (caller: Caller, tasks: readonly TaskKey[]): void => {
    for (const task of tasks) {
      const callers = attending.get(task)
      callers?.delete(caller)
      if (callers?.size === 0) attending.delete(task)
    }
  }
  return {
    attend: (caller, call, tasks) => {
      if (call !== undefined) {
        const known = calls.get(call) ?? new Set()
        calls.set(call, known)
        for (const task of tasks) known.add(task)
      }
      if (caller.gone()) return
      for (const task of tasks) {
        const callers = attending.get(task) ?? new Set()
        attending.set(task, callers.add(caller))
      }
      caller.onGone(() => leave(caller, tasks))
    },
    isAttended: (task, caller) => [...(attending.get(task) ?? [])].some(each => each !== caller),
    of: call => calls.get(call),
    attended: () => [...attending.keys()],
  }
}
