// What a command gets from the world: environment, place, clock, chance, terminal. Made once in main.

import { resolve } from 'node:path'
import { type Client, type ClientInput } from '../daemon/client.ts'
import { type Print } from './print.ts'

export type Io = {
  /** What was typed after `berth`. */
  args: string[]
  env: { [name: string]: string | undefined }
  cwd: string
  /** Wall clock, ms since 1970. */
  now: () => number
  /** A fresh UUID. */
  newId: () => string
  print: Print
  /** All of stdin as bytes. */
  readInput: () => Promise<Uint8Array>
  /** Asks on the terminal; undefined where there is none. */
  question: ((text: string) => Promise<string>) | undefined
  /** With stdout's reader gone, go on instead of ending. */
  keepOn: () => void
}

/** Options that every verb has. */
export type Common = { json?: boolean; repo?: string }

/** One verb: gives the exit code, or throws BerthError. */
export type Command<Options = object> = (
  io: Io,
  given: { args: string[]; options: Options & Common },
) => Promise<number>

/** The repository's folder that the person means; absolute, because a loop stands elsewhere. */
export const repoOf = (io: Io, options: Common): string => resolve(io.cwd, options.repo ?? '')

/** Opens the client, and closes it whatever happens. */
export async function withClient<T>(
  io: Io,
  how: Pick<ClientInput, 'need' | 'background'>,
  work: (client: Client) => Promise<T>,
): Promise<T> {
  const { openClient } = await import('../daemon/client.ts')
  const client = await openClient({ env: io.env, cwd: io.cwd, now: io.now, ...how })
  try {
    return await work(client)
  } finally {
    await client.close()
  }
}

/** Who acts, for the records: the person at this terminal. */
export const person = 'person'
