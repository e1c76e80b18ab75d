// Known secret values out of facts, whoever found them: the last gate before the log (docs/decisions/0015).

import { type Fact } from '../core/event.ts'

/** What Berth acts on must stay exact; it comes from people, configuration and Berth itself. */
const exact: ReadonlySet<Fact['kind']> = new Set<Fact['kind']>([
  'project.seen',
  'project.configured',
  'task.submitted',
  'workspace.claimed',
  'workspace.ready',
  'run.claimed',
  'run.started',
  'run.session',
  'landing.claimed',
  'landing.tested',
  'landing.landed',
])

const placeholder = '[redacted]'

/** The same facts where none of them holds a secret. */
export function scrubbed<F extends Fact>(facts: readonly F[], secrets: ReadonlySet<string>): readonly F[] {
  if (secrets.size === 0) return facts
  return facts.map(fact => (exact.has(fact.kind) ? fact : (without(fact, secrets) as F)))
}

function without(value: unknown, secrets: ReadonlySet<string>): unknown {
  if (typeof value === 'string') return textWithout(value, secrets)
  if (Array.isArray(value)) return value.map(each => without(each, secrets))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, without(each, secrets)]))
}

function textWithout(text: string, secrets: ReadonlySet<string>): string {
  let clean = text
  for (const secret of secrets) if (clean.includes(secret)) clean = clean.replaceAll(secret, placeholder)
  return clean
}
