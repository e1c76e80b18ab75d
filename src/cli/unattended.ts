// What is said under a list where something would go on, but no Berth is running.

import { list } from '../core/words.ts'
import { type Io } from './io.ts'

/** Nothing for no task, and inside a run, where nobody is to start a Berth. */
export function tellUnattended(io: Io, names: readonly string[]): void {
  if (names.length === 0 || io.env['BERTH_RUN']) return
  io.print.note(`no Berth is running to go on with ${list(names)}`)
  io.print.hint('berth run')
}

export const unattendedOf = (tasks: readonly { task: string; unattended: boolean }[]): string[] =>
  tasks.filter(({ unattended }) => unattended).map(({ task }) => task)
