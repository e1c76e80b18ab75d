// The text of a first berth.toml: what was found is set, everything else stands there as a comment.

import { policyDefault } from '../core/config.ts'
import { duration } from '../core/quantity.ts'
import { type Discovered } from '../daemon/discover.ts'

export function proposal({ target, engines, setup, gates, copies }: Discovered): string {
  const [engine] = engines
  const set = (on: boolean, text: string) =>
    on
      ? text
      : text
          .split('\n')
          .map(line => `# ${line}`)
          .join('\n')
  const standard = policyDefault
  return `# How Berth works on this repository. Every key may be left out; \`berth config\` shows what counts and why.
# The berth.toml of the target branch counts, never that of a task's branch.

# The branch that work lands on.
target = ${quoted(target.branch)}

# When work that passed its gates lands: "ask" waits for \`berth land\`, "auto" does not, "never" keeps the branch.
land = "${standard.land}"

# The engine of tasks that name none: claude, codex, gemini, opencode, command, or a name of [engines] below.
${set(engine !== undefined, `engine = ${quoted(engine ?? standard.defaultEngine)}`)}

# Shell lines that are run in every new workspace before its agent.
${set(setup.length > 0, `setup = ${list(setup.length > 0 ? setup : ['npm ci'])}`)}

# Shell lines that must pass before a task may land.
${set(gates.length > 0, `gates = ${list(gates.length > 0 ? gates : ['npm test'])}`)}

# Files that git ignores and every workspace needs.
${set(copies.length > 0, `copies = ${list(copies.length > 0 ? copies : ['.env'])}`)}

# Globs: a change to these is never landed without you.
# protected = [".github/**"]

# The folder for worktrees, seen from here; a sibling of the repository if left out.
# worktrees = "../worktrees"

# A program of your own as an engine.
# [engines.mine]
# type = "command"
# argv = ["./agent", "--flag"]

# [limits]
# jobs = 4

# [timeouts]
# run = "${duration(standard.timeoutMs)}"
# command = "10m"

# [recovery]
# attempts = ${standard.attempts}
`
}

const quoted = (text: string): string => JSON.stringify(text)

function list(lines: string[]): string {
  const line = `[${lines.map(quoted).join(', ')}]`
  return line.length <= 90 ? line : `[\n${lines.map(one => `  ${quoted(one)},`).join('\n')}\n]`
}
