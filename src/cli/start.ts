// Runs one call of `berth`: builds what commands get from the world, finds the verb, turns errors into words.

import { CommanderError } from 'commander'
import { BerthError } from '../core/errors.ts'
import { refuseInside } from './inside.ts'
import { type Io } from './io.ts'
import { openPrint, printError } from './print.ts'
import { callOf, meaning } from '../core/shellword.ts'
import { buildProgram } from './program.ts'
import { usageError, verbOf } from './usage.ts'

export type World = Pick<Io, 'now' | 'newId'> & Pick<NodeJS.Process, 'stdout' | 'stderr' | 'stdin'>

/** Gives the exit code. */
export async function start(args: string[], world: World): Promise<number> {
  const { env } = process
  const { stdout, stderr, stdin } = world
  let keepOn = false
  const end = () => {
    if (!keepOn) process.exit(0)
  }
  let repo: string | undefined
  const print = openPrint({ stdout, stderr, env, end, typed: command => meaning(repo, command) })
  const io: Io = {
    args,
    env,
    cwd: process.cwd(),
    now: world.now,
    newId: world.newId,
    print,
    readInput: () => readInput(stdin),
    question: stdin.isTTY && stderr.isTTY ? text => question(text, world) : undefined,
    keepOn: () => (keepOn = true),
  }
  const dashes = args.indexOf('--')
  const json = (dashes < 0 ? args : args.slice(0, dashes)).includes('--json')
  const verb = args[0]?.startsWith('-') ? undefined : args[0]
  const program = buildProgram(
    async (name, load, given) => {
      if (env['BERTH_RUN']) await refuseInside(name, env)
      repo = given.options.repo
      const command = await load()
      program.exit = await command(io, given)
    },
    io,
    verb,
  )
  try {
    if (args.length === 0) throw new BerthError('usage', 'no verb is given', 'berth --help')
    await program.root.parseAsync(args, { from: 'user' })
    return program.exit
  } catch (thrown) {
    if (thrown instanceof CommanderError && thrown.exitCode === 0) return 0
    const error = thrown instanceof CommanderError ? usageError(thrown, program.root, args) : thrown
    const known = verbOf(program.root)
    return printError(print, error, {
      json,
      call: callOf(args),
      help: known ? `berth ${known.name()} --help` : 'berth --help',
      debug: env['BERTH_DEBUG'] !== undefined && env['BERTH_DEBUG'] !== '',
    })
  }
}

async function readInput(stdin: World['stdin']): Promise<Uint8Array> {
  const chunks: Buffer[] = []
  for await (const chunk of stdin) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks)
}

async function question(text: string, { stdin, stderr }: World): Promise<string> {
  const { createInterface } = await import('node:readline/promises')
  const reader = createInterface({ input: stdin, output: stderr })
  try {
    return await reader.question(text)
  } finally {
    reader.close()
  }
}
